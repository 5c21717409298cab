"""How often the largest waiting request could not start although enough GPUs were free: pods of openb that come and go.

Run `python -m bench.departures --traces DIR [--pods NAME]`; DIR holds openb/. A sixth of the trace's servers; pods with
whole GPUs, drawn from the trace with their durations (the longest hundredth cut), come at random times so that what
they ask for is 0.9, 1.0, 1.1 or 1.2 of the capacity. Whatever fits is started, in the order of coming. A policy chooses
the server of who comes; what becomes free goes to the first who waits and fits there. Counted after a warm-up: the part
of the time in which the waiting request with the most GPUs fitted nowhere while as many GPUs were free on all servers
together, and the part of the GPUs that was allocated. Aim: less such time than any other policy.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import random
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.placement.room import GPU, Ask
from app.placement.rooms import Prefer, Rooms
from bench._openb import Trace, pod_of, read
from bench._policies import KEYS

LOADS = (0.9, 1.0, 1.1, 1.2)
EVERY = 6  # servers
WARM_UP, LENGTH = 2 * 86_400.0, 4 * 86_400.0  # seconds
LONGEST = 0.99  # of the durations


@dataclass(frozen=True)
class Kind:
    """A pod that may come, and for how many seconds."""

    ask: Ask
    seconds: float


def kinds(folder: Path, name: str) -> list[Kind]:
    """Raises KeyError where the list has no times."""
    with (folder / "openb" / f"openb_pod_list_{name}.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["deletion_time"] and int(row["num_gpu"])]
    found = [Kind(pod_of(row), float(row["deletion_time"]) - float(row["creation_time"])) for row in rows]
    found = [it for it in found if it.ask.share == GPU and it.seconds > 0]
    longest = sorted(it.seconds for it in found)[int(LONGEST * len(found))]
    return [Kind(it.ask, min(it.seconds, longest)) for it in found]


@dataclass
class Counted:
    """Over the time that is counted, seconds."""

    passed: float = 0.0
    blocked: float = 0.0
    gpu_seconds: float = 0.0


@dataclass
class Service:
    """Servers, who runs there until when, and who waits."""

    rooms: Rooms
    now: float = 0.0
    free: int = 0
    counted: Counted = field(default_factory=Counted)
    _running: list[tuple[float, int, int, Ask]] = field(default_factory=list)  # end, number, server
    _waiting: dict[Ask, deque[tuple[int, float]]] = field(default_factory=dict)  # number, seconds; none fits anywhere
    _capacity: int = 0

    def __post_init__(self) -> None:
        self.free = self._capacity = sum(room.whole for room in self.rooms.rooms)

    def come(self, number: int, at: float, kind: Kind) -> None:
        while self._running and self._running[0][0] <= at:
            self._end()
        self._pass(at)
        choice = None if kind.ask in self._waiting else self.rooms.best(kind.ask)
        if choice is None:
            self._waiting.setdefault(kind.ask, deque()).append((number, kind.seconds))
        else:
            self._start(number, choice.number, kind.ask, kind.seconds)

    def _end(self) -> None:
        end, _, server, ask = heapq.heappop(self._running)
        self._pass(end)
        room = self.rooms.rooms[server]
        more = room._replace(whole=room.whole + ask.gpus, cpu=room.cpu + ask.cpu, memory=room.memory + ask.memory)
        self.rooms.put(server, more)
        self.free += ask.gpus
        while fitting := [it for it in self._waiting if self.rooms.rooms[server].takes(it)]:
            first = min(fitting, key=lambda it: self._waiting[it][0])
            number, seconds = self._waiting[first].popleft()
            if not self._waiting[first]:
                del self._waiting[first]
            self._start(number, server, first, seconds)

    def _start(self, number: int, server: int, ask: Ask, seconds: float) -> None:
        self.rooms.put(server, next(self.rooms.rooms[server].after(ask)))
        self.free -= ask.gpus
        heapq.heappush(self._running, (self.now + seconds, number, server, ask))

    def _pass(self, until: float) -> None:
        seconds = until - max(self.now, WARM_UP)
        if seconds > 0:
            self.counted.passed += seconds
            self.counted.gpu_seconds += seconds * (self._capacity - self.free)
            if self._waiting and self.free >= max(ask.gpus for ask in self._waiting):
                self.counted.blocked += seconds
        self.now = until


def measure(trace: Trace, pods: Sequence[Kind], prefer: Prefer, load: float, seed: int) -> Counted:
    rng = random.Random(seed)  # noqa: S311  the same arrivals every time, nothing secret
    service = Service(Rooms(trace.rooms, prefer))
    asked = sum(it.ask.gpus * it.seconds for it in pods) / len(pods)
    rate, at, number = load * trace.capacity / GPU / asked, 0.0, 0
    while (at := at + rng.expovariate(rate)) < WARM_UP + LENGTH:
        service.come(number, at, rng.choice(pods))
        number += 1
    return service.counted


def main() -> int:
    parser = argparse.ArgumentParser(description="time in which the largest waiting pod was kept out by fragments")
    parser.add_argument("--traces", type=Path, default=Path(), help="the folder that holds openb/")
    parser.add_argument("--pods", default="default", help="which openb_pod_list_NAME.csv")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one load and seed: a glance only")
    given = parser.parse_args()
    try:
        whole, pods = read(given.traces, given.pods), kinds(given.traces, given.pods)
    except OSError as error:
        print(f"not run: {error.strerror}: {error.filename}; give the traces' folder with --traces")
        return 0
    except KeyError as error:
        print(f"not run: this list of pods has no {error}; `default` has")
        return 0
    trace = Trace(whole.rooms[::EVERY], [it.ask for it in pods])
    loads, seeds = ((1.0,), 1) if given.quick else (LOADS, given.seeds)
    print(
        f"{len(trace.rooms)} servers, {trace.capacity // GPU} GPUs; % of the time kept out by fragments (% allocated)"
    )
    blocked = {name: [_line(name, trace, pods, load, seeds) for load in loads] for name in KEYS}
    others = [min(blocked[name][at] for name in KEYS if name != "ours") for at in range(len(loads))]
    print(f"ratio: {sum(blocked['ours']) / max(sum(others), 1e-9):.3f}")
    return 0


def _line(name: str, trace: Trace, pods: Sequence[Kind], load: float, seeds: int) -> float:
    found = [measure(trace, pods, KEYS[name](trace, trace.pods), load, seed) for seed in range(seeds)]
    blocked = sum(it.blocked for it in found) / sum(it.passed for it in found)
    allocated = sum(it.gpu_seconds for it in found) / sum(it.passed for it in found) / (trace.capacity / GPU)
    print(f"{name:14} load {load:.1f}: {100 * blocked:6.2f} ({100 * allocated:.2f})", flush=True)
    return blocked


if __name__ == "__main__":
    sys.exit(main())
