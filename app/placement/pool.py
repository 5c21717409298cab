"""A plan's working copy of one organization's servers: it finds the best one for a shape and subtracts what it takes.

Which is best is `Packing`'s word. Beside that it answers what `explain` asks about what is left. Only `large_enough`
looks at all servers, which rare sentences need; everything else goes by the shelves' order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import NamedTuple

from app.domain.cuda import Version
from app.domain.gpus import Device, Kind
from app.domain.server import ServerId
from app.placement.calendar import Calendar, Hold, Holds
from app.placement.demand import NO_HISTORY, History
from app.placement.models import Models
from app.placement.rooms import Rooms
from app.placement.shape import Shape
from app.placement.shelf import Key, Shelf, best, serving, shelve
from app.placement.size import most_on_one_server
from app.placement.slots import Slot, preference, slots
from app.placement.snapshot import ServerCapacity
from app.placement.timeline import Amount, Moment

_REMEMBERED = 200  # shapes
_BUT_WHAT_IS_FREE = attrgetter(
    *(it.name for it in fields(ServerCapacity) if not it.name.endswith(("_free", "_resident")))
)


@dataclass(frozen=True, slots=True)
class Block:
    """What one server has by now of one GPU resource name; an over-committed server has less than nothing free."""

    server: ServerId
    gpus_free: int
    cpu_free: int
    memory_free: int
    unhealthy: int


class Offer(NamedTuple):
    slot: Slot
    gpus: int
    cpu_millis: int
    memory_bytes: int


class Keeping(NamedTuple):
    """A server that is kept for a request, which begins once others give back so many GPUs; 0: CPU or memory."""

    server: ServerId
    gpus: int


class Pool:
    """`history` is what its organization asked for of late."""

    def __init__(self, servers: Sequence[ServerCapacity], history: History = NO_HISTORY) -> None:
        usable = [server for server in servers if not server.unusable]
        self.servers = {server.id: server for server in servers}
        self._names_clusters = len({server.cluster for server in servers}) > 1
        self._totals = shelve(servers, _total_key)
        self._usable_totals = shelve(usable, _total_key)
        self._offers = shelve(usable, _offer_key)
        self._free = shelve(usable, _free_key)
        self._closed = shelve((server for server in servers if server.is_closed), _free_key)
        self._slots = slots(usable)
        self._models = Models(slot.device for slot in self._slots)
        self._rooms = Rooms((slot.room for slot in self._slots), preference(self._slots, history, self._models))
        self._held: dict[ServerId, list[tuple[Shelf, Key]]] = {}
        for shelf in self._free:
            for key in shelf.keys:
                self._held.setdefault(key[3], []).append((shelf, key))
        self._numbers = {(slot.id, slot.resource): number for number, slot in enumerate(self._slots)}
        self._fixed = {server.id: _fixed(server) for server in servers}
        self._possible: dict[Shape, list[tuple[int, Slot, Amount]]] = {}
        self._resident = {server.id: (server.cpu_resident, server.memory_resident) for server in usable}
        self.calendar = Calendar(self._free_amount, self._given_back)
        self.has_out_of_contact = any(server.is_out_of_contact for server in servers)
        self._unhealthy = [server.id for server in usable if server.gpus_total != server.gpus_allocatable]
        self._free_but_unusable = shelve((server for server in servers if server.unusable), _free_key)

    def name(self, server: ServerId) -> str:
        """As people are told it: with its cluster only where the pool has servers of several."""
        return str(server) if self._names_clusters else server.name

    def begin(self, now: Moment, holds: Holds) -> None:
        """A plan begins: nothing is reserved. What runs and is not among `holds` may never end."""
        self.calendar.begin(now, {server: it for server, it in holds.items() if server in self._held})

    def renew(self, servers: Sequence[ServerCapacity]) -> bool:
        """Take over what is free by now; False, and nothing done, where something else of the servers has changed."""
        if len(servers) != len(self.servers) or any(_fixed(it) != self._fixed.get(it.id) for it in servers):
            return False
        for server in servers:
            if not server.unusable:
                self._set_free(server)
        return True

    def _set_free(self, server: ServerCapacity) -> None:
        self._resident[server.id] = server.cpu_resident, server.memory_resident
        for at, (shelf, old) in enumerate(self._held.get(server.id, ())):
            new = _free_key(server, shelf.resource)
            if new != old:
                self._move(server.id, at, new)

    def place(self, shape: Shape, hold_seconds: float = 0) -> tuple[ServerId, str] | None:
        """Take what the shape asks for and say from where: (server, GPU resource name). None where nothing fits.

        Nor may it be in the way of a reservation if it stays for so long.
        """
        avoided = self.avoided(shape)
        if best(self._free, shape, avoided) is None:
            return None  # far cheaper to see than to rank them all
        ranked = (self._slots[it.number] for it in self._rooms.ranked(self._models.resolve(shape.ask) or shape.ask))
        found = (it for it in ranked if it.id not in avoided and it.serves(shape))
        slot = next((it for it in found if self._has_room(it, shape, hold_seconds)), None)
        if slot is None:
            return None
        self._take(slot.id, slot.resource, shape, hold_seconds)
        return slot.id, slot.resource

    def place_on(self, server: ServerId, shape: Shape, hold_seconds: float) -> str | None:
        """The same on that server and no other: the GPU resource name. None where it does not fit there."""
        for _, slot, wanted in self.candidates(shape):
            if slot.id != server or not self._free_amount(server).holds(wanted):
                continue
            if self.calendar.has_room(server, wanted, hold_seconds):
                self._take(server, slot.resource, shape, hold_seconds)
                return slot.resource
        return None

    def first_start(
        self, shape: Shape, hold_seconds: float, server: ServerId | None = None
    ) -> tuple[Moment, int] | None:
        """The first moment that is certain, and the number of the place, on that server if one is named; or None."""
        places = self.candidates(shape)
        starts = (
            (start, self._held[slot.id][0][1][:3], number)
            for number, slot, wanted in (places if server is None else [it for it in places if it[1].id == server])
            if (start := self.calendar.first_fit(slot.id, wanted, hold_seconds)) is not None
        )
        start, _, number = min(starts, default=(None, (), 0))
        return None if start is None else (start, number)

    def promise(self, number: int, shape: Shape, start: Moment, hold_seconds: float) -> tuple[Moment, ServerId]:
        """Keep it the place of that number from then on."""
        slot = self._slots[number]
        self.calendar.promise(slot.id, self._amount(slot, shape), start, hold_seconds)
        return start, slot.id

    def keep(self, shape: Shape, hold_seconds: float) -> Keeping | None:
        """Keep the server free for it where the fewest GPUs of pods of others are in its way, then the earliest one.

        None where no server could take it even if those were gone.
        """
        found = []
        for number, slot, wanted in self.candidates(shape):
            others = self._of_others(slot.id)
            start = self.calendar.first_fit_without(slot.id, others, wanted, hold_seconds)
            if start is not None:
                known = self._free_amount(slot.id).plus(self.calendar.coming_back(slot.id))
                lacks = sum(max(a - b, 0) for a, b in zip(wanted.gpus, known.gpus, strict=True) if a)
                found.append((lacks, start, number, others, wanted))
        if not found:
            return None
        lacks, start, number, others, wanted = min(found)
        server = self._slots[number].id
        self.calendar.keep(server, others, wanted, start, hold_seconds)
        return Keeping(server, lacks)

    def _of_others(self, server: ServerId) -> Amount:
        """What pods with GPUs hold there that tell no end."""
        it, (cpu, memory) = self.servers[server], self._resident[server]
        gpus = tuple(it.gpus_allocatable.get(shelf.resource, 0) for shelf, _ in self._held[server])
        known = self._free_amount(server).plus(self.calendar.coming_back(server))
        nothing = known.minus(known)
        return Amount(it.cpu_total - cpu, it.memory_total - memory, gpus).minus(known).most(nothing)

    def offers(self, seconds: float) -> Iterator[Offer]:
        """What every usable server could give now, of each GPU resource name, for so long."""
        for slot in self._slots:
            lasting = self.calendar.lasting(slot.id, seconds)
            at = next(at for at, (shelf, _) in enumerate(self._held[slot.id]) if shelf.resource == slot.resource)
            yield Offer(slot, lasting.gpus[at], lasting.cpu, lasting.memory)

    def lasts(self, slot: Slot, shape: Shape) -> float:
        """For how many seconds the shape could have its place there from now on; 0 where it does not fit now."""
        wanted = self._amount(slot, shape)
        return self.calendar.lasts(slot.id, wanted) if self._free_amount(slot.id).holds(wanted) else 0.0

    def candidates(self, shape: Shape) -> list[tuple[int, Slot, Amount]]:
        """Where it might go some day, and what it would take there."""
        found = self._possible.get(shape)
        if found is None:
            if len(self._possible) >= _REMEMBERED:
                self._possible.clear()
            avoided = self.avoided(shape)
            some = ((number, slot) for number, slot in enumerate(self._slots) if slot.serves(shape))
            found = [(number, slot, self._amount(slot, shape)) for number, slot in some if slot.id not in avoided]
            self._possible[shape] = found
        return found

    def _has_room(self, slot: Slot, shape: Shape, seconds: float) -> bool:
        return self.calendar.has_room(slot.id, self._amount(slot, shape), seconds)

    def _amount(self, slot: Slot, shape: Shape) -> Amount:
        return self._given_back(slot.id, _hold(slot.resource, shape, 0.0))

    def _given_back(self, server: ServerId, hold: Hold) -> Amount:
        gpus = tuple(hold.gpus if shelf.resource == hold.gpu_resource else 0 for shelf, _ in self._held[server])
        return Amount(hold.cpu_millis, hold.memory_bytes, gpus)

    def _free_amount(self, server: ServerId) -> Amount:
        held = self._held[server]
        return Amount(held[0][1][1], held[0][1][2], tuple(key[0] for _, key in held))

    def _take(self, server: ServerId, resource: str, shape: Shape, seconds: float) -> None:
        self.calendar.begun(server, _hold(resource, shape, self.calendar.now + seconds))
        for at, (shelf, (gpus, cpu, memory, _)) in enumerate(self._held[server]):
            taken = shape.gpu_count if shelf.resource == resource else 0
            self._move(server, at, (gpus - taken, cpu - shape.cpu_millis, memory - shape.memory_bytes, server))

    def _move(self, server: ServerId, at: int, new: Key) -> None:
        shelf, old = self._held[server][at]
        shelf.move(old, new)
        self._held[server][at] = (shelf, new)
        number = self._numbers[server, shelf.resource]
        self._rooms.put(number, self._rooms.rooms[number]._replace(whole=new[0], cpu=new[1], memory=new[2]))
        self.calendar.changed(server)

    def avoided(self, shape: Shape) -> frozenset[ServerId]:
        """The servers to step over: none where no other could take the shape as it is now, were it idle.

        A failed try somewhere is better than to wait beside an idle server for one that is closed or has bad GPUs.
        """
        return shape.avoid if shape.avoid and best(self._offers, shape, shape.avoid) else frozenset()

    def kept(self, shape: Shape) -> tuple[Block, Moment] | None:
        """Where it would fit, were it not in the way of a reservation, and when the first one begins there.

        Where the server is kept for who waits for pods of others: when it could begin there, were those gone.
        """
        found = best(self._free, shape, self.avoided(shape))
        if found is None:
            return None
        server = found[0][3]
        starts = (self.calendar.first_start(server), self.calendar.kept_from(server))
        start = min((it for it in starts if it is not None), default=None)
        return None if start is None else (self._block(*found), start)

    def is_kept_from_others(self, server: ServerId) -> bool:
        """Whether it is kept for who waits there for pods of others, and nothing is promised there."""
        return self.calendar.first_start(server) is None and self.calendar.kept_from(server) is not None

    @property
    def now(self) -> Moment:
        """Of the plan."""
        return self.calendar.now

    def has_large_enough(self, shape: Shape) -> bool:
        """Whatever its state and its driver."""
        return best(self._totals, shape._replace(cuda=None)) is not None

    def has_usable(self, shape: Shape) -> bool:
        """Large enough and usable, full or not, its driver new enough for the shape's CUDA version if it names one."""
        return best(self._usable_totals, shape, self.avoided(shape)) is not None

    def large_enough(self, shape: Shape) -> Iterable[ServerCapacity]:
        """Every server that is, in no order, whatever its state and its driver."""
        shelves = serving(self._totals, shape._replace(cuda=None))
        return map(self.servers.__getitem__, {name for shelf in shelves for name in shelf.every(shape)})

    def newest_driver(self, shape: Shape) -> tuple[Version, ServerId | None]:
        """The newest known driver on a large enough and usable server, and such a server."""
        return _newest(self._usable_totals, shape, self.avoided(shape))

    def newest_driver_on_record(self, shape: Shape) -> tuple[Version, ServerId | None]:
        """The same, also where it may not be used."""
        return _newest(self._totals, shape, ())

    def largest_block(self, shape: Shape) -> Block | None:
        """The most free GPUs on a server that would do for the shape if it were idle; None where none is free."""
        qualifies, shelves = self._qualifier(shape), serving(self._free, shape)
        tops = ((next(shelf.tops(1, qualifies), None), shelf.resource) for shelf in shelves)
        found = max(((top, resource) for top, resource in tops if top), default=None)
        return self._block(*found) if found else None

    def roomiest_block(self, shape: Shape) -> Block | None:
        """The most CPU beside enough free GPUs; None where no server has those."""
        qualifies, shelves = self._qualifier(shape), serving(self._free, shape)
        tops = ((top, shelf.resource) for shelf in shelves for top in shelf.tops(shape.gpu_count, qualifies))
        found = max(tops, key=lambda it: (it[0][1:], it[1]), default=None)
        return self._block(*found) if found else None

    def unhealthy_blocks(self, shape: Shape) -> Iterator[Block]:
        """Those of servers with unhealthy GPUs that would do for the shape if they were idle and whole."""
        qualifies = self._qualifier(shape)
        for server in self._unhealthy:
            if qualifies(server):
                held = [(shelf, key) for shelf, key in self._held[server] if serving([shelf], shape)]
                yield from (self._block(key, shelf.resource) for shelf, key in held)

    def closed(self, shape: Shape) -> ServerCapacity | None:
        """A server where the shape would fit now, were it not closed by a flag of ours."""
        found = best(self._closed, shape)
        return self.servers[found[0][3]] if found else None

    def most_free(self, kind: Kind) -> int:
        """The most free of that kind on any server, even on one that may not be used or has other GPUs of the kind."""
        shelves = (shelf for shelf in (*self._free, *self._free_but_unusable) if shelf.device.kind == kind)
        return max((shelf.keys[-1][0] for shelf in shelves), default=0)

    def devices(self) -> set[Device]:
        """Everything that there is any of, on whatever server."""
        return {shelf.device for shelf in self._totals if shelf.keys[-1][0] > 0}

    def most(self, shape: Shape) -> int:
        """The most on one server of what the shape's GPUs may be, whatever the server's state and driver."""
        return max((shelf.keys[-1][0] for shelf in serving(self._totals, shape._replace(cuda=None))), default=0)

    def with_devices(self, kind: Kind | None = None) -> set[ServerId]:
        """The servers that have any GPU of the kind, or of whatever kind."""
        shelves = (shelf for shelf in self._totals if kind is None or shelf.device.kind == kind)
        return {key[3] for shelf in shelves for key in shelf.keys if key[0] > 0}

    def _qualifier(self, shape: Shape) -> Callable[[ServerId], bool]:
        avoided = self.avoided(shape)
        return lambda server: server not in avoided and is_large_enough(self.servers[server], shape)

    def _block(self, key: Key, resource: str) -> Block:
        gpus, cpu, memory, id_ = key
        server = self.servers[id_]
        unhealthy = server.gpus_total[resource] - server.gpus_allocatable.get(resource, 0)
        return Block(id_, gpus, cpu, memory, unhealthy)


