"""Batched reads of related nouns, so that a list costs a fixed number of statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from strawberry.dataloader import DataLoader

from app.domain.people import Member, Project, Token
from app.domain.samples import Reading
from app.domain.volumes import Volume
from app.domain.workload import Attempt, Event, Workload
from app.store import agents, gpus, managing, people, reads, samples, servers, volumes
from app.store.agents import AgentRecord
from app.store.gpus import GpuRecord, Holding
from app.store.samples import Device
from app.store.servers import ServerRecord

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _in_order(read: Callable[[list[K]], Awaitable[Mapping[K, V]]]) -> Callable[[list[K]], Awaitable[list[V | None]]]:
    async def load(keys: list[K]) -> list[V | None]:
        found = await read(keys)
        return [found.get(key) for key in keys]

    return load


def _grouped(
    read: Callable[[list[K]], Awaitable[list[V]]], whose: str = "workload_id"
) -> Callable[[list[K]], Awaitable[list[list[V]]]]:
    """`whose` names what tells of each that is read what it belongs to."""

    async def load(keys: list[K]) -> list[list[V]]:
        groups: dict[K, list[V]] = defaultdict(list)
        for part in await read(keys):
            groups[getattr(part, whose)].append(part)
        return [groups[key] for key in keys]

    return load


def _lists(read: Callable[[list[K]], Awaitable[Mapping[K, list[V]]]]) -> Callable[[list[K]], Awaitable[list[list[V]]]]:
    async def load(keys: list[K]) -> list[list[V]]:
        found = await read(keys)
        return [found.get(key, []) for key in keys]

    return load


async def _have_gpu_server(slugs: list[str]) -> list[bool]:
    found = await servers.owners_of_gpu_servers(slugs)
    return [slug in found for slug in slugs]


Stretch = tuple[Device, datetime, datetime]


async def _readings(stretches: list[Stretch]) -> list[list[Reading]]:
    """A statement for all devices of the same time, which those of one request mostly have."""
    found: dict[Stretch, list[Reading]] = {}
    for start, end in {(start, end) for _, start, end in stretches}:
        devices = [device for device, *time in stretches if time == [start, end]]
        for device, readings in (await samples.GPUS.readings_of(devices, start, end)).items():
            found[device, start, end] = readings
    return [found.get(stretch, []) for stretch in stretches]


class Loaders:
    """Without a cache: a WebSocket lives long, and what was read once must not be shown for ever."""

    def __init__(self) -> None:
        self.workloads: DataLoader[UUID, Workload | None] = DataLoader(_in_order(reads.workloads_by_id), cache=False)
        self.projects: DataLoader[UUID, Project | None] = DataLoader(_in_order(people.projects_by_id), cache=False)
        self.attempts: DataLoader[UUID, list[Attempt]] = DataLoader(_grouped(reads.attempts_of), cache=False)
        self.events: DataLoader[UUID, list[Event]] = DataLoader(_grouped(reads.events_of), cache=False)
        self.gpus: DataLoader[UUID, list[GpuRecord]] = DataLoader(_grouped(gpus.gpus_of, "server_id"), cache=False)
        self.holders: DataLoader[UUID, list[Holding]] = DataLoader(_grouped(gpus.holders_of, "gpu_id"), cache=False)
        self.holdings: DataLoader[UUID, list[Holding]] = DataLoader(_grouped(gpus.holdings_of), cache=False)
        self.agents: DataLoader[UUID, AgentRecord | None] = DataLoader(_in_order(agents.agents_of), cache=False)
        self.readings: DataLoader[Stretch, list[Reading]] = DataLoader(_readings, cache=False)
        self.has_gpu_server: DataLoader[str, bool] = DataLoader(_have_gpu_server, cache=False)
        self.servers: DataLoader[str, list[ServerRecord]] = DataLoader(
            _grouped(servers.servers_of_any, "organization_slug"), cache=False
        )
        self.gpus_in_use: DataLoader[UUID, int | None] = DataLoader(_in_order(reads.gpus_in_use), cache=False)
        self.projects_of: DataLoader[UUID, list[Project]] = DataLoader(
            _grouped(people.projects_in, "organization_id"), cache=False
        )
        self.volumes_of: DataLoader[UUID, list[Volume]] = DataLoader(
            _grouped(volumes.volumes_in, "organization_id"), cache=False
        )
        self.members_of: DataLoader[UUID, list[Member]] = DataLoader(_lists(managing.members_in), cache=False)
        self.tokens_of: DataLoader[UUID, list[Token]] = DataLoader(_lists(managing.tokens_in), cache=False)
