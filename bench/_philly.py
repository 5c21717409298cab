"""The Philly trace: when jobs came, how many GPUs they asked for, how long they ran, and what limit they were given.

Arrivals and GPU counts are those of Microsoft's Philly clusters as Gavel carries them; run times are drawn from the
published list of Philly's run times, as Gavel's own are not the real ones.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

HOUR, DAY = 3600, 86_400
MOST_GPUS = 32
LONGEST = 0.99  # of the run times; the longest hundredth is cut to that
LIMITS = (600, 1800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY, 30 * DAY)


@dataclass(frozen=True, slots=True)
class Job:
    """`limit` is what was asked for: so many times the run time, rounded up to a usual one, at most 30 days."""

    at: float
    gpus: int
    run: float
    limit: int
    group: str


def read(folder: Path) -> tuple[list[tuple[float, int, str]], list[float]]:
    """Arrivals (time, GPUs, virtual cluster) in their order, and run times. Raises OSError where a file is missing."""
    with (folder / "philly" / "philly_runtime.csv").open() as file:
        next(file)
        runs = sorted(float(line) for line in file if line.strip() and float(line) > 0)
    longest = runs[int(LONGEST * len(runs))]
    runs = [min(run, longest) for run in runs]
    traces = sorted((folder / "philly" / "gavel_msr_seed0").iterdir())
    rows = [(path.stem, line.rstrip("\n").split("\t")) for path in traces for line in path.open()]
    return sorted((float(row[-2]), int(row[-1]), group) for group, row in rows if int(row[-1]) <= MOST_GPUS), runs


def jobs(
    arrivals: list[tuple[float, int, str]], runs: list[float], rng: random.Random, most_over: float = 3
) -> list[Job]:
    """`most_over` is how many times its run time a job's limit is, at most."""
    made = []
    for at, gpus, group in arrivals:
        run = rng.choice(runs)
        limit = LIMITS[min(bisect_left(LIMITS, run * rng.uniform(1, most_over)), len(LIMITS) - 1)]
        made.append(Job(at, gpus, run, limit, group))
    return made
