"""The places that a pool can give: one for each server and each resource name that counts whole GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from app.domain.cuda import Version
from app.domain.server import ServerId
from app.placement.demand import Demand, History
from app.placement.packing import Packing
from app.placement.room import Room
from app.placement.size import is_whole_gpu
from app.placement.snapshot import ServerCapacity


class Slot(NamedTuple):
    server: ServerCapacity
    resource: str
    id: ServerId
    driver: Version | None

    @property
    def room(self) -> Room:
        """As the snapshot has it."""
        server = self.server
        return Room(server.gpus_free.get(self.resource, 0), server.cpu_free, server.memory_free, model=server.product)


def slots(servers: Iterable[ServerCapacity]) -> list[Slot]:
    """The lesser ones first: among equal choices the better are kept. Names settle what is the same in everything."""
    found = (
        Slot(server, resource, server.id, server.driver)
        for server in servers
        for resource in filter(is_whole_gpu, server.gpus_total)
    )
    return sorted(found, key=_lesser)


def _lesser(slot: Slot) -> tuple[object, ...]:
    it = slot.server
    size = (it.gpus_total[slot.resource], it.cpu_total, it.memory_total)
    return (*size, it.gpu_memory_mib or 0, it.driver or (), it.product, it.id, slot.resource)


def packing(found: Sequence[Slot], history: History) -> Packing:
    gpus: Counter[str] = Counter()
    for slot in found:
        gpus[slot.server.product] += slot.server.gpus_total[slot.resource]
    largest = max((slot.server.gpu_memory_mib or 0 for slot in found), default=0)
    dear = [(slot.server.gpu_memory_mib or 0) / largest for slot in found] if largest else ()
    return Packing(Demand(history, gpus), dear)
