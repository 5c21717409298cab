"""What the usual requests could make of what is free: learned from those that an organization sent of late.

A free GPU is of no use where no usual request fits (a fragment) or where the CPU or memory beside it is gone (it is
stranded). Fragments are weighed as in Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), but by the GPUs that
the requests ask for instead of their number, so that the rare large ones count. A model of GPU is scarce where many
requests will have no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from app.placement.room import GPU, Ask, Room
from app.placement.usable import Usable

History = Mapping[Ask, int]  # how often each was asked for
NO_HISTORY: History = MappingProxyType({})
_COVERED = 0.99  # of the GPUs asked for; the rest are requests that hardly come again
_KNOWN = 200_000  # rooms remembered

# Picked on the openb traces "default" and "multigpu50": see docs/placement.md.
_MEMORY = 0.5  # of the mean: requests for memory are often generous
_FRAGMENT, _LARGE = 1.0, 12.0


class Demand:
    """What is likely to be asked for next. `gpus` says how many GPUs of each model there are, taken or free."""

    def __init__(self, history: History, gpus: Mapping[str, int]) -> None:
        self._history = history
        self._gpus = gpus
        self._wasted: dict[Room, float] = {}

    def wasted(self, room: Room) -> float:
        """The room's free GPUs that the usual requests are not expected to use, weighed. 0 without a history."""
        found = self._wasted.get(room)
        if found is None:
            if len(self._wasted) >= _KNOWN:
                self._wasted.clear()
            found = self._wasted[room] = self._waste(room) if self._asked else 0.0
        return found

    def scarcity(self, model: str) -> float:
        """How much of the demand that names its models falls on this one: 1 where it is as if all of it did.

        A request that names several is spread over them by their number.
        """
        return self._scarce.get(model, 0.0)

    def _waste(self, room: Room) -> float:
        free, (cpu, memory) = room.gpu, self._beside
        fed = min(room.cpu / cpu if cpu else free, room.memory / memory if memory else free)
        return (max(0.0, free - fed) + self._fragment * (free - self._usable.of(room))) / GPU

    @cached_property
    def _asked(self) -> dict[Ask, int]:
        """By request, the thousandths of GPUs that were asked for with it."""
        return {ask: count * ask.gpu for ask, count in self._history.items() if ask.gpus}

    @cached_property
    def _usable(self) -> Usable:
        return Usable(most_of(self._asked, _COVERED))

    @cached_property
    def _beside(self) -> tuple[float, float]:
        """CPU and memory that go with a thousandth of a GPU; those of requests without GPUs are spread over them."""
        gpu = sum(self._asked.values())
        cpu = sum(count * ask.cpu for ask, count in self._history.items())
        memory = sum(count * ask.memory for ask, count in self._history.items())
        return cpu / gpu, memory / gpu * _MEMORY

    @cached_property
    def _fragment(self) -> float:
        """What a fragment weighs against a stranded GPU: more where much of the demand is for several at once."""
        large = sum(gpu for ask, gpu in self._asked.items() if ask.gpus > 1)
        return _FRAGMENT + _LARGE * (large / sum(self._asked.values())) ** 2

    @cached_property
    def _scarce(self) -> dict[str, float]:
        total, asked = sum(self._gpus.values()), sum(self._asked.values())
        scarce = dict.fromkeys(self._gpus, 0.0)
        for ask, gpu in self._asked.items():
            named = [model for model in ask.models if self._gpus.get(model)]
            there = sum(self._gpus[model] for model in named)
            for model in named:
                scarce[model] += gpu / asked * total / there
        return scarce


def most_of(weights: Mapping[Ask, int], covered: float) -> dict[Ask, float]:
    """The heaviest of them that make up that part of the whole."""
    kept, missing = dict[Ask, float](), covered * sum(weights.values())
    for ask, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0][:4], sorted(item[0].models))):
        if missing <= 0:
            break
        kept[ask] = weight
        missing -= weight
    return kept


def counted(asks: Iterable[Ask]) -> dict[Ask, int]:
    counts: dict[Ask, int] = {}
    for ask in asks:
        counts[ask] = counts.get(ask, 0) + 1
    return counts
