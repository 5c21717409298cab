"""What one server has free of one kind of GPU, what a request asks of it, and what is left when it was given.

A GPU of which a part is taken is counted apart from the free ones: a request for whole GPUs can't use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.domain.gpus import ANY_GPU, GpuRequirements

GPU = 1000  # GPUs are counted in thousandths


class Ask(NamedTuple):
    """What a request takes of a server: CPU in thousandths of a core, memory in bytes.

    `share` is how much of each GPU it takes, in thousandths; less than all of it only where `gpus` is 1. `models` names
    the products that will do; empty means any. `wanted` is how a person said that, until `models.Models` resolves it.
    """

    gpus: int
    cpu: int
    memory: int
    share: int = GPU
    models: frozenset[str] = frozenset()
    wanted: GpuRequirements = ANY_GPU

    @property
    def gpu(self) -> int:
        """All that it takes of GPUs, in thousandths of one."""
        return self.gpus * self.share


class Room(NamedTuple):
    """What is free: `whole` GPUs, and of every GPU that is partly taken what is left of it, in thousandths, sorted.

    Less than nothing is free where more was taken than there is. Rooms compare by how little is in them.
    """

    whole: int
    cpu: int
    memory: int
    parts: tuple[int, ...] = ()
    model: str = ""

    @property
    def gpu(self) -> int:
        """All that is free of GPUs, in thousandths of one."""
        return self.whole * GPU + sum(self.parts)

    def takes(self, ask: Ask) -> bool:
        if self.cpu < ask.cpu or self.memory < ask.memory or (ask.models and self.model not in ask.models):
            return False
        return self.whole >= ask.gpus or (ask.share < GPU and bool(self.parts) and self.parts[-1] >= ask.share)

    def after(self, ask: Ask) -> Iterator[Room]:
        """What may be left: one way for whole GPUs, one for each GPU that could give the share. `ask` must fit."""
        whole, cpu, memory, parts, model = self
        cpu, memory = cpu - ask.cpu, memory - ask.memory
        if ask.share == GPU:
            yield Room(whole - ask.gpus, cpu, memory, parts, model)
            return
        if whole > 0:
            yield Room(whole - 1, cpu, memory, _with(parts, GPU - ask.share), model)
        for at, part in enumerate(parts):
            if part >= ask.share and part not in parts[:at]:
                rest = (*parts[:at], *parts[at + 1 :])
                yield Room(whole, cpu, memory, _with(rest, part - ask.share), model)


def _with(parts: Sequence[int], part: int) -> tuple[int, ...]:
    return tuple(sorted((*parts, part) if part else parts))
