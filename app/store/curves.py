"""Which devices a workload had and when, and what they and its pods did then."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.domain.metrics import (
    OF_GPUS,
    OF_PODS,
    Curve,
    Edges,
    MetricType,
    Span,
    allocated,
    curve,
    inside,
    is_idle,
    together,
)
from app.domain.samples import PodReading, Reading
from app.domain.workload import Attempt, Resources, Workload
from app.store import devices, gpus, samples
from app.store.gpus import Holding
from app.store.samples import Device, Run


@dataclass(frozen=True)
class Use:
    """A workload's use of one device. `is_shared`: others may have used it too, so its samples say nothing of it."""

    device: Device
    uuid: str  # of the GPU
    spans: tuple[Span, ...]
    is_shared: bool = False


@dataclass(frozen=True)
class Measured:
    """What is known of a workload in a time: of each device that it had alone, the readings while it had it; and those
    of its pods."""

    uses: Sequence[Use] = ()
    readings: Mapping[Device, Sequence[Reading]] = field(default_factory=dict)
    of_pods: Sequence[PodReading] = ()


@dataclass(frozen=True)
class MetricCurve:
    """`use` None: all that the workload had, together, or what is no GPU's. Of what is shared no value is known.

    `requested` is what the workload asked for, where that can be said of the metric.
    """

    type: MetricType
    use: Use | None
    values: Curve
    is_shared: bool = False
    requested: float | None = None


async def measured(
    workload: Workload, attempts: Sequence[Attempt], types: Collection[MetricType], start: datetime, end: datetime
) -> Measured:
    """What these types need of the workload's attempts, from `start` until before `end`."""
    is_shared = workload.spec.gpu_requirements.is_shared
    uses = [] if OF_GPUS.isdisjoint(types) else await uses_of(attempts, is_shared=is_shared)
    of_pods = [] if OF_PODS.isdisjoint(types) else await pod_readings_of(attempts, start, end)
    return Measured(uses, await readings_of(uses, start, end), of_pods)


def curves_of(
    found: Measured,
    workload: Workload,
    attempts: Sequence[Attempt],
    types: Sequence[MetricType],
    parts: Edges,
    now: datetime,
) -> list[MetricCurve]:
    """For each type the curve of all GPUs together, then one for each GPU; of what is no GPU's, one. Pure."""
    asked = workload.spec.resources
    spans = [Span(it.placed_at, it.ended_at, asked.gpu_count) for it in attempts]
    curves: list[MetricCurve] = []
    for type_ in types:
        if type_ in OF_GPUS:
            curves += _of_devices(type_, found, parts, now)
        else:
            is_allocation = type_ is MetricType.ALLOCATED_GPUS
            values = allocated(spans, parts, now) if is_allocation else curve(found.of_pods, type_, parts)
            curves.append(MetricCurve(type_, None, values, requested=_requested(type_, asked)))
    return curves


def _requested(type_: MetricType, asked: Resources) -> float:
    """In the metric's unit."""
    return {
        MetricType.ALLOCATED_GPUS: float(asked.gpu_count),
        MetricType.CPU: asked.cpu_millis / 1000,
        MetricType.MEMORY: asked.memory_bytes / 2**20,
    }[type_]


def _of_devices(type_: MetricType, found: Measured, parts: Edges, now: datetime) -> list[MetricCurve]:
    each = [(use, curve(found.readings.get(use.device, ()), type_, parts)) for use in found.uses]
    whole = together([(values, use.spans) for use, values in each], type_, parts, now)
    is_shared = any(use.is_shared for use in found.uses)
    return [
        MetricCurve(type_, None, whole, is_shared),
        *(MetricCurve(type_, use, values, use.is_shared) for use, values in each),
    ]


async def uses_of(attempts: Sequence[Attempt], *, is_shared: bool = False) -> list[Use]:
    """Of one workload's attempts: as node agents told, and where they didn't, as the cluster did; by device.

    `is_shared`: it asked for shares of GPUs, which the cluster names as it names whole ones.
    """
    holdings = await gpus.holdings_of([attempt.workload_id for attempt in attempts[:1]])
    told = {(it.attempt, name) for it in holdings for name in (it.gpu, it.instance)}
    untold = [(it, uuid) for it in attempts for uuid in it.gpus if it.started_at and (it.number, uuid) not in told]
    found: dict[Device, list[Use]] = {}
    for use in [*map(_of_holding, holdings), *await _by_cluster(untold, is_shared=is_shared)]:
        found.setdefault(use.device, []).append(use)
    merged = [
        Use(device, group[0].uuid, tuple(s for it in group for s in it.spans), any(it.is_shared for it in group))
        for device, group in found.items()
    ]
    return sorted(merged, key=lambda use: (use.uuid, use.device.instance))


def _of_holding(it: Holding) -> Use:
    return Use(Device(it.gpu_id, it.instance), it.gpu, (Span(it.since, it.until),), it.is_shared)


async def _by_cluster(untold: Iterable[tuple[Attempt, str]], *, is_shared: bool) -> list[Use]:
    """Devices that the cluster named, where they are on record."""
    wanted: dict[tuple[str, str], set[str]] = {}
    told = list(untold)
    for attempt, uuid in told:
        wanted.setdefault((attempt.cluster, attempt.server), set()).add(uuid)
    known = {place: await devices.find(*place, uuids) for place, uuids in wanted.items()}
    return [
        Use(device, uuid, (Span(it.started_at, it.finished_at or it.ended_at),), is_shared)
        for it, name in told
        if it.started_at and (found := known[it.cluster, it.server].get(name))
        for device, uuid in [found]
    ]


async def readings_of(uses: Sequence[Use], start: datetime, end: datetime) -> Mapping[Device, list[Reading]]:
    """What is known of each device while the workload had it alone."""
    alone = {use.device: use.spans for use in uses if not use.is_shared}
    found = await samples.GPUS.readings_of(list(alone), start, end) if alone else {}
    return {device: inside(it, alone[device]) for device, it in found.items()}


async def pod_readings_of(attempts: Sequence[Attempt], start: datetime, end: datetime) -> list[PodReading]:
    """What is known of the attempts' pods, in order of time."""
    runs = [Run(it.workload_id, it.number) for it in attempts]
    found = await samples.PODS.readings_of(runs, start, end) if runs else {}
    return sorted((reading for readings in found.values() for reading in readings), key=lambda reading: reading.at)


async def idle_holdings(holdings: Sequence[Holding], now: datetime, window: timedelta) -> set[Device]:
    """Those devices, of which somebody has each, that are known to have done nothing for all of the last while."""
    start = now - window
    alone = {Device(it.gpu_id, it.instance) for it in holdings if not it.is_shared and it.since <= start}
    found = await samples.GPUS.readings_of(list(alone), start, now) if alone else {}
    return {device for device, readings in found.items() if is_idle(readings, start, now)}
