"""How fast the queue is planned, and how the cost of one decision grows with the fleet.

Run `python -m bench.plan` (`--quick` for a glance). 10,000 workloads of mixed shapes wait for fleets of 100 and 1,000
servers with 8 GPUs each, half of them taken. The headline is a ratio within one process, so that it means the same on
any machine: how many times faster than a scan of every server for every workload, with the same placements.
A last part has one planner go on from its last plan, as the scheduler does: what a tick costs of the processor after
one arrival and one end, with reservations. Left out: taking the snapshot, and writing the placements to the store.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import median
from uuid import UUID

from app.domain.cuda import CudaVersion, Version, driver_runs
from app.domain.server import ServerId
from app.placement.calendar import Hold
from app.placement.plan import Outlook, Place, Plan, Planner, in_order, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot

GPU = "nvidia.com/gpu"
GI = 2**30
GPUS_PER_SERVER = 8
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = (START + timedelta(days=1)).timestamp()
DRIVERS = ((470, 42, 1), (535, 104, 5), (580, 65, 6))
CUDAS = (None, None, CudaVersion(11, 8), CudaVersion(12, 4), CudaVersion(13, 0))


@dataclass(frozen=True)
class Scale:
    waiting: int
    small: int
    large: int
    runs: int


FULL = Scale(waiting=10_000, small=100, large=1_000, runs=7)
QUICK = Scale(waiting=1_000, small=20, large=200, runs=3)


def fleet(count: int, rng: random.Random) -> Snapshot:
    """Servers with eight GPUs, half of the GPUs taken, with CPU and memory taken about in proportion."""
    return Snapshot(tuple(_server(number, rng) for number in range(count)))


def _server(number: int, rng: random.Random) -> ServerCapacity:
    free = rng.choice((0, 1, 2, 4, 4, 6, 7, 8))
    return ServerCapacity(
        name=f"gpu-{number:04}",
        organization="acme",
        cpu_free=free * 8_000 + rng.randrange(0, 16_000, 500),
        cpu_total=96_000,
        memory_free=(free * 64 + rng.randrange(64)) * GI,
        memory_total=768 * GI,
        gpus_free={GPU: free},
        gpus_allocatable={GPU: GPUS_PER_SERVER},
        gpus_total={GPU: GPUS_PER_SERVER},
        driver=rng.choice(DRIVERS),
        unusable=rng.choice(("",) * 19 + ("cordoned",)),
    )


def mixed_queue(count: int, rng: random.Random) -> list[Request]:
    """Few shapes, as people submit them: 1, 2, 4 or 8 GPUs with CPU and memory by the GPU, and a handful of images."""
    return [
        _request(number, rng, cpu=rng.choice((4_000, 8_000)), memory=rng.choice((16, 32)) * GI)
        for number in range(count)
    ]


def scattered_queue(count: int, rng: random.Random) -> list[Request]:
    """The worst case for grouping: hardly two workloads ask for the same."""
    return [
        _request(number, rng, cpu=rng.randrange(1, 8_000), memory=rng.randrange(GI, 64 * GI)) for number in range(count)
    ]


def _request(number: int, rng: random.Random, *, cpu: int, memory: int) -> Request:
    gpus = rng.choice((1, 1, 1, 1, 2, 2, 4, 8))
    return Request(
        workload_id=UUID(int=number),
        organization="acme",
        gpu_count=gpus,
        cpu_millis=gpus * cpu,
        memory_bytes=gpus * memory,
        queued_at=START + timedelta(seconds=rng.randrange(86_400)),
        cuda=rng.choice(CUDAS),
        priority=rng.choice((0, 0, 0, 10)),
    )


@dataclass(slots=True)
class _Room:
    gpus: int
    cpu: int
    memory: int
    name: str
    driver: Version | None

    def fits(self, request: Request) -> bool:
        return (
            self.gpus >= request.gpu_count
            and self.cpu >= request.cpu_millis
            and self.memory >= request.memory_bytes
            and driver_runs(self.driver, request.cuda)
        )

    def take(self, request: Request) -> None:
        self.gpus -= request.gpu_count
        self.cpu -= request.cpu_millis
        self.memory -= request.memory_bytes


def scan(queue: list[Request], snapshot: Snapshot) -> dict[UUID, Place]:
    """The reference: no index, no grouping, no words. The same rules, so it must make the same placements."""
    usable = (server for server in snapshot.servers if not server.unusable)
    rooms = [_Room(s.gpus_free[GPU], s.cpu_free, s.memory_free, s.name, s.driver) for s in usable]
    places = {}
    requests = {request.workload_id: request for request in queue}
    for request in map(requests.__getitem__, in_order(queue, {})):
        fitting = (room for room in rooms if room.fits(request))
        best = min(fitting, key=lambda room: (room.gpus, room.cpu, room.memory, room.driver, room.name), default=None)
        if best:
            best.take(request)
            places[request.workload_id] = Place(best.name, GPU)
    return places


def seconds(work: Callable[[], object], runs: int) -> float:
    """The median of several runs, as a neighbour on the machine disturbs single ones."""
    return median(_once(work) for _ in range(runs))


def _once(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak_mib(work: Callable[[], object]) -> float:
    """Memory that one plan allocates at its peak, without its input."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


