"""Reads of workloads, attempts and events, each named by its intention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from tortoise.expressions import Q

from app.domain.gpus import WHOLE, GpuRequirements, Kind
from app.domain.states import Status
from app.domain.waits import Told
from app.domain.workload import Attempt, Event, EventType, Workload
from app.store import mapping
from app.store.models import AttemptRow, EventRow, OrganizationRow, WorkloadRow
from app.store.sharedread import shared_read

_WISHES = [
    it.value
    for it in (
        EventType.SUBMITTED,
        EventType.CANCEL_REQUESTED,
        EventType.SUSPEND_REQUESTED,
        EventType.HELD,
        EventType.RELEASED,
        EventType.PRIORITIZED,
    )
]


async def find_workload(organization_id: UUID, workload_id: UUID) -> Workload | None:
    row = await WorkloadRow.get_or_none(id=workload_id, organization_id=organization_id)
    return mapping.workload(row) if row else None


async def load_workload(workload_id: UUID) -> Workload | None:
    row = await WorkloadRow.get_or_none(id=workload_id)
    return mapping.workload(row) if row else None


async def workloads_by_id(ids: Sequence[UUID]) -> dict[UUID, Workload]:
    return {row.id: mapping.workload(row) for row in await WorkloadRow.filter(id__in=list(ids))}


class Named(NamedTuple):
    """What tells whose a workload is, and what people call it."""

    organization_id: UUID
    name: str


async def names_of(ids: Collection[UUID]) -> dict[UUID, Named]:
    rows = await WorkloadRow.filter(id__in=list(ids)).values_list("id", "organization_id", "name") if ids else []
    return {_uuid(row[0]): Named(_uuid(row[1]), str(row[2])) for row in rows}


async def find_by_idempotency_key(organization_id: UUID, key: str) -> tuple[Workload, str] | None:
    """The workload submitted under the key and its request's fingerprint."""
    row = await WorkloadRow.get_or_none(organization_id=organization_id, idempotency_key=key)
    return (mapping.workload(row), row.fingerprint) if row else None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What placing needs of a workload that wants a server: there may be many, and they are read often."""

    id: UUID
    organization_id: UUID
    gpu_count: int
    cpu_millis: int
    memory_bytes: int
    cuda: str | None
    project_id: UUID | None
    timeout_seconds: int
    start_timeout_seconds: int
    gpu_requirements: dict[str, Any] | None
    priority: int
    preemptible: bool
    queued_at: datetime
    not_before: datetime | None
    queue_timeout_seconds: int | None
    avoid_servers: list[str]
    nominated_server: str
    reason: str
    message: str
    told_reason: str
    told_at: datetime | None

    @property
    def told(self) -> Told:
        return Told(self.told_reason, self.told_at)


_WAITING_COLUMNS = tuple(field.name for field in fields(Waiting))


async def waiting_workloads(organization_id: UUID | None = None) -> list[Waiting]:
    """Everything that wants a server, of all organizations unless one is named, longest waiting first."""
    query = WorkloadRow.filter(status=Status.PENDING.value, phase__in=mapping.WAITING).order_by("queued_at", "id")
    if organization_id is not None:
        query = query.filter(organization_id=organization_id)
    return [Waiting(*row) for row in await query.values_list(*_WAITING_COLUMNS)]


def as_waiting(workload: Workload) -> Waiting:
    """One that is not stored, as it would be read."""
    values = mapping.workload_values(workload)
    return Waiting(*(values.get(name) for name in _WAITING_COLUMNS))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LiveAttempt:
    """What it holds of which server, for how long at most, and for whom. `phase` is its workload's."""

    workload_id: UUID
    number: int
    cluster: str
    server: str
    gpu_resource: str
    placed_at: datetime
    started_at: datetime | None
    stop_requested_at: datetime | None
    gpu_count: int
    cpu_millis: int
    memory_bytes: int
    timeout_seconds: int
    start_timeout_seconds: int
    organization_id: UUID
    project_id: UUID | None
    priority: int
    preemptible: bool
    gpu_requirements: dict[str, Any] | None
    phase: str

    @property
    def kind(self) -> Kind:
        """Of its GPUs."""
        return GpuRequirements.read(self.gpu_requirements or {}).kind


_OF_ATTEMPT = {
    "workload_id",
    "number",
    "cluster",
    "server",
    "gpu_resource",
    "placed_at",
    "started_at",
    "stop_requested_at",
}
_LIVE_COLUMNS = [it.name if it.name in _OF_ATTEMPT else f"workload__{it.name}" for it in fields(LiveAttempt)]


async def live_attempts() -> list[LiveAttempt]:
    """Those that are not over."""
    rows = await AttemptRow.filter(cleaned_at=None, ended_at=None).values_list(*_LIVE_COLUMNS)
    return [LiveAttempt(*row) for row in rows]


