"""Gpu, who has and had it, and a server's node agent, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

import strawberry

from app.domain.errors import InvalidInputError
from app.graphql.context import Info
from app.graphql.enums import DriverState, Freshness, Health, HealthReason
from app.graphql.limits import LARGEST_PAGE
from app.graphql.nodes.metrics import DEFAULT_SAMPLES, End, Metric, NumberOfSamples, Start, Types, metrics_of_gpu, query
from app.graphql.nodes.workload import GpuHolding
from app.store import gpus, servers
from app.store.agents import AgentRecord
from app.store.gpus import GpuRecord
from app.store.samples import Device

DEFAULT_HISTORY = 50


@strawberry.type(description="What the node agent of a server last told of itself and of the driver.")
class ServerAgent:
    freshness: Freshness = strawberry.field(description="How long ago it was last heard.")
    last_report_at: datetime = strawberry.field(description="When its last report came, by the app's clock.")
    version: str = strawberry.field(description="Of the agent.")
    started_at: datetime = strawberry.field(description="When its process started, by the server's clock.")
    boot_id: str = strawberry.field(description="Another one after each boot of the server.")
    clock_skew_seconds: float = strawberry.field(description="How far the server's clock is ahead of the app's.")
    driver_state: DriverState | None = strawberry.field(description="Null until it has told its inventory.")
    driver_message: str | None = strawberry.field(description="What is the matter with the driver.")
    driver_version: str | None = strawberry.field(description="Of the NVIDIA driver.")
    cuda_version: str | None = strawberry.field(description="The highest that the driver supports.")
    gpus_working: int = strawberry.field(description="Whole GPUs that work; those in MIG mode not counted.")
    gpus_failed: int = strawberry.field(description="GPUs that have failed.")

    @classmethod
    def from_domain(cls, noun: AgentRecord, freshness: Freshness) -> Self:
        return cls(
            freshness=freshness,
            last_report_at=noun.received_at,
            version=noun.agent_version,
            started_at=noun.started_at,
            boot_id=noun.boot_id,
            clock_skew_seconds=noun.skew_seconds,
            driver_state=noun.driver_state if noun.has_inventory else None,
            driver_message=noun.driver_message or None,
            driver_version=noun.driver_version or None,
            cuda_version=noun.cuda_version or None,
            gpus_working=noun.gpus_offered,
            gpus_failed=noun.gpus_failed,
        )


async def agent_of(info: Info, server_id: UUID) -> ServerAgent | None:
    noun, services = await info.context.loaders.agents.load(server_id), info.context.services
    return ServerAgent.from_domain(noun, services.board.inventory.freshness(noun)) if noun else None


@strawberry.type(description="A slice of a GPU in MIG mode.")
class MigInstance:
    uuid: str = strawberry.field(description="As NVML tells it.")
    profile: str = strawberry.field(description="As NVIDIA writes it: 1g.10gb.")
    memory_mib: int | None = strawberry.field(description="Its memory, in MiB.")


@strawberry.type(description="One physical GPU of a server, as the server's node agent reports it.")
class Gpu:
    noun: strawberry.Private[GpuRecord]
    organization_id: strawberry.Private[UUID]
    id: UUID = strawberry.field(description="Stays the same for as long as the GPU is in this server.")
    uuid: str = strawberry.field(description="NVIDIA's name of the device.")
    index: int = strawberry.field(description="Its present number on the server, for display.")
    server: str = strawberry.field(description="Name of its server.")
    cluster: str = strawberry.field(description="The cluster that the server is in.")
    product: str | None = strawberry.field(description="Its model.")
    memory_mib: int | None = strawberry.field(description="Its memory, in MiB.")
    pci_bus_id: str | None = strawberry.field(description="Its place on the bus.")
    architecture: str | None = strawberry.field(description="Such as Hopper.")
    compute_capability: str | None = strawberry.field(description="Such as 9.0.")
    serial: str | None = strawberry.field(description="Its serial number, where it has one.")
    mig_enabled: bool | None = strawberry.field(description="Null where it knows no MIG.")
    mig_instances: list[MigInstance] = strawberry.field(description="Its slices, in MIG mode.")
    nvlink_peers: list[str] = strawberry.field(description="UUIDs of the GPUs that it is linked with.")
    persistence_mode: bool | None = strawberry.field(description="Whether the driver stays loaded without users.")
    compute_mode: str | None = strawberry.field(description="Who may use it at the same time.")
    health: Health = strawberry.field(description="How it is. Nothing new is placed on a failed one.")
    health_reason: HealthReason | None = strawberry.field(description="Null while it is OK.")
    health_message: str | None = strawberry.field(description="One sentence about it.")
    health_since: datetime | None = strawberry.field(description="Since when it is so, by the server's clock.")
    xid: int | None = strawberry.field(description="Number of NVIDIA's XID event, where it was one.")
    first_seen_at: datetime = strawberry.field(description="When it was first reported.")
    gone_at: datetime | None = strawberry.field(description="Since when it is no longer reported; null: it is there.")

    @classmethod
    def from_domain(cls, noun: GpuRecord, organization_id: UUID) -> Self:
        facts: dict[str, Any] = noun.facts
        return cls(
            noun=noun,
            organization_id=organization_id,
            id=noun.id,
            uuid=noun.uuid,
            index=noun.index,
            server=noun.server,
            cluster=noun.cluster,
            product=noun.product or None,
            memory_mib=noun.memory_mib,
            pci_bus_id=facts.get("pci_bus_id") or None,
            architecture=facts.get("architecture") or None,
            compute_capability=facts.get("compute_capability") or None,
            serial=facts.get("serial"),
            mig_enabled=facts.get("mig_enabled"),
            mig_instances=[MigInstance(**it) for it in facts.get("mig_instances", ())],
            nvlink_peers=list(facts.get("nvlink_peers", ())),
            persistence_mode=facts.get("persistence_mode"),
            compute_mode=facts.get("compute_mode") or None,
            health=noun.health,
            health_reason=noun.health_reason,
            health_message=noun.health_message or None,
            health_since=noun.health_since,
            xid=noun.xid,
            first_seen_at=noun.first_seen_at,
            gone_at=noun.gone_at,
        )

    @strawberry.field(description="The node agent that reports it; where it is not fresh, this may be old.")
    async def agent(self, info: Info) -> ServerAgent | None:
        return await agent_of(info, self.noun.server_id)

    @strawberry.field(description="Who has it now, or a part of it; empty where nobody does.")
    async def holders(self, info: Info) -> list[GpuHolding]:
        found = await info.context.loaders.holders.load(self.id)
        return [GpuHolding.from_domain(it, self.organization_id) for it in found]

    @strawberry.field(description="Who has and had it, the latest first. It weighs 6000: ask for one GPU.")
    async def history(
        self, first: Annotated[int, strawberry.argument(description="How many, 1 to 500.")] = DEFAULT_HISTORY
    ) -> list[GpuHolding]:
        if not 1 <= first <= LARGEST_PAGE:
            raise InvalidInputError.of("first", f"must be between 1 and {LARGEST_PAGE}; it is {first}")
        found = await gpus.history_of(self.id, first)
        return [GpuHolding.from_domain(it, self.organization_id) for it in found]

    @strawberry.field(description="What it did, whoever had it. It weighs 1000.")
    async def metrics(
        self, info: Info, types: Types, start: Start, end: End, number_of_samples: NumberOfSamples = DEFAULT_SAMPLES
    ) -> list[Metric]:
        wanted, device = query(types, start, end, number_of_samples), Device(self.id)
        readings = await info.context.loaders.readings.load((device, wanted.start, wanted.end))
        return metrics_of_gpu(device, self.uuid, readings, wanted)


async def gpus_of(slug: str, organization_id: UUID, *, gone: bool) -> list[Gpu]:
    """Of the organization's pool, by server and index."""
    records = await servers.servers_of(slug)
    found = await gpus.gpus_of([it.id for it in records])
    return [Gpu.from_domain(it, organization_id) for it in found if gone or it.gone_at is None]


async def find_gpu(slug: str, organization_id: UUID, gpu_id: UUID) -> Gpu | None:
    """None also where it is another organization's."""
    found = await gpus.find_gpu(slug, gpu_id)
    return Gpu.from_domain(found[0], organization_id) if found else None
