"""A plan's working copy of one organization's servers: it finds the best one for a shape and subtracts what it takes.

Which is best is `Packing`'s word. Beside that it answers what `explain` asks about what is left. Only `large_enough`
looks at all servers, which rare sentences need; everything else goes by the shelves' order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.domain.cuda import Version, driver_runs
from app.domain.server import ServerId
from app.placement.demand import NO_HISTORY, History
from app.placement.rooms import Rooms
from app.placement.shape import Shape
from app.placement.shelf import Key, Shelf, best, running, shelve
from app.placement.size import gpus_on_one_server, is_whole_gpu, largest_server
from app.placement.slots import packing, slots
from app.placement.snapshot import ServerCapacity


@dataclass(frozen=True, slots=True)
class Block:
    """What one server has by now of one GPU resource name; an over-committed server has less than nothing free."""

    server: ServerId
    gpus_free: int
    cpu_free: int
    memory_free: int
    unhealthy: int


class Pool:
    """`history` is what its organization asked for of late."""

    def __init__(self, servers: Sequence[ServerCapacity], history: History = NO_HISTORY) -> None:
        usable = [server for server in servers if not server.unusable]
        self.servers = {server.id: server for server in servers}
        self._names_clusters = len({server.cluster for server in servers}) > 1
        self.largest = largest_server(servers)
        self._totals = shelve(servers, _total_key)
        self._usable_totals = shelve(usable, _total_key)
        self._offers = shelve(usable, _offer_key)
        self._free = shelve(usable, _free_key)
        self._closed = shelve((server for server in servers if server.is_closed), _free_key)
        self._slots = slots(usable)
        self._rooms = Rooms((slot.room for slot in self._slots), packing(self._slots, history).key)
        self._held: dict[ServerId, list[tuple[Shelf, Key]]] = {}
        for shelf in self._free:
            for key in shelf.keys:
                self._held.setdefault(key[3], []).append((shelf, key))
        self._numbers = {(slot.server.id, slot.resource): number for number, slot in enumerate(self._slots)}
        self.has_out_of_contact = any(server.is_out_of_contact for server in servers)
        self._unhealthy = [server.id for server in usable if server.gpus_total != server.gpus_allocatable]
        self._most_unusable = max((_most_free(server) for server in servers if server.unusable), default=0)

    def name(self, server: ServerId) -> str:
        """As people are told it: with its cluster only where the pool has servers of several."""
        return str(server) if self._names_clusters else server.name

    def place(self, shape: Shape) -> tuple[ServerId, str] | None:
        """Take what the shape asks for and say from where: (server, GPU resource name). None where nothing fits."""
        avoided = self.avoided(shape)
        if best(self._free, shape, avoided) is None:
            return None  # far cheaper to see than to rank them all
        slots_in_turn = (self._slots[choice.number] for choice in self._rooms.ranked(shape.ask))
        slot = next(it for it in slots_in_turn if it.server.id not in avoided and driver_runs(it.driver, shape.cuda))
        self._take(slot.server.id, slot.resource, shape)
        return slot.server.id, slot.resource

    def _take(self, server: ServerId, resource: str, shape: Shape) -> None:
        held = self._held[server]
        for at, (shelf, old) in enumerate(held):
            gpus = shape.gpu_count if shelf.resource == resource else 0
            new = (old[0] - gpus, old[1] - shape.cpu_millis, old[2] - shape.memory_bytes, server)
            shelf.move(old, new)
            held[at] = (shelf, new)
            number = self._numbers[server, shelf.resource]
            self._rooms.put(number, self._rooms.rooms[number]._replace(whole=new[0], cpu=new[1], memory=new[2]))

    def avoided(self, shape: Shape) -> frozenset[ServerId]:
        """The servers to step over: none where no other could take the shape as it is now, were it idle.

        A failed try somewhere is better than to wait beside an idle server for one that is closed or has bad GPUs.
        """
        return shape.avoid if shape.avoid and best(self._offers, shape, shape.avoid) else frozenset()

    def has_large_enough(self, shape: Shape) -> bool:
        """Whatever its state and its driver."""
        return best(self._totals, shape._replace(cuda=None)) is not None

    def has_usable(self, shape: Shape) -> bool:
        """Large enough and usable, full or not, its driver new enough for the shape's CUDA version if it names one."""
        return best(self._usable_totals, shape, self.avoided(shape)) is not None

    def large_enough(self, shape: Shape) -> Iterable[ServerCapacity]:
        """Every server that is, in no order, whatever its state and its driver."""
        return map(self.servers.__getitem__, {name for shelf in self._totals for name in shelf.every(shape)})

    def newest_driver(self, shape: Shape) -> tuple[Version, ServerId | None]:
        """The newest known driver on a large enough and usable server, and such a server."""
        return _newest(self._usable_totals, shape, self.avoided(shape))

    def newest_driver_on_record(self, shape: Shape) -> tuple[Version, ServerId | None]:
        """The same, also where it may not be used."""
        return _newest(self._totals, shape, ())

    def largest_block(self, shape: Shape) -> Block | None:
        """The most free GPUs on a server that would do for the shape if it were idle; None where none is free."""
        qualifies, shelves = self._qualifier(shape), running(self._free, shape.cuda)
        tops = ((next(shelf.tops(1, qualifies), None), shelf.resource) for shelf in shelves)
        found = max(((top, resource) for top, resource in tops if top), default=None)
        return self._block(*found) if found else None

    def roomiest_block(self, shape: Shape) -> Block | None:
        """The most CPU beside enough free GPUs; None where no server has those."""
        qualifies, shelves = self._qualifier(shape), running(self._free, shape.cuda)
        tops = ((top, shelf.resource) for shelf in shelves for top in shelf.tops(shape.gpu_count, qualifies))
        found = max(tops, key=lambda it: (it[0][1:], it[1]), default=None)
        return self._block(*found) if found else None

    def unhealthy_blocks(self, shape: Shape) -> Iterator[Block]:
        """Those of servers with unhealthy GPUs that would do for the shape if they were idle and whole."""
        qualifies = self._qualifier(shape)
        for server in self._unhealthy:
            if driver_runs(self.servers[server].driver, shape.cuda) and qualifies(server):
                yield from (self._block(key, shelf.resource) for shelf, key in self._held[server])

    def closed(self, shape: Shape) -> ServerCapacity | None:
        """A server where the shape would fit now, were it not closed by a flag of ours."""
        found = best(self._closed, shape)
        return self.servers[found[0][3]] if found else None

    def most_free(self) -> int:
        """The most GPUs free on any server, even on one that may not be used."""
        return max(self._most_unusable, *(shelf.keys[-1][0] for shelf in self._free), 0)

    def _qualifier(self, shape: Shape) -> Callable[[ServerId], bool]:
        avoided = self.avoided(shape)
        return lambda server: server not in avoided and is_large_enough(self.servers[server], shape)

    def _block(self, key: Key, resource: str) -> Block:
        gpus, cpu, memory, id_ = key
        server = self.servers[id_]
        unhealthy = server.gpus_total[resource] - server.gpus_allocatable.get(resource, 0)
        return Block(id_, gpus, cpu, memory, unhealthy)


def is_large_enough(server: ServerCapacity, shape: Shape) -> bool:
    return (
        server.cpu_total >= shape.cpu_millis
        and server.memory_total >= shape.memory_bytes
        and gpus_on_one_server(server) >= shape.gpu_count
    )


def _newest(shelves: Iterable[Shelf], shape: Shape, excluded: Collection[ServerId]) -> tuple[Version, ServerId | None]:
    found = ((shelf.driver or (), shelf.first(shape, excluded)) for shelf in shelves)
    return max(((driver, key[3]) for driver, key in found if key), default=((), None))


def _most_free(server: ServerCapacity) -> int:
    return max((count for resource, count in server.gpus_free.items() if is_whole_gpu(resource)), default=0)


def _free_key(server: ServerCapacity, resource: str) -> Key:
    return server.gpus_free.get(resource, 0), server.cpu_free, server.memory_free, server.id


def _offer_key(server: ServerCapacity, resource: str) -> Key:
    return server.gpus_allocatable.get(resource, 0), server.cpu_total, server.memory_total, server.id


def _total_key(server: ServerCapacity, resource: str) -> Key:
    return server.gpus_total[resource], server.cpu_total, server.memory_total, server.id
