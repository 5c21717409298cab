"""What a workload did with its GPUs, and what it used beside them, as pictures. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from app.domain import metric_words
from app.domain.metrics import OF_GPUS, Edges, MetricType
from app.domain.workload import Attempt
from app.panel.axes import Unit
from app.panel.charts import Chart, Role, Series, line_chart
from app.panel.wording import sentence, short_id
from app.store.curves import MetricCurve, Use

# In this order, each where something of it is known.
PICTURES = {
    MetricType.GPU_UTILIZATION: ("GPU utilization", Unit("%", top=100.0)),
    MetricType.GPU_MEMORY_USED: ("GPU memory", Unit("GiB", divisor=1024.0)),
    MetricType.GPU_POWER: ("GPU power", Unit("W")),
    MetricType.CPU: ("CPU", Unit("cores")),
    MetricType.MEMORY: ("Memory", Unit("GiB", divisor=1024.0)),
}
MOST_PARTS = 72
WINDOWS = {
    "15m": ("last 15 min", timedelta(minutes=15)),
    "1h": ("last hour", timedelta(hours=1)),
    "6h": ("last 6 h", timedelta(hours=6)),
    "24h": ("last 24 h", timedelta(hours=24)),
    "7d": ("last 7 d", timedelta(days=7)),
}
WHOLE_RUN = "whole run"
_SOONEST, _LATEST = 15, 600  # seconds until it is asked for again


@dataclass(frozen=True)
class Run:
    """From the first start of a workload's container to its last end, or to now while it runs."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, attempts: Sequence[Attempt], now: datetime) -> Run | None:
        """None: it has not started."""
        started = [it for it in attempts if it.started_at]
        if not started:
            return None
        last = started[-1].finished_at or started[-1].ended_at or now
        start = min(it.started_at for it in started if it.started_at)
        return cls(start, max(last, start + timedelta(seconds=1)))

    def last(self, window: str) -> Run:
        """The end of it, as long as that window; the whole of it for none."""
        length = WINDOWS[window][1] if window in WINDOWS else self.end - self.start
        return Run(max(self.start, self.end - length), self.end)

    def windows(self) -> list[str]:
        """Those that are shorter than it is."""
        return [name for name, (_, length) in WINDOWS.items() if length < self.end - self.start]


def pictures(curves: Sequence[MetricCurve], parts: Edges) -> tuple[Chart, ...]:
    """Of each metric of which anything is known."""
    found: list[Chart] = []
    for type_, group in groupby(curves, key=lambda it: it.type):
        of_type = list(group)
        if any(value is not None for it in of_type for value in it.values):
            found += _of_type(type_, of_type, parts)
    return tuple(found)


def picture_name(type_: MetricType) -> str:
    return f"curve-{type_.name.lower().replace('_', '-')}"


def _of_type(type_: MetricType, curves: Sequence[MetricCurve], parts: Edges) -> Iterator[Chart]:
    """One picture; of what is summed over several GPUs a second one, as each is small beside the sum."""
    title, unit = PICTURES[type_]
    name = picture_name(type_)
    each = [Series(_label(it.use), it.values) for it in curves if it.use]
    if type_ not in OF_GPUS:
        yield line_chart(name, title, unit, parts, _beside_what_was_asked(curves[0]))
        return
    if len(each) == 1:
        yield line_chart(name, title, unit, parts, each)
        return
    together = f"{len(each)} GPUs together"
    words = together if type_.is_summed else f"mean of {len(each)} GPUs"
    whole = [Series(words, it.values, Role.WHOLE) for it in curves if it.use is None]
    if not type_.is_summed:
        yield line_chart(name, title, unit, parts, [*whole, *each])
        return
    yield line_chart(name, f"{title}, {together}", unit, parts, whole)
    yield line_chart(f"{name}-each", f"{title}, each", unit, parts, each)


def _beside_what_was_asked(curve: MetricCurve) -> list[Series]:
    used = Series("used", curve.values)
    if curve.requested is None:
        return [used]
    return [used, Series("asked for", [curve.requested] * len(curve.values), Role.LIMIT)]


def _label(use: Use) -> str:
    return " ".join(short_id(it) for it in (use.uuid, use.device.instance) if it)


def note(uses: Sequence[Use]) -> str:
    """What is missing beside what is shown."""
    shared = [_label(use) for use in uses if use.is_shared]
    return sentence(f"nothing is told of {', '.join(shared)}: {metric_words.SHARED}") if shared else ""


def again_after(parts: Edges) -> int:
    """Seconds after which it may look different."""
    width = (parts[0][1] - parts[0][0]).total_seconds()
    return int(min(max(width / 2, _SOONEST), _LATEST))
