"""When servers' GPUs come back, and to whom they are promised then.

A promise is kept on one server: whoever else is put there must be gone by then, or leave enough. The rest of the
servers need no such look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from app.domain.server import ServerId
from app.placement.timeline import Amount, End, Moment, Timeline, earliest


class Hold(NamedTuple):
    """What something that runs gives back, at the latest then."""

    until: Moment
    gpu_resource: str
    gpus: int
    cpu_millis: int
    memory_bytes: int


Holds = Mapping[ServerId, Sequence[Hold]]


class Calendar:
    """`free` says what a server has free now, of which each change must be told; `amount` what is given back there."""

    def __init__(self, free: Callable[[ServerId], Amount], amount: Callable[[ServerId, Hold], Amount]) -> None:
        self.now: Moment = 0.0
        self._free, self._amount = free, amount
        self._holds: dict[ServerId, list[Hold]] = {}
        self._ends: dict[ServerId, list[End]] = {}
        self._promised: dict[ServerId, Timeline] = {}
        self._first_start: dict[ServerId, Moment] = {}
        self._earliest: dict[ServerId, dict[Amount, Moment | None]] = {}

    def begin(self, now: Moment, holds: Holds) -> None:
        """Nothing is promised any more, and this runs. What should be over but isn't promises nothing."""
        self.now = now
        self._promised.clear()
        self._first_start.clear()
        for server in {*holds, *self._holds}:
            current = sorted(hold for hold in holds.get(server, ()) if hold.until > now)
            if self._holds.get(server, []) != current:
                self._holds[server] = current
                self._ends.pop(server, None)
                self.changed(server)

    def changed(self, server: ServerId) -> None:
        self._earliest.pop(server, None)

    def has_room(self, server: ServerId, wanted: Amount, seconds: float) -> bool:
        """Whether what is free there now may be given for so long."""
        promised = self._promised.get(server)
        return promised is None or promised.fits(wanted, self.now, seconds)

    def lasting(self, server: ServerId, seconds: float) -> Amount:
        """What may be given there now for so long."""
        promised = self._promised.get(server)
        return promised.least(self.now, seconds) if promised else self._free(server)

    def lasts(self, server: ServerId, wanted: Amount) -> float:
        """For how many seconds so much may be given there now."""
        promised = self._promised.get(server)
        return promised.lasts(wanted) if promised else inf

    def begun(self, server: ServerId, hold: Hold) -> None:
        """It was put there now. To be told before the free amount is changed."""
        if promised := self._promised.get(server):
            promised.take(self._amount(server, hold), self.now, hold.until - self.now)
        self._holds[server] = sorted([*self._holds.get(server, ()), hold])
        self._ends.pop(server, None)
        self.changed(server)

    def first_fit(self, server: ServerId, wanted: Amount, seconds: float) -> Moment | None:
        """None where the known ends do not suffice."""
        if promised := self._promised.get(server):
            return promised.first_fit(wanted, seconds)
        known = self._earliest.setdefault(server, {})
        if wanted not in known:
            known[wanted] = earliest(self.now, self._free(server), self._ends_on(server), wanted)
        found = known[wanted]
        return None if found is None else max(found, self.now)

    def promise(self, server: ServerId, wanted: Amount, start: Moment, seconds: float) -> None:
        if server not in self._promised:
            self._promised[server] = Timeline(self.now, self._free(server), self._ends_on(server))
        self._promised[server].take(wanted, start, seconds)
        self._first_start[server] = min(start, self._first_start.get(server, start))

    def free_by(self, server: ServerId, moment: Moment) -> Amount:
        """What is free there then, less what is promised."""
        if promised := self._promised.get(server):
            return promised.free_at(moment)
        free = self._free(server)
        for end in self._ends_on(server):
            if end.at <= moment:
                free = free.plus(end.amount)
        return free

    def would_have_room(
        self, server: ServerId, leaving: Sequence[Hold], wanted: Amount, start: Moment, seconds: float
    ) -> bool:
        """Whether it may be given for so long, if these are gone by its start."""
        known = self._promised.get(server)
        timeline = known.copy() if known else Timeline(self.now, self._free(server), self._ends_on(server))
        for hold in leaving:
            timeline.give(self._amount(server, hold), start, hold.until)
        return timeline.fits(wanted, start, seconds)

    def leave(self, server: ServerId, leaving: Sequence[Hold], by: Moment) -> None:
        """These are gone by then, sooner than was known."""
        holds = [*self._holds.get(server, ())]
        for hold in leaving:
            holds.remove(hold)
            holds.append(hold._replace(until=by))
            if promised := self._promised.get(server):
                promised.give(self._amount(server, hold), by, hold.until)
        self._holds[server] = sorted(holds)
        self._ends.pop(server, None)
        self.changed(server)

    def first_start(self, server: ServerId) -> Moment | None:
        """Of those who were promised a place there."""
        return self._first_start.get(server)

    def _ends_on(self, server: ServerId) -> list[End]:
        found = self._ends.get(server)
        if found is None:
            holds = self._holds.get(server, ())
            found = self._ends[server] = [End(hold.until, self._amount(server, hold)) for hold in holds]
        return found
