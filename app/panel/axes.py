"""Where an axis has its marks, and what they say: round numbers, and round moments in UTC. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY = timedelta(days=4)  # the first one after the epoch
_SECOND, _MINUTE, _HOUR, _DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_WEEK = 7 * _DAY
_STEPS = (
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14)),
)
_MONTHS = (1, 2, 3, 6, 12, 24, 60)
_DIGITS = 3


@dataclass(frozen=True)
class Unit:
    """What a value is shown in: over `divisor`, with `name` behind it. The axis reaches to `top` at least."""

    name: str
    divisor: float = 1.0
    top: float = 0.0

    def words(self, value: float) -> str:
        return f"{number(value / self.divisor)} {self.name}"


def number(value: float) -> str:
    """Three digits that count, and all of those before the point."""
    if value == 0:
        return "0"
    before = math.floor(math.log10(abs(value))) + 1
    text = f"{value:,.{max(0, min(4, _DIGITS - before))}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def round_marks(top: float, most: int = 5) -> list[float]:
    """From 0 to the first round number that is not below `top`, in steps of 1, 2 or 5 times a power of ten."""
    if not top > 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(top / most))
    step = next(n * power for n in (1, 2, 5, 10, 20) if math.ceil(top / (n * power) - 1e-9) <= most)
    return [n * step for n in range(math.ceil(top / step - 1e-9) + 1)]


def moment_marks(start: datetime, end: datetime, most: int = 5) -> list[tuple[datetime, str]]:
    """Round moments from `start` to `end`, each with as much of its name as tells it from its neighbours."""
    step = next((it for it in _STEPS if (end - start) / it <= most), None)
    if step is None:
        return [(at, f"{at:%b %Y}") for at in _months(start, end, most)]
    return [(at, _called(at, step)) for at in _every(step, start, end)]


def _every(step: timedelta, start: datetime, end: datetime) -> Iterator[datetime]:
    origin = _EPOCH + (_MONDAY if step % _WEEK == timedelta(0) else timedelta(0))
    at = origin + -(-(start - origin) // step) * step
    while at <= end:
        yield at
        at += step


def _months(start: datetime, end: datetime, most: int) -> list[datetime]:
    first, last = start.year * 12 + start.month - 1, end.year * 12 + end.month - 1
    step = next((it for it in _MONTHS if (last - first) / it <= most), _MONTHS[-1])
    found = (datetime(n // 12, n % 12 + 1, 1, tzinfo=UTC) for n in range(-(-first // step) * step, last + 1, step))
    return [at for at in found if start <= at <= end]


def _called(at: datetime, step: timedelta) -> str:
    if step >= _DAY or (at.hour, at.minute, at.second) == (0, 0, 0):
        return f"{at.day} {at:%b}"
    return f"{at:%H:%M}" if step >= _MINUTE else f"{at:%H:%M:%S}"


def thinned_labels(labels: Sequence[str], most: int = 6) -> list[tuple[int, str]]:
    """Every so many of them, with their numbers, so that there is room for each."""
    every = -(-len(labels) // most) or 1
    return [(n, label) for n, label in enumerate(labels) if n % every == 0]
