"""Reads of GPUs on record, and of who has and had them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from agent.report import Health, HealthReason
from app.store import servers
from app.store.gpu_models import GpuHolderRow, GpuRow
from app.store.models import AttemptRow
from app.store.servers import ServerRecord


@dataclass(frozen=True)
class GpuRecord:
    """A device that a server's agent reported. `facts` are the fields of agent.report.Device that have no column."""

    id: UUID
    server_id: UUID
    server: str
    cluster: str
    uuid: str
    index: int
    product: str
    memory_mib: int | None
    facts: dict[str, Any]
    health: Health
    health_reason: HealthReason | None
    health_message: str
    health_since: datetime | None
    xid: int | None
    first_seen_at: datetime
    gone_at: datetime | None

    @property
    def mig_profiles(self) -> dict[str, str]:
        """Of its MIG instances, by their UUID."""
        return {it["uuid"]: it["profile"] for it in self.facts.get("mig_instances", ())}


@dataclass(frozen=True)
class Holding:
    """Who has or had a device, or with `instance` that MIG instance on it. Of an unknown pod there is no workload.

    `until` is the attempt's end where that is known, though the agent has not told of it.
    """

    gpu_id: UUID
    gpu: str
    instance: str
    workload_id: UUID | None
    attempt: int | None
    namespace: str
    pod: str
    pod_uid: str
    container: str
    is_shared: bool
    since: datetime
    until: datetime | None

    @property
    def pod_name(self) -> str:
        """With its namespace; its uid where the agent knows no more."""
        return f"{self.namespace}/{self.pod}" if self.pod else self.pod_uid


class Mark(NamedTuple):
    """The least that tells what a GPU is: for counting those of many servers."""

    id: UUID
    server_id: UUID
    health: Health


async def marks_of(server_ids: Sequence[UUID]) -> list[Mark]:
    """Those that are there."""
    rows = GpuRow.filter(server_id__in=list(server_ids), gone_at=None)
    return [Mark(row[0], row[1], Health(row[2])) for row in await rows.values_list("id", "server_id", "health")]


async def owners_of(gpu_ids: Collection[UUID]) -> dict[UUID, str]:
    """Slugs of the organizations that have the GPUs' servers now."""
    columns = ("id", "server__assigned_slug", "server__organization_slug")
    rows = await GpuRow.filter(id__in=list(gpu_ids)).values_list(*columns) if gpu_ids else []
    return {row[0]: str(row[1] or row[2]) for row in rows}


async def gpus_of(server_ids: Sequence[UUID]) -> list[GpuRecord]:
    """By server and index; those that are gone as well."""
    rows = GpuRow.filter(server_id__in=list(server_ids)).select_related("server")
    return [_gpu(row) for row in await rows.order_by("server__name", "server__cluster", "index", "uuid")]


async def find_gpu(slug: str, gpu_id: UUID) -> tuple[GpuRecord, ServerRecord] | None:
    """With its server; None also where that is another organization's."""
    row = await GpuRow.get_or_none(id=gpu_id).select_related("server")
    server = await servers.find_server(row.server.id) if row else None
    if row is None or server is None or server.organization_slug != slug:
        return None
    return _gpu(row), server


def _gpu(row: GpuRow) -> GpuRecord:
    return GpuRecord(
        id=row.id,
        server_id=row.server.id,
        server=row.server.name,
        cluster=row.server.cluster,
        uuid=row.uuid,
        index=row.index,
        product=row.product,
        memory_mib=row.memory_mib,
        facts=row.facts,
        health=Health(row.health),
        health_reason=HealthReason(row.health_reason) if row.health_reason else None,
        health_message=row.health_message,
        health_since=row.health_since,
        xid=row.xid,
        first_seen_at=row.first_seen_at,
        gone_at=row.gone_at,
    )


async def holders_of(gpu_ids: Sequence[UUID]) -> list[Holding]:
    """Who has the devices now, as far as their agents have told."""
    rows = await _holdings(GpuHolderRow.filter(gpu_id__in=list(gpu_ids), until=None).order_by("since", "id"))
    return [holding for holding in rows if holding.until is None]


class Held(NamedTuple):
    """The least that tells who has a GPU, for counting; as of `Holding`."""

    gpu_id: UUID
    workload_id: UUID | None
    attempt: int | None


async def held_on(server_ids: Sequence[UUID]) -> list[Held]:
    """As `holders_of`, of all devices of many servers."""
    rows = GpuHolderRow.filter(gpu__server_id__in=list(server_ids), until=None)
    found = [Held(*row) for row in await rows.values_list(*Held._fields)]
    ends = await _ends({it.workload_id for it in found if it.workload_id})
    return [it for it in found if (it.workload_id, it.attempt) not in ends]


async def history_of(gpu_id: UUID, most: int, skip: int = 0) -> list[Holding]:
    """Who has and had the device, the latest first, without the first `skip`."""
    return await _holdings(GpuHolderRow.filter(gpu_id=gpu_id).order_by("-since", "-id").offset(skip).limit(most))


async def holdings_of(workload_ids: Sequence[UUID]) -> list[Holding]:
    """Every device that the workloads have and had, in order of time."""
    return await _holdings(GpuHolderRow.filter(workload_id__in=list(workload_ids)).order_by("since", "id"))


async def held_by(workload_id: UUID, attempt: int) -> tuple[str, ...]:
    """UUIDs of the GPUs and MIG instances that node agents saw the attempt have."""
    rows = GpuHolderRow.filter(workload_id=workload_id, attempt=attempt)
    found = await rows.values_list("instance", "gpu__uuid")
    return tuple(sorted({str(instance or uuid) for instance, uuid in found}))


_COLUMNS = (
    "gpu_id",
    "gpu__uuid",
    "instance",
    "workload_id",
    "attempt",
    "namespace",
    "pod",
    "pod_uid",
    "container",
    "is_shared",
    "since",
    "until",
)


async def _holdings(rows: Any) -> list[Holding]:
    found = [Holding(*row) for row in await rows.values_list(*_COLUMNS)]
    ends = await _ends({it.workload_id for it in found if it.workload_id and it.until is None})
    return [_ended(it, ends) for it in found]


async def _ends(workload_ids: Collection[UUID]) -> dict[tuple[UUID, int], datetime]:
    if not workload_ids:
        return {}
    rows = AttemptRow.filter(workload_id__in=list(workload_ids), ended_at__isnull=False)
    return {(row[0], row[1]): row[2] for row in await rows.values_list("workload_id", "number", "ended_at")}


def _ended(holding: Holding, ends: dict[tuple[UUID, int], datetime]) -> Holding:
    if holding.until is not None or holding.workload_id is None or holding.attempt is None:
        return holding
    end = ends.get((holding.workload_id, holding.attempt))
    return replace(holding, until=max(end, holding.since)) if end else holding
