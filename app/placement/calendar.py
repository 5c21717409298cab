"""When servers' GPUs come back, and to whom they are promised then.

A promise is kept on one server: whoever else is put there must be gone by then, or leave enough. The rest of the
servers need no such look. Where nothing can be promised, as pods of others tell no end, a server may be kept all the
same: as if they were gone already.
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


_NOTHING = Hold(0.0, "", 0, 0, 0)
Holds = Mapping[ServerId, Sequence[Hold]]


class Calendar:
    """`free` says what a server has free now, of which each change must be told; `amount` what is given back there."""

    def __init__(self, free: Callable[[ServerId], Amount], amount: Callable[[ServerId, Hold], Amount]) -> None:
        self.now: Moment = 0.0
        self._free, self._amount = free, amount
        self._holds: dict[ServerId, list[Hold]] = {}
        self._ends: dict[ServerId, list[End]] = {}
        self._promised: dict[ServerId, Timeline] = {}
        self._kept: dict[ServerId, Timeline] = {}  # as if the pods of others were gone
        self._first_start: dict[ServerId, Moment] = {}
        self._kept_from: dict[ServerId, Moment] = {}
        self._earliest: dict[ServerId, dict[Amount, Moment | None]] = {}

    def begin(self, now: Moment, holds: Holds) -> None:
        """Nothing is promised any more, and this runs. What should be over but isn't promises nothing."""
        self.now = now
        self._promised.clear()
        self._kept.clear()
        self._kept_from.clear()
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
        return all(it.fits(wanted, self.now, seconds) for it in self._given_away(server))

    def lasting(self, server: ServerId, seconds: float) -> Amount:
        """What may be given there now for so long."""
        most = self._free(server)
        for timeline in self._given_away(server):
            most = most.least(timeline.least(self.now, seconds))
        return most

    def lasts(self, server: ServerId, wanted: Amount) -> float:
        """For how many seconds so much may be given there now."""
        return min((it.lasts(wanted) for it in self._given_away(server)), default=inf)

    def _given_away(self, server: ServerId) -> list[Timeline]:
        return [it for it in (self._promised.get(server), self._kept.get(server)) if it is not None]

    def begun(self, server: ServerId, hold: Hold) -> None:
        """It was put there now. To be told before the free amount is changed."""
        for timeline in self._given_away(server):
            timeline.take(self._amount(server, hold), self.now, hold.until - self.now)
        self._holds[server] = sorted([*self._holds.get(server, ()), hold])
        self._ends.pop(server, None)
        self.changed(server)

    def first_fit(self, server: ServerId, wanted: Amount, seconds: float) -> Moment | None:
        """None where the known ends do not suffice, and where the server is kept for somebody."""
        if server in self._kept:
            return None
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
        """Whether it may be given for so long, if these are gone by its start; not where it is kept for somebody."""
        if server in self._kept:
            return False
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

    def coming_back(self, server: ServerId) -> Amount:
        """All that the known ends give back there."""
        total = self._amount(server, _NOTHING)
        for end in self._ends_on(server):
            total = total.plus(end.amount)
        return total

    def first_fit_without(self, server: ServerId, others: Amount, wanted: Amount, seconds: float) -> Moment | None:
        """The same as `first_fit`, were what others have free already."""
        if promised := self._promised.get(server):
            return promised.with_more(others).first_fit(wanted, seconds)
        return earliest(self.now, self._free(server).plus(others), self._ends_on(server), wanted)

    def keep(self, server: ServerId, others: Amount, wanted: Amount, start: Moment, seconds: float) -> None:
        """From `start` on nobody is put there who would be in its way, were what others have free."""
        promised = self._promised.get(server) or Timeline(self.now, self._free(server), self._ends_on(server))
        self._kept[server] = promised.with_more(others)
        self._kept[server].take(wanted, start, seconds)
        self._kept_from[server] = start

    def kept_from(self, server: ServerId) -> Moment | None:
        """When it would begin there for whom it is kept, were others gone; None where it is kept for nobody."""
        return self._kept_from.get(server)

    def first_start(self, server: ServerId) -> Moment | None:
        """Of those who were promised a place there."""
        return self._first_start.get(server)

    def _ends_on(self, server: ServerId) -> list[End]:
        found = self._ends.get(server)
        if found is None:
            holds = self._holds.get(server, ())
            found = self._ends[server] = [End(hold.until, self._amount(server, hold)) for hold in holds]
        return found
