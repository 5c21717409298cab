"""How long jobs wait because of the order in which they are taken: Philly's arrivals on a pool of identical GPUs.

`make bench-queue TRACES=DIR` (SEEDS=5); DIR holds philly/. "ours" is the product's own `Planner`, called whenever a job
comes or ends: its order, its ten reservations, one server that has all the GPUs, so that where a job goes is no
question here. EASY is the same planner with the order of coming and one reservation: backfill as most schedulers do it
(Mu'alem and Feitelson, 2001). "fits" is the order of coming without reservations: whatever fits is started. A run's
limit is known, its run time isn't; nobody is stopped at a limit, preempted, or of a project.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
import time
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from uuid import UUID

from app.domain.server import ServerId
from app.placement.calendar import Hold
from app.placement.line import Key, aged_area
from app.placement.plan import Outlook, Planner
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from bench._philly import HOUR, Job, jobs, read

GPU, SERVER = "nvidia.com/gpu", ServerId("pool")
POOLS = (128, 112)
LARGE = 8  # GPUs


def in_order_of_coming(request: Request) -> float:
    return request.queued_at.timestamp()


@dataclass(frozen=True)
class Policy:
    name: str
    key: Key
    reservations: int


OURS, EASY = Policy("ours", aged_area, 10), Policy("EASY", in_order_of_coming, 1)
POLICIES = (OURS, EASY, Policy("fits", in_order_of_coming, 0))


class Simulation:
    """One pool, one sequence of jobs; `waits` are in seconds, by job."""

    def __init__(self, sequence: Sequence[Job], gpus: int, policy: Policy) -> None:
        self._jobs, self._gpus = sequence, gpus
        self._planner, self._reservations = Planner(policy.key), policy.reservations
        self._free = gpus
        self._running: list[tuple[float, int, Hold]] = []  # by their end
        self._holds: list[Hold] = []  # by their limit
        self._queue: dict[UUID, Request] = {}
        self.waits = [0.0] * len(sequence)

    def run(self) -> list[float]:
        coming = 0
        while coming < len(self._jobs) or self._running:
            arrival = self._jobs[coming].at if coming < len(self._jobs) else float("inf")
            now = min(arrival, self._running[0][0] if self._running else float("inf"))
            while self._running and self._running[0][0] <= now:
                self._end()
            while coming < len(self._jobs) and self._jobs[coming].at <= now:
                self._come(coming)
                coming += 1
            if self._queue and self._free:
                self._start(now)
        return self.waits

    def _come(self, number: int) -> None:
        job = self._jobs[number]
        came, id_ = datetime.fromtimestamp(job.at, UTC), UUID(int=number)
        self._queue[id_] = Request(id_, "pool", job.gpus, 0, 0, came, run_seconds=job.limit, hold_seconds=job.limit)

    def _end(self) -> None:
        *_, hold = heapq.heappop(self._running)
        self._free += hold.gpus
        del self._holds[bisect_left(self._holds, hold)]

    def _start(self, now: float) -> None:
        all_gpus = {GPU: self._gpus}
        server = ServerCapacity("pool", "pool", 0, 0, 0, 0, {GPU: self._free}, all_gpus, all_gpus)
        outlook = Outlook(now=now, holds={SERVER: self._holds}, reservations=self._reservations)
        for id_ in self._planner.plan(self._queue.values(), Snapshot((server,)), outlook).placements:
            del self._queue[id_]
            job = self._jobs[id_.int]
            hold = Hold(now + job.limit, GPU, job.gpus, 0, 0)
            self.waits[id_.int] = now - job.at
            self._free -= job.gpus
            insort(self._holds, hold)
            heapq.heappush(self._running, (now + job.run, id_.int, hold))


@dataclass(frozen=True)
class Waits:
    """Hours."""

    mean: float
    worst: float
    large: float
    slowdown: float

    @classmethod
    def of(cls, sequence: Sequence[Job], waits: Sequence[float]) -> Waits:
        pairs = list(zip(sequence, waits, strict=True))
        slowdown = mean(max(1.0, (wait + job.run) / max(job.run, 10.0)) for job, wait in pairs)
        large = mean(wait for job, wait in pairs if job.gpus >= LARGE)
        return cls(mean(waits) / HOUR, max(waits) / HOUR, large / HOUR, slowdown)


def measure(policy: Policy, sequences: Sequence[Sequence[Job]], gpus: int) -> list[Waits]:
    began = time.perf_counter()
    found = [Waits.of(it, Simulation(it, gpus, policy).run()) for it in sequences]
    seconds = (time.perf_counter() - began) / len(found)
    print(
        f"{policy.name:6} {gpus:4} GPUs: mean {mean(it.mean for it in found):5.2f} h, "
        f"worst {mean(it.worst for it in found):5.1f} h ({max(it.worst for it in found):.1f} in the worst seed), "
        f"of at least {LARGE} GPUs {mean(it.large for it in found):5.2f} h, "
        f"slowdown {mean(it.slowdown for it in found):5.1f}; {seconds:.0f} s a run",
        flush=True,
    )
    return found


def compare(sequences: Sequence[Sequence[Job]], gpus: int) -> float:
    """Prints how ours stands to EASY; returns the ratio of the mean waits."""
    found = {policy.name: measure(policy, sequences, gpus) for policy in POLICIES}
    ours, easy = found["ours"], found["EASY"]
    ratio = mean(it.mean for it in ours) / mean(it.mean for it in easy)
    worst = mean(it.worst for it in ours) / mean(it.worst for it in easy)
    worst_seed = max(it.worst for it in ours) / max(it.worst for it in easy)
    large = mean(it.large for it in ours) / mean(it.large for it in easy)
    print(
        f"ours to EASY on {gpus}: mean wait {ratio:.2f}, worst {worst:.2f} (worst seed {worst_seed:.2f}), "
        f"mean of the large {large:.2f}"
    )
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description="waits by order and reservations, on Philly's arrivals")
    parser.add_argument("--traces", type=Path, default=Path(), help="the folder that holds philly/")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the first 3,000 jobs of one seed: a glance only")
    given = parser.parse_args()
    try:
        arrivals, runs = read(given.traces)
    except OSError as error:
        print(f"not run: {error.strerror}: {error.filename}; give the traces' folder with --traces")
        return 0
    if given.quick:
        arrivals = arrivals[:3000]
    seeds = range(1, 2 if given.quick else given.seeds + 1)
    chances = [random.Random(seed) for seed in seeds]  # noqa: S311  the same jobs every time, nothing secret
    sequences = [jobs(arrivals, runs, rng) for rng in chances]
    ratios = [compare(sequences, gpus) for gpus in POOLS]
    print(f"ratio: {max(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
