"""The places that a pool can give: one for each server and each GPU resource name that it has.

Whole GPUs, each MIG profile and shares are resources of their own: what is usual, scarce or dear of the one says
nothing about the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from app.domain.cuda import Version, driver_runs
from app.domain.gpus import Device, Kind, satisfies
from app.domain.server import ServerId
from app.placement.demand import Demand, History
from app.placement.models import Models, model_of
from app.placement.packing import Packing
from app.placement.room import Ask, Room
from app.placement.rooms import Prefer
from app.placement.shape import Shape
from app.placement.snapshot import ServerCapacity


class Slot(NamedTuple):
    server: ServerCapacity
    resource: str
    id: ServerId
    driver: Version | None
    device: Device

    @property
    def room(self) -> Room:
        """As the snapshot has it."""
        server = self.server
        free = server.gpus_free.get(self.resource, 0)
        return Room(free, server.cpu_free, server.memory_free, model=model_of(self.device))

    def serves(self, shape: Shape) -> bool:
        """Whether its devices are what the shape asks for, and its driver runs the shape's CUDA version."""
        return satisfies(self.device, shape.wanted) and driver_runs(self.driver, shape.cuda)


def slots(servers: Iterable[ServerCapacity]) -> list[Slot]:
    """The lesser ones first: among equal choices the better are kept. Names settle what is the same in everything."""
    found = (
        Slot(server, resource, server.id, server.driver, server.device(resource))
        for server in servers
        for resource in server.gpus_total
    )
    return sorted(found, key=_lesser)


def _lesser(slot: Slot) -> tuple[object, ...]:
    it = slot.server
    size = (it.gpus_total[slot.resource], it.cpu_total, it.memory_total)
    return (*size, it.gpu_memory_mib or 0, it.driver or (), it.product, it.id, slot.resource)


def preference(found: Sequence[Slot], history: History, models: Models) -> Prefer:
    """For `Rooms` of these slots: among those of one kind, the one where the request spoils the least."""
    kinds = [slot.device.kind for slot in found]
    numbers: defaultdict[Kind, list[int]] = defaultdict(list)
    for number, kind in enumerate(kinds):
        numbers[kind].append(number)
    packings = {
        kind: _packing(kind, {at: found[at] for at in of_it}, history, models) for kind, of_it in numbers.items()
    }
    if len(packings) == 1:
        return next(iter(packings.values())).key

    def prefer(number: int, room: Room, left: Room, ask: Ask) -> Any:
        return packings[kinds[number]].key(number, room, left, ask)

    return prefer


def _packing(kind: Kind, found: Mapping[int, Slot], history: History, models: Models) -> Packing:
    gpus: Counter[str] = Counter()
    for slot in found.values():
        gpus[model_of(slot.device)] += slot.server.gpus_total[slot.resource]
    of_kind = [(models.resolve(ask), count) for ask, count in history.items() if ask.wanted.kind == kind]
    known: Counter[Ask] = Counter()
    for ask, count in of_kind:
        if ask is not None:
            known[ask] += count
    largest = max((slot.device.memory_bytes for slot in found.values()), default=0)
    dear = {at: slot.device.memory_bytes / largest for at, slot in found.items()} if largest else {}
    return Packing(Demand(known, gpus), dear)
