"""The policies that are compared: the product's own, and four public ones as functions of the same rooms."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from app.placement.demand import Demand, counted, most_of
from app.placement.packing import Packing
from app.placement.room import GPU, Ask, Room
from app.placement.rooms import Prefer, Rooms
from app.placement.usable import Usable
from bench._openb import Trace

Place = Callable[[Ask], bool]
Policy = Callable[[Trace, Sequence[Ask], random.Random], Place]  # (servers, what is known of the pods, chance)
ByKey = Callable[[Trace, Sequence[Ask]], Prefer]

# The constants by which the published experiment divides.
MOST_CPU, MOST_GPU = 128_000, 8 * GPU
LATEST, RENEWED_EVERY = 2_000, 100  # submissions


def ours_key(trace: Trace, known: Iterable[Ask]) -> Prefer:
    return Packing(Demand(counted(known), trace.models)).key


def ours_learning(trace: Trace, known: Sequence[Ask], _: random.Random) -> Place:
    """As the product does: from the latest submissions, which the arrivals soon are themselves."""
    latest = deque(known, maxlen=LATEST)
    rooms, came = Rooms(trace.rooms, ours_key(trace, latest)), 0

    def place(pod: Ask) -> bool:
        nonlocal rooms, came
        latest.append(pod)
        came += 1
        if came % RENEWED_EVERY == 0:
            rooms = Rooms(rooms.rooms, ours_key(trace, latest))
        return _put(rooms, pod)

    return place


def fgd_key(_: Trace, known: Sequence[Ask]) -> Prefer:
    """Fragmentation gradient descent as published: the drop of the expected fragment, through a rounded sigmoid."""
    usual = Usable(most_of(counted(pod._replace(memory=0) for pod in known), 0.95))

    def key(_number: int, room: Room, left: Room, _ask: Ask) -> int:
        drop = (room.gpu - usual.of(room)) - (left.gpu - usual.of(left))
        return -math.floor(100 / (1 + math.exp(-drop / GPU)))

    return key


def best_fit_key(_trace: Trace, _known: Sequence[Ask]) -> Prefer:
    def key(_number: int, _room: Room, left: Room, _ask: Ask) -> tuple[int, Room]:
        return -math.floor(100 * (1 - left.cpu / MOST_CPU / 2 - left.gpu / MOST_GPU / 2)), _tightest(left)

    return key


def kube_default_key(trace: Trace, _known: Sequence[Ask]) -> Prefer:
    """kube-scheduler as it comes: LeastAllocated and BalancedAllocation over CPU and memory, which know no GPUs."""

    def key(number: int, _room: Room, left: Room, _ask: Ask) -> tuple[int, Room]:
        whole = trace.rooms[number]
        cpu, memory = 1 - left.cpu / whole.cpu, 1 - left.memory / whole.memory
        least = (math.floor(100 * (1 - cpu)) + math.floor(100 * (1 - memory))) // 2
        return -least - math.floor(100 * (1 - abs(cpu - memory) / 2)), _tightest(left)

    return key


def by_chance(trace: Trace, _known: Sequence[Ask], rng: random.Random) -> Place:
    rooms = Rooms(trace.rooms, lambda *_: 0)

    def place(pod: Ask) -> bool:
        fitting = list(rooms.ranked(pod))
        if fitting:
            number = rng.choice(fitting).number
            rooms.put(number, rng.choice(list(rooms.rooms[number].after(pod))))
        return bool(fitting)

    return place


def _tightest(left: Room) -> Room:
    """Settles only which GPU of a server gives a share; between servers that are equal the name decides."""
    return Room(0, 0, 0, left.parts)


def _placing(trace: Trace, key: Prefer) -> Place:
    rooms = Rooms(trace.rooms, key)

    return lambda pod: _put(rooms, pod)


def _put(rooms: Rooms, pod: Ask) -> bool:
    choice = rooms.best(pod)
    if choice is not None:
        rooms.put(choice.number, choice.left)
    return choice is not None


def _by(key: ByKey) -> Policy:
    return lambda trace, known, _: _placing(trace, key(trace, known))


KEYS: dict[str, ByKey] = {
    "ours": ours_key,
    "FGD": fgd_key,
    "best fit": best_fit_key,
    "kube default": kube_default_key,
}
POLICIES: dict[str, Policy] = {**{name: _by(key) for name, key in KEYS.items()}, "random": by_chance}
