"""GPU-seconds: how long which GPUs were allocated, by period and group. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.domain.metrics import Span, check_stretch

MOST_PERIODS = 400
LONGEST = timedelta(days=3660)


class Period(StrEnum):
    """Calendar periods in UTC; weeks begin on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    @property
    def meaning(self) -> str:
        return _PERIOD_MEANINGS[self]


_PERIOD_MEANINGS = {
    Period.HOUR: "hours, in UTC",
    Period.DAY: "days, in UTC",
    Period.WEEK: "weeks from Monday on, in UTC",
    Period.MONTH: "months of the calendar, in UTC",
}


class UsageGroup(StrEnum):
    PROJECT = "project"
    SUBMITTER = "submitter"
    PRODUCT = "product"
    SERVER = "server"
    CLUSTER = "cluster"

    @property
    def meaning(self) -> str:
        return _GROUP_MEANINGS[self]


_GROUP_MEANINGS = {
    UsageGroup.PROJECT: "slug of the project, empty for none",
    UsageGroup.SUBMITTER: "who submitted",
    UsageGroup.PRODUCT: "model of the server's GPUs, as it is on record now",
    UsageGroup.SERVER: "name of the server",
    UsageGroup.CLUSTER: "name of the cluster",
}


@dataclass(frozen=True)
class Stretch:
    """One attempt: `span` is from being placed, when its GPUs are taken, to its end."""

    workload_id: UUID
    span: Span
    project: str
    submitter: str
    product: str
    server: str
    cluster: str

    def group(self, by: Sequence[UsageGroup]) -> tuple[str, ...]:
        return tuple(str(getattr(self, it.value)) for it in by)


@dataclass(frozen=True)
class Used:
    """GPU-seconds in one period by one group, and of how many workloads."""

    start: datetime
    end: datetime
    group: tuple[str, ...]
    gpu_seconds: int
    workloads: int


def periods(start: datetime, end: datetime, period: Period | None) -> list[tuple[datetime, datetime]]:
    """The periods that the time is in, the first and the last cut to it. Raises InvalidInputError for too many."""
    check_stretch(start, end, LONGEST)
    if period is None:
        return [(start, end)]
    found, at = [], start
    while at < end:
        following = _next(at, period)
        found.append((at, min(following, end)))
        if len(found) > MOST_PERIODS:
            raise InvalidInputError.of("period", f"that makes more than {MOST_PERIODS} periods; ask for longer ones")
        at = following
    return found


def _next(at: datetime, period: Period) -> datetime:
    """The beginning of the next period."""
    moment = at.astimezone(UTC)
    hour = moment.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    match period:
        case Period.HOUR:
            return hour + timedelta(hours=1)
        case Period.DAY:
            return day + timedelta(days=1)
        case Period.WEEK:
            return day + timedelta(days=7 - day.weekday())
        case Period.MONTH:
            return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def used(
    stretches: Iterable[Stretch],
    parts: Sequence[tuple[datetime, datetime]],
    by: Sequence[UsageGroup],
    now: datetime,
) -> list[Used]:
    """By period, then group; where nothing was used there is nothing. Whole seconds, rounded at the end."""
    seconds: defaultdict[tuple[int, tuple[str, ...]], float] = defaultdict(float)
    workloads: defaultdict[tuple[int, tuple[str, ...]], set[UUID]] = defaultdict(set)
    starts = [start for start, _ in parts]
    for stretch in stretches:
        group = stretch.group(by)
        first = max(0, bisect_right(starts, stretch.span.start) - 1)
        for number in range(first, bisect_left(starts, stretch.span.end or now)):
            if overlap := stretch.span.overlap(*parts[number], now):
                key = (number, group)
                seconds[key] += overlap * stretch.span.amount
                workloads[key].add(stretch.workload_id)
    return [Used(*parts[key[0]], key[1], round(seconds[key]), len(workloads[key])) for key in sorted(seconds)]
