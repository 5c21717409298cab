"""What a workload waited for, and how long: read from its events, and what is worth an event. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.domain.states import WAITING_PHASES, Phase, Reason
from app.domain.workload import Event

_PART = 10  # of the time waited: reasons that come and go faster than that are not told one by one


@dataclass(frozen=True)
class Wait:
    """A time in which it waited for a server for one reason. `until` None: it still does. `message` is the first."""

    reason: Reason
    message: str
    since: datetime
    until: datetime | None = None

    def lasted(self, now: datetime) -> timedelta:
        return max((self.until or now) - self.since, timedelta(0))


@dataclass(frozen=True)
class WaitTotal:
    """All the times of one reason together."""

    reason: Reason
    lasted: timedelta
    times: int


def waits(events: Iterable[Event]) -> list[Wait]:
    """From a workload's events in their order. A suspension is one too: nothing is placed meanwhile."""
    found: list[Wait] = []
    for event in events:
        present = found[-1] if found and found[-1].until is None else None
        does_wait = event.phase in WAITING_PHASES or event.phase is Phase.SUSPENDED
        if present and does_wait and present.reason is event.reason:
            continue
        if present:
            found[-1] = replace(present, until=event.at)
        if does_wait:
            found.append(Wait(event.reason, event.message, event.at))
    return found


def totals(found: Sequence[Wait], now: datetime) -> list[WaitTotal]:
    """By reason, the longest first."""
    groups: dict[Reason, list[timedelta]] = {}
    for wait in found:
        groups.setdefault(wait.reason, []).append(wait.lasted(now))
    sums = [WaitTotal(reason, sum(each, timedelta(0)), len(each)) for reason, each in groups.items()]
    return sorted(sums, key=lambda total: -total.lasted)


@dataclass(frozen=True)
class Told:
    """What the last event said of why it waits, and when; empty since its state changed."""

    reason: str = ""
    at: datetime | None = None


def is_news(reason: Reason, present: str, told: Told, queued_at: datetime, now: datetime) -> bool:
    """Whether a reason is worth an event; `present` is the one that is shown.

    After an event the next one comes when a tenth of the time waited until then has passed again. So events grow with
    the logarithm of the time waited: two reasons that take turns at every look for a month are some 200 events, which
    no longer tell which of the two held for longer. What holds for longer than that tenth is told when it begins.
    """
    if not told.reason or told.at is None:
        return reason != present
    return reason != told.reason and now >= told.at + max(told.at - queued_at, timedelta(0)) / _PART
