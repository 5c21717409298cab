"""GPU-hours over time, and numbers of the moment, as the usage page shows them. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.tallies import Group, TallyType
from app.domain.usage import Period, Stretch, UsageGroup, Used, periods, used
from app.panel.axes import Unit, number
from app.panel.charts import Chart, Series, bar_chart
from app.panel.usage_query import UsageQuery

_HOURS = Unit("GPU-hours", divisor=3600.0)
_MOST_SERIES = 8
_NAMELESS = {UsageGroup.PROJECT: "no project"}
_OBEYED = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes what begins so for a formula


@dataclass(frozen=True)
class GroupRow:
    """`share` is in percent of all GPU-hours."""

    name: str
    gpu_hours: str
    share: str
    workloads: int


@dataclass(frozen=True)
class UsageView:
    """`chart` is None where nothing was used."""

    chart: Chart | None
    rows: tuple[GroupRow, ...]
    total: GroupRow


@dataclass(frozen=True)
class Counted:
    """What was used: in each period by each group, by each group over all of the time, and all together."""

    parts: Sequence[tuple[datetime, datetime]]
    by_period: Sequence[Used]
    by_group: Sequence[Used]
    seconds: int
    workloads: int

    @classmethod
    def of(cls, stretches: Sequence[Stretch], query: UsageQuery, now: datetime) -> Counted:
        """Raises InvalidInputError for more periods than can be shown."""
        parts, whole = periods(query.start, query.end, query.period), [(query.start, query.end)]
        wanted = [it for it in stretches if query.project in ("", it.project)]
        by_group = used(wanted, whole, [query.by], now)
        together = used(wanted, whole, [], now)
        return cls(
            parts=parts,
            by_period=used(wanted, parts, [query.by], now),
            by_group=sorted(by_group, key=lambda it: (-it.gpu_seconds, it.group)),
            seconds=sum(it.gpu_seconds for it in together),
            workloads=sum(it.workloads for it in together),
        )


def usage_view(counted: Counted, query: UsageQuery, names: Mapping[str, str]) -> UsageView:
    """`names` are those of projects, by slug."""
    rows = tuple(
        GroupRow(
            _name(it.group, query.by, names), _hours(it.gpu_seconds), _share(it.gpu_seconds, counted), it.workloads
        )
        for it in counted.by_group
    )
    total = GroupRow("Total", _hours(counted.seconds), _share(counted.seconds, counted), counted.workloads)
    return UsageView(_chart(counted, query, names) if counted.seconds else None, rows, total)


def _name(group: Group, by: UsageGroup, names: Mapping[str, str]) -> str:
    [value] = group
    return (names.get(value, value) if by is UsageGroup.PROJECT else value) or _NAMELESS.get(by, "unknown")


def _hours(seconds: float) -> str:
    return number(seconds / _HOURS.divisor)


def _share(seconds: int, counted: Counted) -> str:
    return f"{100 * seconds / counted.seconds:.0f} %" if counted.seconds else ""


def _chart(counted: Counted, query: UsageQuery, names: Mapping[str, str]) -> Chart:
    """The groups that used most, from the foot of each pile up, and all others together."""
    room = _MOST_SERIES if len(counted.by_group) <= _MOST_SERIES else _MOST_SERIES - 1
    places = {start: n for n, (start, _) in enumerate(counted.parts)}
    known = {it.group: [0.0] * len(places) for it in counted.by_group[:room]}
    others = [0.0] * len(places)
    for it in counted.by_period:
        known.get(it.group, others)[places[it.start]] += it.gpu_seconds
    series = [Series(_name(group, query.by, names), values) for group, values in known.items()]
    if any(others):
        series.append(Series(f"{len(counted.by_group) - room} others", others))
    starts = [start for start, _ in counted.parts]
    labels, marks = [_period(it, query.period) for it in starts], [_mark(it, query.period) for it in starts]
    return bar_chart("gpu-hours", f"GPU-hours by {query.by.value}", _HOURS, labels, series, marks)


def _period(start: datetime, period: Period) -> str:
    if period is Period.HOUR:
        return f"{start:%Y-%m-%d %H:%M}"
    return f"{start:%Y-%m}" if period is Period.MONTH else f"{start:%Y-%m-%d}"


def _mark(start: datetime, period: Period) -> str:
    if period is Period.HOUR and start.hour:
        return f"{start:%H:%M}"
    return f"{start:%b %Y}" if period is Period.MONTH else f"{start.day} {start:%b}"


def usage_csv(counted: Counted, query: UsageQuery) -> str:
    """A row for each group of each period, with a heading; where nothing was used there is none."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\r\n")
    rows.writerow(("start", "end", query.by.value, "gpu_hours", "gpu_seconds", "workloads"))
    for it in counted.by_period:
        group = it.group[0]
        group = f"'{group}" if group.startswith(_OBEYED) else group
        hours = f"{it.gpu_seconds / 3600:.4f}"
        rows.writerow((it.start.isoformat(), it.end.isoformat(), group, hours, it.gpu_seconds, it.workloads))
    return file.getvalue()


@dataclass(frozen=True)
class FiguresView:
    """Of this moment. `ratio` is in percent, empty without a GPU on record. `idle_on`: where the idle ones are."""

    total: int
    ready: int
    free: int
    allocated: int
    own: int
    ratio: str
    idle: int
    idle_on: str
    waiting: int
    waits: tuple[tuple[str, int], ...]


def figures_view(
    servers: Mapping[TallyType, Mapping[Group, float]],
    own: Mapping[Group, float],
    ratio: Mapping[Group, float],
    waits: Mapping[Group, float],
) -> FiguresView:
    """`servers` are numbers about servers, each by server."""
    sums = {wanted: round(sum(numbers.values())) for wanted, numbers in servers.items()}
    idle_on = [(group[0], round(count)) for group, count in servers[TallyType.IDLE_ALLOCATED_GPUS].items() if count]
    return FiguresView(
        total=sums[TallyType.TOTAL_GPUS],
        ready=sums[TallyType.READY_GPUS],
        free=sums[TallyType.FREE_GPUS],
        allocated=sums[TallyType.ALLOCATED_GPUS],
        own=round(own[()]),
        ratio=f"{ratio[()]:.0f} %" if () in ratio else "",
        idle=sums[TallyType.IDLE_ALLOCATED_GPUS],
        idle_on=", ".join(f"{name}: {count}" for name, count in idle_on),
        waiting=round(sum(waits.values())),
        waits=tuple((label, round(count)) for (label,), count in waits.items()),
    )