async def gpus_in_use(project_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The whole GPUs that each project's attempts hold; a project that holds none is missing."""
    live = AttemptRow.filter(cleaned_at=None, ended_at=None, workload__project_id__in=list(project_ids))
    columns = ("workload__project_id", "workload__gpu_count", "workload__gpu_requirements")
    found: dict[UUID, int] = defaultdict(int)
    for project_id, gpus, wanted in await live.values_list(*columns):
        if GpuRequirements.read(wanted or {}).kind == WHOLE:
            found[_uuid(project_id)] += gpus
    return dict(found)


async def runs_ended(
    organization_id: UUID, after: datetime, up_to: datetime
) -> list[tuple[UUID | None, int, datetime, datetime]]:
    """The attempts that ended in that time and had executed: their project, GPUs, start and end."""
    ended = AttemptRow.filter(ended_at__gt=after, ended_at__lte=up_to, workload__organization_id=organization_id)
    columns = ("workload__project_id", "workload__gpu_count", "started_at", "ended_at")
    return [(*row,) for row in await ended.exclude(started_at=None).values_list(*columns)]


async def latest_sizes(organization_id: UUID, most: int) -> list[tuple[int, int, int, GpuRequirements]]:
    """GPUs, CPU, memory and what the GPUs must be, of the organization's latest submissions, the newest first."""
    rows = WorkloadRow.filter(organization_id=organization_id).order_by("-created_at", "-id").limit(most)
    found = await rows.values_list("gpu_count", "cpu_millis", "memory_bytes", "gpu_requirements")
    return [(gpus, cpu, memory, GpuRequirements.read(wanted or {})) for gpus, cpu, memory, wanted in found]


async def attempts_of(workload_ids: Sequence[UUID]) -> list[Attempt]:
    rows = await AttemptRow.filter(workload_id__in=list(workload_ids)).order_by("workload_id", "number")
    return [mapping.attempt(row) for row in rows]


async def find_attempt(workload_id: UUID, number: int) -> Attempt | None:
    row = await AttemptRow.get_or_none(workload_id=workload_id, number=number)
    return mapping.attempt(row) if row else None


async def uncleaned_attempts(workload_id: UUID) -> list[Attempt]:
    """Attempts that may still have something in the cluster: the live one and ended ones not yet swept."""
    rows = await AttemptRow.filter(workload_id=workload_id, cleaned_at=None).order_by("number")
    return [mapping.attempt(row) for row in rows]


async def attempts_to_reconcile(kept_since: datetime | None = None) -> list[tuple[str, UUID]]:
    """The cluster and the workload of every attempt that is live or left something there: where a restart begins.

    With `kept_since`, without those that ended by themselves after it and whose log is stored: their Jobs are merely
    kept for a while.
    """
    left = AttemptRow.filter(cleaned_at=None)
    if kept_since is not None:
        over = Q(ended_at__lte=kept_since) | Q(exit_code=None) | Q(stop_reason__isnull=False) | Q(log_taken_at=None)
        left = left.filter(Q(ended_at=None) | over)
    rows = await left.order_by("placed_at").values_list("cluster", "workload_id")
    return list(dict.fromkeys((cluster, _uuid(id_)) for cluster, id_ in rows))


def _uuid(value: object) -> UUID:
    return value if isinstance(value, UUID) else UUID(str(value))


async def unstarted_attempts() -> list[tuple[Attempt, Workload]]:
    """Attempts whose container does not execute yet: what placement must count before their pods are seen."""
    rows = await AttemptRow.filter(ended_at=None, started_at=None).select_related("workload")
    return [(mapping.attempt(row), mapping.workload(row.workload)) for row in rows]


@shared_read
async def events_after(organization_id: UUID, sequence: int, limit: int) -> list[Event]:
    """Those behind the number, in order. A thousand followers at the same place cost one read."""
    rows = (
        await EventRow.filter(organization_id=organization_id, sequence__gt=sequence).order_by("sequence").limit(limit)
    )
    return [mapping.event(row) for row in rows]


async def last_event_sequence(organization_id: UUID) -> int:
    row = await EventRow.filter(organization_id=organization_id).order_by("-sequence").first()
    return row.sequence if row else 0


async def last_event_sequences() -> dict[UUID, int]:
    """By organization, the highest number given to an event so far."""
    rows = await OrganizationRow.all().values_list("id", "event_sequence")
    return {_uuid(id_): int(str(sequence)) for id_, sequence in rows}


async def wishes_between(organization_id: UUID, after: int, up_to: int) -> list[tuple[EventType, UUID]]:
    """What people asked for in that part of the organization's events: its kind, and the workload."""
    rows = EventRow.filter(organization_id=organization_id, sequence__gt=after, sequence__lte=up_to, type__in=_WISHES)
    found = await rows.order_by("sequence").values_list("type", "workload_id")
    return [(EventType(str(kind)), _uuid(id_)) for kind, id_ in found]


async def gpu_failures_of(workload_ids: Collection[UUID]) -> list[Event]:
    """What the workloads were told of GPUs of theirs that had failed."""
    rows = EventRow.filter(workload_id__in=list(workload_ids), type=EventType.GPU_FAILED.value)
    return [mapping.event(row) for row in await rows.order_by("sequence")] if workload_ids else []


async def events_of(workload_ids: Sequence[UUID]) -> list[Event]:
    rows = await EventRow.filter(workload_id__in=list(workload_ids)).order_by("sequence")
    return [mapping.event(row) for row in rows]
