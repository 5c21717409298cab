"""Server as the API shows it: what is on record, and what the cluster shows and leaves free now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Self
from uuid import UUID

import strawberry

from app.domain.server import ServerId
from app.graphql.context import Info
from app.graphql.nodes.gpu import Gpu, ServerAgent, agent_of
from app.graphql.scalars import Long
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.store import people, servers
from app.store.servers import ServerRecord


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
    gpu_count: int = strawberry.field(description="All GPUs, unhealthy ones counted.")
    gpus_healthy: int | None = strawberry.field(description="GPUs that the cluster offers; null while it is not seen.")
    gpus_free: int | None = strawberry.field(description="GPUs that nobody has asked for; null while it is not seen.")
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
            gpu_count=record.gpu_total,
            gpus_healthy=seen.gpus_healthy if seen else None,
            gpus_free=seen.gpus_free_now if seen else None,
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


async def servers_of(info: Info, slug: str) -> list[Server]:
    """The organization's, by name, with what is free on each."""
    board, records = info.context.services.board, await servers.servers_of(slug)
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
