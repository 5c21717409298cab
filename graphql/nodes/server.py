"""Server as the API shows it: what is on record, and what the cluster shows and leaves free now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Self
from uuid import UUID

import strawberry

from app.domain.gpus import format_capability
from app.domain.server import ServerId
from app.graphql.context import Info
from app.graphql.nodes.gpu import Gpu, ServerAgent, agent_of
from app.graphql.scalars import Long
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.store import people
from app.store.servers import ServerRecord


@strawberry.type(description="What a server has under one GPU resource name. Nothing is added up over names.")
class GpuResource:
    name: str = strawberry.field(description="As the cluster spells it: nvidia.com/gpu, nvidia.com/mig-1g.10gb.")
    mig_profile: str | None = strawberry.field(description="Profile of these MIG slices; null: they are none.")
    shared: bool = strawberry.field(description="Whether these are shares of GPUs: more of them are not more GPU.")
    total: int = strawberry.field(description="All of them, unhealthy ones counted.")
    healthy: int | None = strawberry.field(description="What the cluster offers; null while it is not seen.")
    free: int | None = strawberry.field(description="What nobody has asked for; null while it is not seen.")


@strawberry.type(description="A node of the organization's pool.")
class Server:
    record: strawberry.Private[ServerRecord]
    id: UUID = strawberry.field(description="Stays the same for as long as the server is on record.")
    name: str = strawberry.field(description="The node's name in the cluster.")
    cluster: str = strawberry.field(description="The cluster it is in, as the settings name it.")
    product: str | None = strawberry.field(description="GPU model, as the cluster labels it.")
    driver_version: str | None = strawberry.field(description="NVIDIA driver, as the cluster labels it.")
    cuda_version: str | None = strawberry.field(description="The highest CUDA version its driver supports.")
    gpu_memory_mib: int | None = strawberry.field(description="Memory of one GPU, in MiB.")
    compute_capability: str | None = strawberry.field(description="Of its GPUs, as 8.0, as the cluster labels it.")
    gpu_count: int = strawberry.field(description="Whole GPUs, unhealthy ones counted.")
    gpus_healthy: int | None = strawberry.field(description="Whole GPUs that are offered; null while it is not seen.")
    gpus_free: int | None = strawberry.field(
        description="Whole GPUs that nobody has asked for; null while it is not seen."
    )
    gpu_resources: list[GpuResource] = strawberry.field(
        description="Whole GPUs, MIG slices and shares, each resource name by itself."
    )
    cpu_free_millis: int | None = strawberry.field(description="Free CPU, in thousandths of a core.")
    memory_free_bytes: Long | None = strawberry.field(description="Free memory; null while it is not seen.")
    usable: bool = strawberry.field(description="Whether workloads may be placed here now.")
    unusable_reason: str | None = strawberry.field(description="Why not.")
    gpu_note: str | None = strawberry.field(description="Where the cluster and the node agent count different GPUs.")
    cordoned: bool = strawberry.field(description="Whether one of its organization keeps new workloads off it.")
    cordon_reason: str | None = strawberry.field(description="Why, in that person's words.")
    cordoned_by: str | None = strawberry.field(
        description="Who did. Null also where its former organization did: it is cordoned still."
    )
    cordoned_at: datetime | None = strawberry.field(description="Since when.")
    version: int = strawberry.field(description="Grows with every cordon, uncordon and assignment.")
    changed_at: datetime = strawberry.field(description="When what is on record last changed.")
    gone_at: datetime | None = strawberry.field(description="Since when the cluster does not show it any more.")

    @classmethod
    def from_domain(cls, record: ServerRecord, seen: ServerCapacity | None, why_unusable: str) -> Self:
        cordon = record.cordon
        return cls(
            record=record,
            id=record.id,
            name=record.name,
            cluster=record.cluster,
            product=record.product or None,
            driver_version=record.driver or None,
            cuda_version=record.cuda or None,
            gpu_memory_mib=record.gpu_memory_mib,
            compute_capability=format_capability(record.compute_capability) or None,
            gpu_count=record.gpu_count,
            gpus_healthy=seen.gpus_healthy if seen else None,
            gpus_free=seen.gpus_free_now if seen else None,
            gpu_resources=_resources(record, seen),
            cpu_free_millis=max(0, seen.cpu_free) if seen else None,
            memory_free_bytes=Long(max(0, seen.memory_free)) if seen else None,
            usable=not why_unusable,
            unusable_reason=why_unusable or None,
            gpu_note=(seen.gpu_note or None) if seen else None,
            cordoned=cordon is not None,
            cordon_reason=cordon.reason or None if cordon else None,
            cordoned_by=cordon.by or None if cordon else None,
            cordoned_at=cordon.at if cordon else None,
            version=record.flags.version,
            changed_at=record.last_seen_at,
            gone_at=record.gone_at,
        )

    @strawberry.field(description="Its node agent; null where none has ever reported.")
    async def agent(self, info: Info) -> ServerAgent | None:
        return await agent_of(info, self.id)

    @strawberry.field(description="Its GPUs by index, as its node agent reports them; those that are gone left out.")
    async def gpus(self, info: Info) -> list[Gpu]:
        owner = await people.find_organization(self.record.organization_slug)
        found = await info.context.loaders.gpus.load(self.id) if owner else []
        return [Gpu.from_domain(it, owner.id) for it in found if it.gone_at is None] if owner else []


def _resources(record: ServerRecord, seen: ServerCapacity | None) -> list[GpuResource]:
    return [
        GpuResource(
            name=name,
            mig_profile=record.device(name).kind.mig_profile or None,
            shared=record.device(name).kind.is_shared,
            total=total,
            healthy=seen.gpus_allocatable.get(name, 0) if seen else None,
            free=max(0, seen.gpus_free.get(name, 0)) if seen else None,
        )
        for name, total in sorted(record.gpus_total.items())
        if name and total
    ]


async def servers_of(info: Info, slug: str) -> list[Server]:
    """The organization's, by name, with what is free on each."""
    board, records = info.context.services.board, await info.context.loaders.servers.load(slug)
    await board.inventory.refresh()
    seen = board.servers()
    return [_server(board, record, seen) for record in records]


async def server_of(info: Info, record: ServerRecord) -> Server:
    board = info.context.services.board
    await board.inventory.refresh()
    return _server(board, record, board.servers())


def _server(board: Board, record: ServerRecord, seen: Mapping[ServerId, ServerCapacity]) -> Server:
    found = seen.get(record.server_id)
    return Server.from_domain(record, found, board.why_unusable(record, found))
