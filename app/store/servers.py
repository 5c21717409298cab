"""Servers on record: what the cluster ever showed of a pool's nodes, and our own flags on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from tortoise.expressions import F, Q
from tortoise.functions import Sum

from app.domain.gpus import WHOLE, Device, GpuLabels, Kind, Version, device_of
from app.domain.observed import ObservedNode
from app.domain.server import Cordon, ServerFlags, ServerId
from app.store.mapping import storable
from app.store.models import ClusterServerRow
from app.store.sharedread import shared_read

T = TypeVar("T")


@dataclass(frozen=True)
class ServerRecord:
    """A node on record. `gpu_largest` is the most whole GPUs of one resource name; `gpus_total` counts all by name,
    slices and shares too. Unhealthy ones are counted.

    `cpu_millis` and `memory_bytes` are None on a record from before they were stored. `organization_slug` is its
    owner's, by assignment or else by the node's label.
    """

    id: UUID
    cluster: str
    name: str
    organization_slug: str
    product: str
    driver: str
    gpu_total: int
    gpu_largest: int
    gpu_memory_mib: int | None
    cuda: str
    cpu_millis: int | None
    memory_bytes: int | None
    last_seen_at: datetime
    gone_at: datetime | None
    flags: ServerFlags
    gpus_total: Mapping[str, int]
    compute_capability: Version
    shared_gpus: tuple[str, ...]

    @property
    def labels(self) -> GpuLabels:
        return GpuLabels(self.product, self.gpu_memory_mib, self.compute_capability, self.shared_gpus)

    def device(self, resource: str) -> Device:
        return device_of(resource, self.labels)

    @property
    def gpu_counts(self) -> dict[Kind, int]:
        """Of each kind that there is any of."""
        counts: Counter[Kind] = Counter()
        for resource, count in self.gpus_total.items():
            counts[self.device(resource).kind] += count
        return dict(+counts)

    @property
    def gpu_count(self) -> int:
        """Whole GPUs."""
        return self.gpu_counts.get(WHOLE, 0)

    @property
    def server_id(self) -> ServerId:
        return ServerId(self.name, self.cluster)

    @property
    def cordon(self) -> Cordon | None:
        """As its owner is told it."""
        return self.flags.cordon and self.flags.cordon.told_to(self.organization_slug)


async def record_nodes(cluster: str, nodes: Sequence[tuple[ObservedNode, str]], now: datetime) -> None:
    """Store the cluster's nodes, each with the slug of the organization that its label names; others are marked gone.

    Flags stay as they are.
    """
    known = {row.name: row for row in await ClusterServerRow.filter(cluster=cluster)}
    for node, slug in nodes:
        values = _values(node, slug)
        row = known.pop(node.name, None)
        if row is None:
            row = ClusterServerRow(cluster=cluster, name=node.name, first_seen_at=now, last_seen_at=now, **values)
            await row.save(force_create=True)
        elif row.gone_at is not None or any(getattr(row, name) != value for name, value in values.items()):
            await ClusterServerRow.filter(id=row.id).update(**values, last_seen_at=now, gone_at=None)
    for row in known.values():
        if row.gone_at is None:
            await ClusterServerRow.filter(id=row.id).update(gone_at=now)


def _values(node: ObservedNode, slug: str) -> dict[str, object]:
    return {
        "organization_slug": slug,
        "product": node.product[:200],
        "driver": node.driver[:40],  # a label may be longer; one odd node must not keep the others off the record
        "gpu_total": node.gpu_total,
        "gpu_largest": max((n for resource, n in node.capacity_gpus if node.is_whole(resource)), default=0),
        "facts": {
            "gpu_memory_mib": node.gpu_memory_mib,
            "cuda": node.cuda,
            "cpu_millis": node.cpu_millis,
            "memory_bytes": node.memory_bytes,
            "gpus": dict(node.capacity_gpus),
            "compute_capability": list(node.compute_capability),
            "shared_gpus": list(node.shared_gpus),
        },
    }


async def servers_of(slug: str) -> list[ServerRecord]:
    return await servers_of_any([slug])


async def servers_of_any(slugs: Collection[str]) -> list[ServerRecord]:
    """Of several organizations, by name."""
    return [_record(row) for row in await ClusterServerRow.filter(_owned_by(slugs)).order_by("name", "cluster")]


def _owned_by(slugs: Collection[str]) -> Q:
    return Q(assigned_slug__in=list(slugs)) | Q(assigned_slug="", organization_slug__in=list(slugs))


async def all_servers() -> list[ServerRecord]:
    """Of all organizations."""
    return [_record(row) for row in await ClusterServerRow.all().order_by("name", "cluster")]


async def find_server(server_id: UUID) -> ServerRecord | None:
    row = await ClusterServerRow.get_or_none(id=server_id)
    return _record(row) if row else None


async def servers_in(clusters: Collection[str]) -> list[ServerRecord]:
    """Those that were there when the clusters were last seen, of all organizations."""
    rows = ClusterServerRow.filter(cluster__in=list(clusters), gone_at=None)
    return [_record(row) for row in await rows.order_by("name", "cluster")]


def _record(row: ClusterServerRow) -> ServerRecord:
    return ServerRecord(
        id=row.id,
        cluster=row.cluster,
        name=row.name,
        organization_slug=row.assigned_slug or row.organization_slug,
        product=row.product,
        driver=row.driver,
        gpu_total=row.gpu_total,
        gpu_largest=row.gpu_largest,
        gpu_memory_mib=_number(row.facts.get("gpu_memory_mib")),
        cuda=str(row.facts.get("cuda", "")),
        cpu_millis=_number(row.facts.get("cpu_millis")),
        memory_bytes=_number(row.facts.get("memory_bytes")),
        last_seen_at=row.last_seen_at,
        gone_at=row.gone_at,
        flags=_flags(row),
        gpus_total=_counts(row),
        compute_capability=tuple(_listed(row.facts.get("compute_capability"), int)),
        shared_gpus=tuple(_listed(row.facts.get("shared_gpus"), str)),
    )


def _flags(row: ClusterServerRow) -> ServerFlags:
    cordon = None
    if row.cordoned_at is not None:
        cordon = Cordon(row.cordoned_for, row.cordoned_by, row.cordoned_at, row.cordon_reason)
    return ServerFlags(row.version, cordon, row.assigned_slug)


def _counts(row: ClusterServerRow) -> dict[str, int]:
    """On a record from before names were stored, the most of one name stands for all."""
    gpus = row.facts.get("gpus")
    if isinstance(gpus, dict):
        return {str(resource): int(count) for resource, count in gpus.items()}
    return {"": row.gpu_largest} if row.gpu_largest else {}


def _listed(value: object, kind: type[T]) -> list[T]:
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


@shared_read
async def largest_server(slug: str) -> tuple[str, int] | None:
    """Name and whole GPUs of the pool's largest server on record, which may have slices or shares alone; None when none
    has a GPU of any kind.
    """
    row = (
        await ClusterServerRow.filter(_owned_by([slug]), gpu_total__gt=0)
        .order_by("-gpu_largest", "name", "cluster")
        .first()
    )
    return (row.name, row.gpu_largest) if row else None


async def owners_of_gpu_servers(slugs: Collection[str]) -> set[str]:
    """Of these organizations, those that have a server with a GPU on record."""
    rows = ClusterServerRow.filter(_owned_by(slugs), gpu_total__gt=0).distinct()
    return {assigned or labelled for assigned, labelled in await rows.values_list("assigned_slug", "organization_slug")}


async def flagged() -> dict[ServerId, ServerFlags]:
    """The flags of those servers that ever had one."""
    rows = await ClusterServerRow.filter(version__gt=1)
    return {ServerId(row.name, row.cluster): _flags(row) for row in rows}


async def flag_changes() -> int:
    """A number that changes with every change of a flag."""
    [total] = await ClusterServerRow.annotate(total=Sum(F("version"))).values_list("total", flat=True)
    return int(str(total or 0))


async def write_flags(server_id: UUID, before: ServerFlags, after: ServerFlags) -> bool:
    """Write `after` as the next version; False where the version is no longer `before`'s, and nothing is written."""
    cordon = after.cordon
    values = {
        "version": before.version + 1,
        "assigned_slug": after.assigned_to,
        "cordoned_at": cordon.at if cordon else None,
        "cordoned_for": cordon.organization if cordon else "",
        "cordoned_by": storable(cordon.by[:254]) if cordon else "",
        "cordon_reason": cordon.reason if cordon else "",
    }
    return await ClusterServerRow.filter(id=server_id, version=before.version).update(**values) == 1
