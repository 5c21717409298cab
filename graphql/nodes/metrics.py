"""Curves of what a workload did with its GPUs, and of a GPU by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import strawberry

from app.domain.errors import InvalidInputError
from app.domain.metrics import Curve, Edges, MetricType, Span, allocated, check_stretch, curve, edges, together
from app.domain.samples import Reading
from app.domain.workload import Attempt
from app.graphql.enums import WorkloadMetricType
from app.graphql.moments import moment
from app.store import curves
from app.store.curves import Use
from app.store.samples import Device

MOST_SAMPLES = 1000
DEFAULT_SAMPLES = 20
_LONGEST = timedelta(days=400)
_SHARED = "others may have used the GPU at the same time, so its samples are nobody's"

Types = Annotated[list[WorkloadMetricType], strawberry.argument(description="Which, each once.")]
Start = Annotated[datetime, strawberry.argument(description="From then on.")]
End = Annotated[datetime, strawberry.argument(description="Until before then.")]
NumberOfSamples = Annotated[
    int, strawberry.argument(description="Into how many equal parts the time is divided, 1 to 1000.")
]


@strawberry.type(description="One part of the time.")
class MetricValue:
    at: datetime = strawberry.field(description="Where it begins.")
    value: float | None = strawberry.field(description="The mean of it; null: not known, which is not zero.")


@strawberry.type(description="A curve.")
class Metric:
    type: WorkloadMetricType = strawberry.field(description="What was measured.")
    gpu: str | None = strawberry.field(description="UUID of the GPU; null: all that the workload had, together.")
    instance: str | None = strawberry.field(description="UUID of the MIG instance; null: the whole GPU.")
    attributable: bool = strawberry.field(description="Whether it can be told whose it is; if not, no value is told.")
    note: str | None = strawberry.field(description="Why not.")
    values: list[MetricValue] = strawberry.field(description="In order, one for each part of the time.")


@dataclass(frozen=True)
class Query:
    """What was asked for, found to make sense."""

    types: Sequence[MetricType]
    start: datetime
    end: datetime
    parts: Edges


def query(types: Sequence[MetricType], start: datetime, end: datetime, number_of_samples: int) -> Query:
    """Raises InvalidInputError."""
    start, end = moment("start", start), moment("end", end)
    if not 1 <= number_of_samples <= MOST_SAMPLES:
        words = f"must be between 1 and {MOST_SAMPLES}; it is {number_of_samples}"
        raise InvalidInputError.of("numberOfSamples", words)
    check_stretch(start, end, _LONGEST)
    return Query(list(dict.fromkeys(types)), start, end, edges(start, end, number_of_samples))


async def metrics_of(attempts: Sequence[Attempt], gpu_count: int, wanted: Query, now: datetime) -> list[Metric]:
    """For each type the curve of all GPUs together, then one for each GPU."""
    uses = await curves.uses_of(attempts)
    readings = await curves.readings_of(uses, wanted.start, wanted.end)
    spans = [Span(it.placed_at, it.ended_at, gpu_count) for it in attempts]
    found: list[Metric] = []
    for type_ in wanted.types:
        if type_ is MetricType.ALLOCATED_GPUS:
            found.append(_metric(type_, None, allocated(spans, wanted.parts, now), wanted))
        else:
            found += _of_devices(type_, uses, readings, wanted, now)
    return found


def _of_devices(
    type_: MetricType, uses: Sequence[Use], readings: Mapping[Device, list[Reading]], wanted: Query, now: datetime
) -> list[Metric]:
    each = [(use, curve(readings.get(use.device, ()), type_, wanted.parts)) for use in uses]
    whole = together([(values, use.spans) for use, values in each], type_, wanted.parts, now)
    is_shared = any(use.is_shared for use in uses)
    return [
        _metric(type_, None, whole, wanted, is_shared=is_shared),
        *(_metric(type_, use, values, wanted, is_shared=use.is_shared) for use, values in each),
    ]


def _metric(type_: MetricType, use: Use | None, values: Curve, wanted: Query, *, is_shared: bool = False) -> Metric:
    return Metric(
        type=type_,
        gpu=use.uuid if use else None,
        instance=(use.device.instance or None) if use else None,
        attributable=not is_shared,
        note=_SHARED if is_shared else None,
        values=[MetricValue(at=at, value=value) for (at, _), value in zip(wanted.parts, values, strict=True)],
    )


def metrics_of_gpu(device: Device, uuid: str, readings: Sequence[Reading], wanted: Query) -> list[Metric]:
    """Of a GPU whoever had it."""
    use = Use(device, uuid, ())
    types = [it for it in wanted.types if it is not MetricType.ALLOCATED_GPUS]
    return [_metric(type_, use, curve(readings, type_, wanted.parts), wanted) for type_ in types]
