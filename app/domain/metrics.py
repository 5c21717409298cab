"""Curves of what workloads did with their GPUs, and whether a GPU was idle. Pure.

One rule runs through all of it: what was not measured is not known. It never counts as zero, nor as idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from app.domain.errors import InvalidInputError
from app.domain.samples import Reading, Sampled, mean

IDLE_PERCENT = 1.0  # a GPU is idle when it was in use for no more of the time, at any sample
LONGEST_GAP = timedelta(minutes=2)  # between two samples, in a time that is taken to be known
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_WIDTHS = tuple(
    timedelta(seconds=n)
    for n in (30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 2 * 86400, 7 * 86400)
)

Edges = Sequence[tuple[datetime, datetime]]
Curve = list[float | None]


def check_stretch(start: datetime, end: datetime, longest: timedelta) -> None:
    """That `end` follows `start`, and not too late for what is asked. Raises InvalidInputError."""
    if not start < end:
        raise InvalidInputError.of("end", "must be after `start`")
    if end - start > longest:
        raise InvalidInputError.of("end", f"may be at most {longest.days} days after `start`")


class MetricType(StrEnum):
    GPU_UTILIZATION = "utilization"
    GPU_MEMORY_USED = "memory_used_mib"
    GPU_POWER = "power_watts"
    GPU_TEMPERATURE = "temperature"
    GPU_SM_CLOCK = "sm_clock_mhz"
    ALLOCATED_GPUS = "allocated"
    CPU = "cpu_cores"
    MEMORY = "memory_mib"

    @property
    def meaning(self) -> str:
        return _METRIC_MEANINGS[self]

    @property
    def is_summed(self) -> bool:
        """Of several GPUs the sum, and not the mean, is what counts."""
        return self in _SUMMED


_METRIC_MEANINGS = {
    MetricType.GPU_UTILIZATION: "percent of the time in use; of several GPUs the mean",
    MetricType.GPU_MEMORY_USED: "GPU memory in use, in MiB; of several GPUs the sum",
    MetricType.GPU_POWER: "power drawn, in watts; of several GPUs the sum",
    MetricType.GPU_TEMPERATURE: "degrees Celsius; of several GPUs the mean",
    MetricType.GPU_SM_CLOCK: "clock of the multiprocessors, in MHz; of several GPUs the mean",
    MetricType.ALLOCATED_GPUS: "how many GPUs the workload had; only for all GPUs together",
    MetricType.CPU: "cores that the workload's pod used, 2.5 for two and a half; of no GPU in particular",
    MetricType.MEMORY: "memory that the workload's pod used, in MiB, without what the kernel could take back at once; "
    "of no GPU in particular",
}
OF_PODS = frozenset({MetricType.CPU, MetricType.MEMORY})
OF_GPUS = frozenset(MetricType) - OF_PODS - {MetricType.ALLOCATED_GPUS}
_SUMMED = frozenset({MetricType.GPU_MEMORY_USED, MetricType.GPU_POWER})


@dataclass(frozen=True)
class Span:
    """`amount` GPUs from a moment on; `end` None: still."""

    start: datetime
    end: datetime | None
    amount: int = 1

    def overlap(self, start: datetime, end: datetime, now: datetime) -> float:
        """Seconds of it in that time, none of them in the future."""
        until = min(end, now, self.end or now)
        return max(0.0, (until - max(start, self.start)).total_seconds())


def edges(start: datetime, end: datetime, count: int) -> Edges:
    """Equal parts of the time."""
    width = (end - start) / count
    return [(start + n * width, start + (n + 1) * width if n + 1 < count else end) for n in range(count)]


def round_parts(start: datetime, end: datetime, readings: Iterable[Sequence[Sampled]], most: int) -> Edges:
    """Parts of a round width from round moments on that hold the time: not many more than `most`, and each at least
    twice as wide as the readings of a device are apart, or else most of them would be empty.
    """
    least = max([2 * _apart(it) for it in readings], default=timedelta(0))
    width = next((it for it in _WIDTHS if it >= least and (end - start) / it <= most), _WIDTHS[-1])
    first = _EPOCH + (start - _EPOCH) // width * width
    count = max(1, -(-(end - first) // width))
    return edges(first, first + count * width, count)


def _apart(readings: Sequence[Sampled]) -> timedelta:
    """How far readings are usually apart; nothing where there are too few to tell."""
    gaps = sorted(b.at - a.at for a, b in pairwise(readings))
    return gaps[len(gaps) // 2] if gaps else timedelta(0)


def curve(readings: Iterable[Sampled], metric: MetricType, parts: Edges) -> Curve:
    """The mean of each part of the time; None where nothing was measured."""
    start, width = parts[0][0], parts[0][1] - parts[0][0]
    groups: list[list[float | None]] = [[] for _ in parts]
    for reading in readings:
        number = int((reading.at - start) / width)
        if 0 <= number < len(parts):
            groups[number].append(getattr(reading, metric.value))
    return [mean(group) for group in groups]


def inside(readings: Iterable[Reading], spans: Sequence[Span]) -> list[Reading]:
    """Those of the times in which the workload had the GPU: what it did before and after is another's."""
    return [it for it in readings if any(s.start <= it.at and (s.end is None or it.at < s.end) for s in spans)]


def together(curves: Sequence[tuple[Curve, Sequence[Span]]], metric: MetricType, parts: Edges, now: datetime) -> Curve:
    """Over all GPUs that were there in each part of the time. If one of them is not known, neither is the whole."""
    whole: Curve = []
    for number, (start, end) in enumerate(parts):
        there = [values[number] for values, spans in curves if any(it.overlap(start, end, now) for it in spans)]
        known = [value for value in there if value is not None]
        is_known = bool(there) and len(known) == len(there)
        whole.append((sum(known) if metric.is_summed else mean(known)) if is_known else None)
    return whole


def allocated(spans: Sequence[Span], parts: Edges, now: datetime) -> Curve:
    """How many GPUs were allocated, in the mean of each part of the time; None for what is still to come."""
    return [_mean_amount(spans, start, min(end, now), now) if start < now else None for start, end in parts]


def _mean_amount(spans: Sequence[Span], start: datetime, end: datetime, now: datetime) -> float:
    return sum(it.overlap(start, end, now) * it.amount for it in spans) / (end - start).total_seconds()


def is_idle(readings: Sequence[Reading], start: datetime, end: datetime) -> bool:
    """Whether it is known of the whole time, by samples without a gap, that the GPU did nothing."""
    known = [it for it in readings if it.utilization is not None and start <= it.at < end]
    moments = [start, *sorted(it.at for it in known), end]
    has_gap = any(b - a > LONGEST_GAP for a, b in pairwise(moments))
    return bool(known) and not has_gap and all((it.utilization or 0.0) <= IDLE_PERCENT for it in known)
