"""The plan as one would write it without an index and without grouping: every server is looked at for every workload.

It restates the rules on plain numbers, so that app.placement can be compared with it. It says only where a workload
goes, not why it waits, and knows no slices of GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log2
from uuid import UUID

from app.domain.cuda import driver_runs
from app.domain.server import ServerId
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity


@dataclass
class Room:
    """A server of which the plan takes."""

    server: ServerCapacity
    cpu: int = field(init=False)
    memory: int = field(init=False)
    gpus: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.cpu, self.memory = self.server.cpu_free, self.server.memory_free
        self.gpus = dict(self.server.gpus_free)

    def take(self, wanted: Request, resource: str) -> None:
        self.cpu -= wanted.cpu_millis
        self.memory -= wanted.memory_bytes
        self.gpus[resource] -= wanted.gpu_count


def naive_plan(queue: Iterable[Request], servers: Iterable[ServerCapacity]) -> dict[UUID, tuple[ServerId, str] | None]:
    rooms = [Room(server) for server in servers]
    turns = sorted(queue, key=lambda wanted: (-wanted.priority, _size(wanted), wanted.queued_at, wanted.workload_id))
    return {wanted.workload_id: _place(wanted, rooms) for wanted in turns}


def _size(wanted: Request) -> float:
    """Doublings of a GPU-minute, a doubling forgiven for six hours."""
    return log2(wanted.gpu_count * wanted.run_seconds / 60) + wanted.queued_at.timestamp() / 21_600


def fits(wanted: Request, room: Room, resource: str) -> bool:
    server = room.server
    return (
        server.organization == wanted.organization
        and not server.unusable
        and driver_runs(server.driver, wanted.cuda)
        and room.gpus[resource] >= wanted.gpu_count
        and room.cpu >= wanted.cpu_millis
        and room.memory >= wanted.memory_bytes
    )


def could_ever_fit(wanted: Request, server: ServerCapacity) -> bool:
    return (
        server.organization == wanted.organization
        and driver_runs(server.driver, wanted.cuda)
        and any(total >= wanted.gpu_count for total in server.gpus_total.values())
        and server.cpu_total >= wanted.cpu_millis
        and server.memory_total >= wanted.memory_bytes
    )


def could_fit_idle(wanted: Request, server: ServerCapacity) -> bool:
    """As the server is now, but for what others have taken."""
    healthy = any(count >= wanted.gpu_count for count in server.gpus_allocatable.values())
    return could_ever_fit(wanted, server) and healthy and not server.unusable


def lesser(room: Room, resource: str) -> tuple[object, ...]:
    """Of servers with as much free: the smaller, the older, then by name."""
    it = room.server
    return it.gpus_total[resource], it.cpu_total, it.memory_total, it.driver or (), it.id, resource


def _place(wanted: Request, rooms: list[Room]) -> tuple[ServerId, str] | None:
    others = [room for room in rooms if room.server.id not in wanted.avoid]
    allowed = others if any(could_fit_idle(wanted, room.server) for room in others) else rooms
    fitting = [(room, resource) for room in allowed for resource in room.gpus if fits(wanted, room, resource)]
    if not fitting:
        return None
    room, resource = min(fitting, key=lambda at: (at[0].gpus[at[1]], at[0].cpu, at[0].memory, *lesser(*at)))
    room.take(wanted, resource)
    return room.server.id, resource
