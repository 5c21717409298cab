"""Batched reads of related nouns, so that a list costs a fixed number of statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from strawberry.dataloader import DataLoader

from app.domain.people import Project
from app.domain.samples import Reading
from app.domain.workload import Attempt, Event, Workload
from app.store import agents, gpus, people, reads, samples
from app.store.agents import AgentRecord
from app.store.gpus import GpuRecord, Holding
from app.store.samples import Device

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = TypeVar("P", Attempt, Event, GpuRecord, Holding)  # part of a workload, a server, a GPU


def _in_order(read: Callable[[list[K]], Awaitable[Mapping[K, V]]]) -> Callable[[list[K]], Awaitable[list[V | None]]]:
    async def load(keys: list[K]) -> list[V | None]:
        found = await read(keys)
        return [found.get(key) for key in keys]

    return load


def _grouped(
    read: Callable[[list[UUID]], Awaitable[list[P]]], whose: str = "workload_id"
) -> Callable[[list[UUID]], Awaitable[list[list[P]]]]:
    async def load(ids: list[UUID]) -> list[list[P]]:
        groups: dict[UUID, list[P]] = defaultdict(list)
        for part in await read(ids):
            groups[getattr(part, whose)].append(part)
        return [groups[i] for i in ids]

    return load


Stretch = tuple[Device, datetime, datetime]


async def _readings(stretches: list[Stretch]) -> list[list[Reading]]:
    """A statement for all devices of the same time, which those of one request mostly have."""
    found: dict[Stretch, list[Reading]] = {}
    for start, end in {(start, end) for _, start, end in stretches}:
        devices = [device for device, *time in stretches if time == [start, end]]
        for device, readings in (await samples.readings_of(devices, start, end)).items():
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
