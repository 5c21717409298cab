"""How long jobs wait because of the order in which they are taken: Philly's arrivals on a pool of identical GPUs.

`make bench-queue TRACES=DIR` (SEEDS=5 OVER=3); DIR holds philly/. "ours" is the product's own `Planner`, called
whenever a job comes or ends: its order, its ten reservations, one server that has all the GPUs, so that where a job
goes is no question here. EASY is the same planner with the order of coming and one reservation: backfill as most
schedulers do it (Mu'alem and Feitelson, 2001). "fits" is the order of coming without reservations: whatever fits is
started. A run's limit is known, its run time isn't; nobody is stopped at a limit, preempted, or of a project.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench._philly import HOUR, Job, jobs, read
from bench._pool import POLICIES, Policy, Simulation

POOLS = (128, 112)
LARGE = 8  # GPUs


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
    parser.add_argument("--over", type=float, default=3, help="limits are up to so many times the run time")
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
    sequences = [jobs(arrivals, runs, rng, given.over) for rng in chances]
    ratios = [compare(sequences, gpus) for gpus in POOLS]
    print(f"ratio: {max(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
