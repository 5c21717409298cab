"""Whether each project waits as long as its share promises: Philly's jobs, whose virtual clusters are 15 projects.

Run `python -m bench.fairness --traces DIR`; DIR holds philly/. All share one pool and the product's own planner, as in
`bench.queueing`; fair share counts what each used of late, with the product's half-life. A project's promise is its
jobs' mean wait alone on a fifteenth of the pool, or on as many GPUs as its largest job needs. Aim: nobody's mean wait
in the pool is over twice its promise. A promise under five minutes counts as that: who hardly ever waits alone can't
but wait in company.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from bench._philly import HOUR, Job, jobs, read
from bench._pool import FAIR, OURS, Policy, Simulation

POOL = 128
LEAST_PROMISE = 300.0  # seconds
AIM = 2.0


def by_project(sequence: Sequence[Job], policy: Policy, gpus: int) -> dict[str, float]:
    """Seconds that each project's jobs wait on the average."""
    waits = Simulation(sequence, gpus, policy).run()
    names = sorted({job.group for job in sequence})
    pairs = list(zip(sequence, waits, strict=True))
    return {name: mean(wait for job, wait in pairs if job.group == name) for name in names}


def promises(sequence: Sequence[Job]) -> dict[str, float]:
    names = sorted({job.group for job in sequence})
    share = math.ceil(POOL / len(names))
    own = {name: [job for job in sequence if job.group == name] for name in names}
    return {
        name: max(LEAST_PROMISE, by_project(its, OURS, max(share, *(job.gpus for job in its)))[name])
        for name, its in own.items()
    }


def compare(sequence: Sequence[Job]) -> float:
    """Prints a line a project; returns the largest ratio with fair share."""
    promised, shared, unshared = promises(sequence), by_project(sequence, FAIR, POOL), by_project(sequence, OURS, POOL)
    print("project   jobs GPU-days  promise  by share  ratio  no shares  (hours)")
    for name in promised:
        its = [job for job in sequence if job.group == name]
        days = sum(job.gpus * job.run for job in its) / HOUR / 24
        print(
            f"{name:8} {len(its):5} {days:8.0f} {promised[name] / HOUR:8.2f} {shared[name] / HOUR:9.2f} "
            f"{shared[name] / promised[name]:6.2f} {unshared[name] / HOUR:10.2f}",
            flush=True,
        )
    over = [name for name in promised if shared[name] > AIM * promised[name]]
    print(f"over {AIM:g} times their promise: {', '.join(over) or 'none'}")
    return max(shared[name] / promised[name] for name in promised)


def main() -> int:
    parser = argparse.ArgumentParser(description="each project's waits beside what its share promises")
    parser.add_argument("--traces", type=Path, default=Path(), help="the folder that holds philly/")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="the first 3,000 jobs: a glance only")
    given = parser.parse_args()
    try:
        arrivals, runs = read(given.traces)
    except OSError as error:
        print(f"not run: {error.strerror}: {error.filename}; give the traces' folder with --traces")
        return 0
    arrivals = arrivals[:3000] if given.quick else arrivals
    chances = [random.Random(seed) for seed in range(1, given.seeds + 1)]  # noqa: S311  the same jobs every time
    print(f"ratio: {max(compare(jobs(arrivals, runs, rng)) for rng in chances):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
