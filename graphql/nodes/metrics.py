"""Curves of what a workload did with its GPUs and its pod, and of a GPU by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import strawberry

from app.domain import metric_words
from app.domain.errors import InvalidInputError
from app.domain.metrics import OF_GPUS, Edges, MetricType, check_stretch, curve, edges
from app.domain.samples import Reading
from app.domain.workload import Attempt, Workload
from app.graphql.enums import WorkloadMetricType
from app.graphql.moments import moment
from app.store.curves import MetricCurve, Use, curves_of, measured
from app.store.samples import Device

MOST_SAMPLES = 1000
DEFAULT_SAMPLES = 20
_LONGEST = timedelta(days=400)

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
    requested: float | None = strawberry.field(
        description="What the workload asked for, of CPU, MEMORY and ALLOCATED_GPUS; null of all others."
    )
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


async def metrics_of(workload: Workload, attempts: Sequence[Attempt], wanted: Query, now: datetime) -> list[Metric]:
    """For each type the curve of all GPUs together, then one for each GPU; of what is no GPU's, one."""
    found = await measured(workload, attempts, wanted.types, wanted.start, wanted.end)
    curves = curves_of(found, workload, attempts, wanted.types, wanted.parts, now)
    return [_metric(it, wanted) for it in curves]


def _metric(it: MetricCurve, wanted: Query) -> Metric:
    return Metric(
        type=it.type,
        gpu=it.use.uuid if it.use else None,
        instance=(it.use.device.instance or None) if it.use else None,
        attributable=not it.is_shared,
        note=metric_words.SHARED if it.is_shared else None,
        requested=it.requested,
        values=[MetricValue(at=at, value=value) for (at, _), value in zip(wanted.parts, it.values, strict=True)],
    )


def metrics_of_gpu(device: Device, uuid: str, readings: Sequence[Reading], wanted: Query) -> list[Metric]:
    """Of a GPU whoever had it."""
    use = Use(device, uuid, ())
    types = [it for it in wanted.types if it in OF_GPUS]
    return [_metric(MetricCurve(it, use, curve(readings, it, wanted.parts)), wanted) for it in types]