@dataclass(frozen=True)
class Measured:
    """One fleet and one queue. `scan_rate` is None where the reference was not run."""

    servers: int
    rate: float
    placed: int
    peak_mib: float
    scan_rate: float | None = None


def measure(queue: list[Request], snapshot: Snapshot, runs: int, *, with_scan: bool = True) -> Measured:
    found: list[Plan] = []
    taken = seconds(lambda: found.append(plan(queue, snapshot)), runs)
    placements = found[-1].placements
    scan_rate = _scan_rate(queue, snapshot, placements) if with_scan else None
    peak = peak_mib(lambda: plan(queue, snapshot))
    return Measured(len(snapshot.servers), len(queue) / taken, len(placements), peak, scan_rate)


def _scan_rate(queue: list[Request], snapshot: Snapshot, expected: dict[UUID, Place]) -> float:
    places: list[dict[UUID, Place]] = []
    taken = _once(lambda: places.append(scan(queue, snapshot)))  # once: it takes seconds
    assert places[0] == expected, "the plan and the scan disagree"
    return len(queue) / taken


def ticks(queue: list[Request], snapshot: Snapshot, count: int) -> tuple[float, float, float]:
    """Seconds of the first plan, of a tick after one arrival and one end (the median), and of the slowest one."""
    rng = random.Random(11)  # noqa: S311  the same every time, nothing secret
    planner, waiting = Planner(), {request.workload_id: request for request in queue}
    servers = {server.id: server for server in snapshot.servers}
    holds = {server.id: _running(server, rng) for server in snapshot.servers}
    found, began = [], 0.0
    for number in range(count + 1):
        if number:
            ending = rng.choice([on for on, held in holds.items() if held])
            servers[ending] = _given_back(servers[ending], holds[ending].pop())
            arrival = _request(len(queue) + number, rng, cpu=4_000, memory=16 * GI)
            waiting[arrival.workload_id] = arrival
        outlook = Outlook(now=NOW + number, holds=holds)
        began = time.process_time()
        placements = planner.plan(waiting.values(), Snapshot(tuple(servers.values())), outlook).placements
        found.append(time.process_time() - began)
        for workload_id, place in placements.items():
            on, request = ServerId(place.server), waiting.pop(workload_id)
            hold = Hold(
                NOW + number + request.hold_seconds, GPU, request.gpu_count, request.cpu_millis, request.memory_bytes
            )
            servers[on] = _given_back(servers[on], hold, sign=-1)
            holds[on].append(hold)
    return found[0], median(found[1:]), max(found[1:])


def _held(request: Request, now: float) -> Hold:
    until = now + request.hold_seconds
    return Hold(until, GPU, request.gpu_count, request.cpu_millis, request.memory_bytes)


def _running(server: ServerCapacity, rng: random.Random) -> list[Hold]:
    taken = GPUS_PER_SERVER - server.gpus_free[GPU]
    return [Hold(NOW + rng.randrange(60, 86_400), GPU, 1, 4_000, 16 * GI) for _ in range(taken)]


def _given_back(server: ServerCapacity, hold: Hold, sign: int = 1) -> ServerCapacity:
    return replace(
        server,
        gpus_free={GPU: server.gpus_free[GPU] + sign * hold.gpus},
        cpu_free=server.cpu_free + sign * hold.cpu_millis,
        memory_free=server.memory_free + sign * hold.memory_bytes,
    )


def report(name: str, waiting: int, small: Measured, large: Measured) -> None:
    print(f"{name}: {waiting:,} waiting")
    for it in (small, large):
        scanned = f"; scan {it.scan_rate:,.0f}/s, {it.rate / it.scan_rate:,.0f} times slower" if it.scan_rate else ""
        memory = f"{it.peak_mib:.1f} MiB at peak"
        print(f"  {it.servers:>5,} servers: {it.rate:>9,.0f} decisions/s, {it.placed:,} placed, {memory}{scanned}")
    print(f"  cost of one decision, {large.servers:,} against {small.servers:,} servers: {small.rate / large.rate:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description="decisions per second of app.placement.plan")
    parser.add_argument("--quick", action="store_true", help="small fleets and few runs: figures for a glance only")
    scale = QUICK if parser.parse_args().quick else FULL
    rng = random.Random(7)  # noqa: S311  the same fleets and queues every time, nothing secret
    fleets = [fleet(count, rng) for count in (scale.small, scale.large)]
    mixed, scattered = mixed_queue(scale.waiting, rng), scattered_queue(scale.waiting, rng)
    usual = [measure(mixed, snapshot, scale.runs) for snapshot in fleets]
    report("mixed shapes", scale.waiting, *usual)
    report("all shapes different", scale.waiting, *(measure(scattered, it, 3, with_scan=False) for it in fleets))
    first, usually, slowest = ticks(mixed, fleets[1], scale.runs * 10)
    print(
        f"{scale.waiting:,} waiting, {scale.large:,} servers, ten reservations: first plan {first:.2f} s; "
        f"after one arrival and one end {usually * 1000:.1f} ms, {slowest * 1000:.1f} ms at most"
    )
    ratio = usual[1].rate / (usual[1].scan_rate or 1)
    print(f"plan against scan at {usual[1].servers:,} servers, same placements: {ratio:,.0f} times faster")
    return 0


if __name__ == "__main__":
    sys.exit(main())
