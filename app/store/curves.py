"""Which devices a workload had and when, and what they did then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.metrics import (
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
from app.domain.samples import Reading
from app.domain.workload import Attempt
from app.store import gpus, samples
from app.store.gpu_models import GpuRow
from app.store.gpus import Holding
from app.store.samples import Device


@dataclass(frozen=True)
class Use:
    """A workload's use of one device. `is_shared`: others may have used it too, so its samples say nothing of it."""

    device: Device
    uuid: str  # of the GPU
    spans: tuple[Span, ...]
    is_shared: bool = False


@dataclass(frozen=True)
class Measured:
    """What is known of a workload's devices in a time: of each that it had alone, the readings while it had it."""

    uses: Sequence[Use]
    readings: Mapping[Device, Sequence[Reading]]


@dataclass(frozen=True)
class MetricCurve:
    """`use` None: all that the workload had, together. Of what is shared no value is known."""

    type: MetricType
    use: Use | None
    values: Curve
    is_shared: bool = False


async def measured(attempts: Sequence[Attempt], start: datetime, end: datetime) -> Measured:
    """Of one workload's attempts, from `start` until before `end`."""
    uses = await uses_of(attempts)
    return Measured(uses, await readings_of(uses, start, end))


def curves_of(
    found: Measured,
    attempts: Sequence[Attempt],
    gpu_count: int,
    types: Sequence[MetricType],
    parts: Edges,
    now: datetime,
) -> list[MetricCurve]:
    """For each type the curve of all GPUs together, then one for each GPU. Pure."""
    spans = [Span(it.placed_at, it.ended_at, gpu_count) for it in attempts]
    curves: list[MetricCurve] = []
    for type_ in types:
        if type_ is MetricType.ALLOCATED_GPUS:
            curves.append(MetricCurve(type_, None, allocated(spans, parts, now)))
        else:
            curves += _of_devices(type_, found, parts, now)
    return curves


def _of_devices(type_: MetricType, found: Measured, parts: Edges, now: datetime) -> list[MetricCurve]:
    each = [(use, curve(found.readings.get(use.device, ()), type_, parts)) for use in found.uses]
    whole = together([(values, use.spans) for use, values in each], type_, parts, now)
    is_shared = any(use.is_shared for use in found.uses)
    return [
        MetricCurve(type_, None, whole, is_shared),
        *(MetricCurve(type_, use, values, use.is_shared) for use, values in each),
    ]


async def uses_of(attempts: Sequence[Attempt]) -> list[Use]:
    """Of one workload's attempts: as node agents told, and where they didn't, as the cluster did; by device."""
    holdings = await gpus.holdings_of([attempt.workload_id for attempt in attempts[:1]])
    told = {(it.attempt, name) for it in holdings for name in (it.gpu, it.instance)}
    untold = [(it, uuid) for it in attempts for uuid in it.gpus if it.started_at and (it.number, uuid) not in told]
    found: dict[Device, list[Use]] = {}
    for use in [*map(_of_holding, holdings), *await _by_cluster(untold)]:
        found.setdefault(use.device, []).append(use)
    merged = [
        Use(device, group[0].uuid, tuple(s for it in group for s in it.spans), any(it.is_shared for it in group))
        for device, group in found.items()
    ]
    return sorted(merged, key=lambda use: (use.uuid, use.device.instance))


def _of_holding(it: Holding) -> Use:
    return Use(Device(it.gpu_id, it.instance), it.gpu, (Span(it.since, it.until),), it.is_shared)


async def _by_cluster(untold: Iterable[tuple[Attempt, str]]) -> list[Use]:
    """Devices that the cluster named, where they are on record."""
    by_uuid = {(it.server, it.cluster, uuid): it for it, uuid in untold}
    if not by_uuid:
        return []
    rows = GpuRow.filter(uuid__in={uuid for *_, uuid in by_uuid}).select_related("server")
    found = ((row, by_uuid.get((row.server.name, row.server.cluster, row.uuid))) for row in await rows)
    return [
        Use(Device(row.id), row.uuid, (Span(it.started_at, it.finished_at or it.ended_at),))
        for row, it in found
        if it and it.started_at
    ]


async def readings_of(uses: Sequence[Use], start: datetime, end: datetime) -> Mapping[Device, list[Reading]]:
    """What is known of each device while the workload had it alone."""
    alone = {use.device: use.spans for use in uses if not use.is_shared}
    found = await samples.readings_of(list(alone), start, end) if alone else {}
    return {device: inside(it, alone[device]) for device, it in found.items()}


async def idle_holdings(holdings: Sequence[Holding], now: datetime, window: timedelta) -> set[Device]:
    """Those devices, of which somebody has each, that are known to have done nothing for all of the last while."""
    start = now - window
    alone = {Device(it.gpu_id, it.instance) for it in holdings if not it.is_shared and it.since <= start}
    found = await samples.readings_of(list(alone), start, now) if alone else {}
    return {device for device, readings in found.items() if is_idle(readings, start, now)}
