"""What one server has free from now on, as far as the ends of what runs there are known, less what is promised."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import reduce
from math import inf
from typing import NamedTuple

Moment = float  # seconds since 1970


class Amount(NamedTuple):
    """CPU, memory, and GPUs of each of the server's resource names in one fixed order."""

    cpu: int
    memory: int
    gpus: tuple[int, ...]

    def plus(self, other: Amount) -> Amount:
        gpus = tuple(a + b for a, b in zip(self.gpus, other.gpus, strict=True))
        return Amount(self.cpu + other.cpu, self.memory + other.memory, gpus)

    def minus(self, other: Amount) -> Amount:
        gpus = tuple(a - b for a, b in zip(self.gpus, other.gpus, strict=True))
        return Amount(self.cpu - other.cpu, self.memory - other.memory, gpus)

    def least(self, other: Amount) -> Amount:
        """Of each kind by itself."""
        gpus = tuple(map(min, self.gpus, other.gpus))
        return Amount(min(self.cpu, other.cpu), min(self.memory, other.memory), gpus)

    def most(self, other: Amount) -> Amount:
        gpus = tuple(map(max, self.gpus, other.gpus))
        return Amount(max(self.cpu, other.cpu), max(self.memory, other.memory), gpus)

    def holds(self, other: Amount) -> bool:
        """Of what isn't asked for there may be less than nothing: a server can be over-committed."""
        if self.cpu < other.cpu or self.memory < other.memory:
            return False
        return all(has >= wanted for has, wanted in zip(self.gpus, other.gpus, strict=True) if wanted)


class End(NamedTuple):
    """What comes back, and when at the latest."""

    at: Moment
    amount: Amount


def earliest(now: Moment, free: Amount, ends: Iterable[End], wanted: Amount) -> Moment | None:
    """When so much is free, if nothing else is begun; None where the known ends do not suffice. `ends` in order."""
    if free.holds(wanted):
        return now
    for end in ends:
        free = free.plus(end.amount)
        if free.holds(wanted):
            return max(now, end.at)
    return None


class Timeline:
    def __init__(self, now: Moment, free: Amount, ends: Iterable[End]) -> None:
        self._times, self._free = [now], [free]
        for end in ends:
            self._split(max(now, end.at))
            self._free[-1] = self._free[-1].plus(end.amount)

    def with_more(self, amount: Amount) -> Timeline:
        """Another one, on which so much more is free all the time."""
        other = self.copy()
        other.give(amount, self._times[0], inf)
        return other

    def fits(self, wanted: Amount, start: Moment, seconds: float) -> bool:
        first, after = bisect_right(self._times, start) - 1, bisect_left(self._times, start + seconds)
        return all(self._free[at].holds(wanted) for at in range(first, max(after, first + 1)))

    def least(self, start: Moment, seconds: float) -> Amount:
        """What is free for all of that time, of each kind by itself."""
        first, after = bisect_right(self._times, start) - 1, bisect_left(self._times, start + seconds)
        return reduce(Amount.least, self._free[first : max(after, first + 1)])

    def lasts(self, wanted: Amount) -> float:
        """For how many seconds from its beginning on so much is free."""
        ends = (at for at, free in zip(self._times, self._free, strict=True) if not free.holds(wanted))
        return next(ends, inf) - self._times[0]

    def first_fit(self, wanted: Amount, seconds: float) -> Moment | None:
        """The first moment from which on so much is free for so long. None: the known ends do not suffice."""
        start: int | None = None
        for at, free in enumerate(self._free):
            if start is not None and self._times[at] >= self._times[start] + seconds:
                break
            if not free.holds(wanted):
                start = None
            elif start is None:
                start = at
        return None if start is None else self._times[start]

    def take(self, wanted: Amount, start: Moment, seconds: float) -> None:
        first, after = self._split(start), self._split(start + seconds)
        for at in range(first, after):
            self._free[at] = self._free[at].minus(wanted)

    def give(self, amount: Amount, start: Moment, end: Moment) -> None:
        """What was to come back at `end` comes back at `start`."""
        first, after = self._split(start), self._split(end)
        for at in range(first, after):
            self._free[at] = self._free[at].plus(amount)

    def free_at(self, moment: Moment) -> Amount:
        return self._free[max(0, bisect_right(self._times, moment) - 1)]

    def copy(self) -> Timeline:
        made = Timeline(self._times[0], self._free[0], ())
        made._times, made._free = [*self._times], [*self._free]
        return made

    def _split(self, moment: Moment) -> int:
        """Make a step begin at the moment; returns its number."""
        at = bisect_left(self._times, moment)
        if at == len(self._times) or self._times[at] != moment:
            self._times.insert(at, moment)
            self._free.insert(at, self._free[at - 1])
        return at
