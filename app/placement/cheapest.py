"""The set of victims on one server that loses least: first the lowest priority, then the fewest GPU-seconds.

Exact by branch and bound: the youngest first, given up where what is still lacking would cost too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.placement.victims import Running

_MOST_LOOKS = 5_000  # of one search: all that eight victims need many times over; then the best found so far stands
Sizes = tuple[int, int, int]  # GPUs, CPU, memory


class Cost(NamedTuple):
    """The less the better: the highest priority among the victims, GPU-seconds lost, and how many are stopped."""

    priority: int
    lost: int
    stopped: int


class Found(NamedTuple):
    cost: Cost
    victims: tuple[Running, ...]


def cheapest(
    running: Sequence[Running],
    lacking: Sizes,
    now: float,
    suffices: Callable[[Sequence[Running]], bool],
    below: Cost | None = None,
) -> Found | None:
    """None where not even all of them would do, or nothing costs less than `below`.

    `lacking` is needed at least; whether it is enough, `suffices` says.
    """
    ordered = sorted(running, key=lambda it: (it.priority, it.lost(now) / max(1, it.hold.gpus), it.workload_id))
    for priority in sorted({it.priority for it in ordered}):
        if below is not None and priority > below.priority:
            return None
        lowest = [it for it in ordered if it.priority <= priority]
        if _covers(lowest, lacking) and suffices(lowest):
            items = [_Item(it, it.lost(now), _sizes(it)) for it in lowest]
            search = _Search(items, suffices, below[1:] if below and below.priority == priority else None)
            search.look(0, (), 0, lacking)
            return Found(Cost(priority, *search.least), search.best) if search.best and search.least else None
    return None


class _Item(NamedTuple):
    it: Running
    lost: int
    sizes: Sizes


@dataclass
class _Search:
    items: Sequence[_Item]
    suffices: Callable[[Sequence[Running]], bool]
    least: tuple[int, int] | None  # what is lost, and how many are stopped: only less will do
    best: tuple[Running, ...] = ()
    looks: int = 0

    def look(self, at: int, chosen: tuple[Running, ...], lost: int, lacking: Sizes) -> None:
        """Try with and without each item from `at` on."""
        self.looks += 1
        if self.best and self.looks > _MOST_LOOKS:
            return
        if self.least and (lost + self._lost_at_least(at, lacking), len(chosen)) >= self.least:
            return
        if max(lacking) <= 0 and self.suffices(chosen):
            self.least, self.best = (lost, len(chosen)), chosen
            return
        if at == len(self.items):
            return
        item = self.items[at]
        gpus, cpu, memory = (lack - size for lack, size in zip(lacking, item.sizes, strict=True))
        self.look(at + 1, (*chosen, item.it), lost + item.lost, (gpus, cpu, memory))
        self.look(at + 1, chosen, lost, lacking)

    def _lost_at_least(self, at: int, lacking: Sizes) -> int:
        """What is lost at least for what is lacking, could the items from `at` on be taken in part."""
        least = 0
        for dimension, lack in enumerate(lacking):
            if lack > 0:
                rates = (it.lost / it.sizes[dimension] for it in self.items[at:] if it.sizes[dimension] > 0)
                least = max(least, int(lack * min(rates, default=0.0)))
        return least


def _sizes(it: Running) -> Sizes:
    return it.hold.gpus, it.hold.cpu_millis, it.hold.memory_bytes


def _covers(running: Sequence[Running], lacking: Sizes) -> bool:
    sums = map(sum, zip(*map(_sizes, running), strict=True))
    return all(has >= lack for has, lack in zip(sums, lacking, strict=True))
