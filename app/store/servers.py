"""Servers on record: what the cluster ever showed of a pool's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.observed import ObservedNode
from app.placement.size import is_whole_gpu
from app.store.models import ServerRow
from app.store.sharedread import shared_read


@dataclass(frozen=True)
class ServerRecord:
    """A node on record. `gpu_largest` is the most whole GPUs of one resource name, unhealthy ones counted."""

    id: UUID
    name: str
    organization_slug: str
    product: str
    driver: str
    gpu_total: int
    gpu_largest: int
    gpu_memory_mib: int | None
    cuda: str
    last_seen_at: datetime
    gone_at: datetime | None


async def record_nodes(nodes: Sequence[tuple[ObservedNode, str]], now: datetime) -> None:
    """Store the nodes, each with the slug of the organization it belongs to; nodes not among them are marked gone."""
    known = {row.name: row for row in await ServerRow.all()}
    for node, slug in nodes:
        values = _values(node, slug)
        row = known.pop(node.name, None)
        if row is None:
            await ServerRow(name=node.name, first_seen_at=now, last_seen_at=now, **values).save(force_create=True)
        elif row.gone_at is not None or any(getattr(row, name) != value for name, value in values.items()):
            await ServerRow.filter(id=row.id).update(**values, last_seen_at=now, gone_at=None)
    for row in known.values():
        if row.gone_at is None:
            await ServerRow.filter(id=row.id).update(gone_at=now)


def _values(node: ObservedNode, slug: str) -> dict[str, object]:
    return {
        "organization_slug": slug,
        "product": node.product[:200],
        "driver": node.driver[:40],  # a label may be longer; one odd node must not keep the others off the record
        "gpu_total": node.gpu_total,
        "gpu_largest": max((n for resource, n in node.capacity_gpus if is_whole_gpu(resource)), default=0),
        "facts": {"gpu_memory_mib": node.gpu_memory_mib, "cuda": node.cuda},
    }


async def servers_of(slug: str) -> list[ServerRecord]:
    return [_record(row) for row in await ServerRow.filter(organization_slug=slug).order_by("name")]


def _record(row: ServerRow) -> ServerRecord:
    memory = row.facts.get("gpu_memory_mib")
    return ServerRecord(
        id=row.id,
        name=row.name,
        organization_slug=row.organization_slug,
        product=row.product,
        driver=row.driver,
        gpu_total=row.gpu_total,
        gpu_largest=row.gpu_largest,
        gpu_memory_mib=memory if isinstance(memory, int) else None,
        cuda=str(row.facts.get("cuda", "")),
        last_seen_at=row.last_seen_at,
        gone_at=row.gone_at,
    )


@shared_read
async def largest_server(slug: str) -> tuple[str, int] | None:
    """Name and GPU count of the pool's largest server on record; None when none has a GPU."""
    row = await ServerRow.filter(organization_slug=slug, gpu_largest__gt=0).order_by("-gpu_largest", "name").first()
    return (row.name, row.gpu_largest) if row else None
