"""Servers sorted by what they have, so that the best one for a shape is found without looking at all of them.

A key is (GPUs of one resource name, CPU, memory, server), of what is free or of the totals. That order is also the
score: a placement leaves the fewest GPUs, then the least CPU, then the least memory. So the first key that fits is the
best one, and bisection finds where to look. What isn't sorted by is stepped over one key at a time: servers that have
the GPUs and the CPU but lack memory, and excluded ones.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from app.domain.cuda import Version, driver_runs
from app.domain.gpus import Device, satisfies
from app.domain.server import ServerId
from app.placement.shape import Shape
from app.placement.snapshot import ServerCapacity

Key = tuple[int, int, int, ServerId]
_FIRST = ServerId("")


@dataclass(slots=True)
class Shelf:
    """The servers with one GPU resource name, one driver, and one kind of device under that name."""

    resource: str
    driver: Version | None
    device: Device
    keys: list[Key] = field(default_factory=list)

    def first(self, shape: Shape, excluded: Collection[ServerId]) -> Key | None:
        """The least key with enough of everything."""
        keys, cpu, memory = self.keys, shape.cpu_millis, shape.memory_bytes
        at = bisect_left(keys, (shape.gpu_count, cpu, memory, _FIRST))
        while at < len(keys):
            key = keys[at]
            if key[1] < cpu:  # the next count of GPUs begins with the servers that have least CPU
                at = bisect_left(keys, (key[0], cpu, memory, _FIRST), at + 1)
            elif key[2] < memory or key[3] in excluded:
                at += 1
            else:
                return key
        return None

    def every(self, shape: Shape) -> Iterator[ServerId]:
        """The servers of all keys with enough of everything."""
        cpu, memory = shape.cpu_millis, shape.memory_bytes
        keys = self.keys[bisect_left(self.keys, (shape.gpu_count, cpu, memory, _FIRST)) :]
        return (key[3] for key in keys if key[1] >= cpu and key[2] >= memory)

    def tops(self, least: int, qualifies: Callable[[ServerId], bool]) -> Iterator[Key]:
        """For each count of GPUs, from the most down to `least`, the qualified server with most CPU."""
        keys, at = self.keys, len(self.keys)
        while at and keys[at - 1][0] >= least:
            key = keys[at - 1]
            if qualifies(key[3]):
                yield key
                at = bisect_left(keys, key[0], hi=at, key=lambda it: it[0])
            else:
                at -= 1

    def move(self, old: Key, new: Key) -> None:
        del self.keys[bisect_left(self.keys, old)]
        insort(self.keys, new)


def shelve(servers: Iterable[ServerCapacity], key_of: Callable[[ServerCapacity, str], Key]) -> list[Shelf]:
    shelves: dict[tuple[str, Version | None, Device], Shelf] = {}
    for server in servers:
        for resource in server.gpus_total:
            key = resource, server.driver, server.device(resource)
            shelf = shelves.setdefault(key, Shelf(*key))
            shelf.keys.append(key_of(server, resource))
    for shelf in shelves.values():
        shelf.keys.sort()
    return list(shelves.values())


def serving(shelves: Iterable[Shelf], shape: Shape) -> list[Shelf]:
    """The shelves whose devices are what the shape asks for and whose driver runs its CUDA version."""
    return [it for it in shelves if satisfies(it.device, shape.wanted) and driver_runs(it.driver, shape.cuda)]


def best(shelves: Iterable[Shelf], shape: Shape, excluded: Collection[ServerId] = ()) -> tuple[Key, str] | None:
    """The least key that fits, with its GPU resource name."""
    found = ((shelf.first(shape, excluded), shelf.resource) for shelf in serving(shelves, shape))
    return min(((key, resource) for key, resource in found if key), default=None)
