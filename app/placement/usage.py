"""What projects have used of late: GPU-seconds, each weighing half as much after every half-life."""

from __future__ import annotations

from math import exp2, log
from typing import NamedTuple

from app.placement.timeline import Moment


class Run(NamedTuple):
    gpus: int
    start: Moment
    end: Moment


def decayed(run: Run, now: Moment, half_life: float) -> float:
    """What the run weighs now: the integral of its GPUs, each moment by its age."""
    seconds = half_life / log(2)
    return run.gpus * seconds * (_weight(now - run.end, half_life) - _weight(now - run.start, half_life))


def faded(amount: float, seconds: float, half_life: float) -> float:
    """What an amount weighs so many seconds later."""
    return amount * _weight(seconds, half_life)


def _weight(age: float, half_life: float) -> float:
    return exp2(-max(age, 0.0) / half_life)