def _hold(resource: str, shape: Shape, until: Moment) -> Hold:
    return Hold(until, resource, shape.gpu_count, shape.cpu_millis, shape.memory_bytes)


def is_large_enough(server: ServerCapacity, shape: Shape) -> bool:
    return (
        server.cpu_total >= shape.cpu_millis
        and server.memory_total >= shape.memory_bytes
        and most_on_one_server(server, shape.wanted) >= shape.gpu_count
    )


def _newest(shelves: Iterable[Shelf], shape: Shape, excluded: Collection[ServerId]) -> tuple[Version, ServerId | None]:
    any_driver = serving(shelves, shape._replace(cuda=None))
    found = ((shelf.driver or (), shelf.first(shape, excluded)) for shelf in any_driver)
    return max(((driver, key[3]) for driver, key in found if key), default=((), None))


def _fixed(server: ServerCapacity) -> object:
    """All of it but what is free; of one that may not be used all of it."""
    return server if server.unusable else _BUT_WHAT_IS_FREE(server)


def _free_key(server: ServerCapacity, resource: str) -> Key:
    return server.gpus_free.get(resource, 0), server.cpu_free, server.memory_free, server.id


def _offer_key(server: ServerCapacity, resource: str) -> Key:
    return server.gpus_allocatable.get(resource, 0), server.cpu_total, server.memory_total, server.id


def _total_key(server: ServerCapacity, resource: str) -> Key:
    return server.gpus_total[resource], server.cpu_total, server.memory_total, server.id
