"""Samples of one device or pod, packed: some ten bytes each, many in a row of the database. Pure.

A pack begins at a moment and counts in units of its resolution: seconds in a quarter of an hour of samples as they
came (resolution 0), minutes or quarters of an hour in a day of thinned out ones. Packs are appended to each other, so
order and repetitions mean nothing: of samples at the same moment the last one counts. A missing number stays missing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any, Generic, Protocol, TypeVar

from agent.report import PodSample, Sample

QUARTER = timedelta(minutes=15)
DAY = timedelta(days=1)
AS_THEY_CAME = 0  # the resolution of packs that are not thinned out
BY_MINUTE = 60
BY_QUARTER = 900


class Sampled(Protocol):
    """Anything that was measured at a moment. `values` are the arguments of its class that follow the moment."""

    @property
    def at(self) -> datetime: ...

    @property
    def values(self) -> tuple[float | None, ...]: ...


M = TypeVar("M", bound=Sampled)


@dataclass(frozen=True, slots=True)
class Reading:
    """One device at one moment: percent, MiB, watts, degrees Celsius, MHz; None is what it would not tell."""

    at: datetime
    utilization: float | None = None
    memory_used_mib: float | None = None
    power_watts: float | None = None
    temperature: float | None = None
    sm_clock_mhz: float | None = None

    @property
    def values(self) -> tuple[float | None, ...]:
        return (self.utilization, self.memory_used_mib, self.power_watts, self.temperature, self.sm_clock_mhz)

    @classmethod
    def of(cls, sample: Sample, at: datetime) -> Reading:
        """The sample at a moment of our clock."""
        return cls(
            at,
            sample.utilization,
            sample.memory_used_mib,
            sample.power_watts,
            sample.temperature,
            sample.sm_clock_mhz,
        )


@dataclass(frozen=True, slots=True)
class PodReading:
    """One pod at one moment: cores that it used, MiB; None is what was not known."""

    at: datetime
    cpu_cores: float | None = None
    memory_mib: float | None = None

    @property
    def values(self) -> tuple[float | None, ...]:
        return (self.cpu_cores, self.memory_mib)

    @classmethod
    def of(cls, sample: PodSample, at: datetime) -> PodReading:
        """The sample at a moment of our clock."""
        return cls(at, sample.cpu_cores, sample.memory_mib)


def quarter_of(at: datetime) -> datetime:
    """The beginning, in UTC, of the quarter of an hour that the moment is in."""
    moment = at.astimezone(UTC)
    return moment.replace(minute=moment.minute - moment.minute % 15, second=0, microsecond=0)


def day_of(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def by_quarter(readings: Iterable[M]) -> dict[datetime, list[M]]:
    found: defaultdict[datetime, list[M]] = defaultdict(list)
    for reading in readings:
        found[quarter_of(reading.at)].append(reading)
    return dict(found)


@dataclass(frozen=True)
class Layout(Generic[M]):
    """How one kind of reading is packed: a record is the unit of time and each value times its scale."""

    kind: type[M]
    record: Struct
    scales: tuple[float, ...]
    none: tuple[int, ...]  # what stands for a value that is missing: the largest that there is room for

    def pack(self, begins: datetime, readings: Iterable[M], resolution: int = AS_THEY_CAME) -> bytes:
        """The readings of one pack's time, moments cut to its unit."""
        unit = max(1, resolution)
        return b"".join(
            self.record.pack(
                int((it.at - begins).total_seconds()) // unit, *map(_stored, it.values, self.none, self.scales)
            )
            for it in readings
        )

    def unpack(self, begins: datetime, data: bytes, resolution: int = AS_THEY_CAME) -> list[M]:
        """In order of time, one for each moment."""
        unit = max(1, resolution)
        latest = {units: values for units, *values in self.record.iter_unpack(data)}
        return [
            self._made(begins + timedelta(seconds=units * unit), map(_told, latest[units], self.none, self.scales))
            for units in sorted(latest)
        ]

    def thinned(self, begins: datetime, readings: Iterable[M], resolution: int) -> list[M]:
        """The mean of each `resolution` seconds, counted from `begins`. Where nothing was told, there is nothing."""
        groups: defaultdict[int, list[M]] = defaultdict(list)
        for reading in readings:
            groups[int((reading.at - begins).total_seconds()) // resolution].append(reading)
        return [
            self._made(begins + timedelta(seconds=number * resolution), means([it.values for it in groups[number]]))
            for number in sorted(groups)
        ]

    def _made(self, at: datetime, values: Iterable[float | None]) -> M:
        kind: Any = self.kind
        made: M = kind(at, *values)
        return made


# Utilization in half percents, MiB, tenths of a watt, degrees Celsius, MHz.
OF_GPU = Layout(Reading, Struct("<HBIHBH"), (2.0, 1.0, 10.0, 1.0, 1.0), (0xFF, 0xFFFFFFFF, 0xFFFF, 0xFF, 0xFFFF))
# Thousandths of a core, MiB.
OF_POD = Layout(PodReading, Struct("<HII"), (1000.0, 1.0), (0xFFFFFFFF, 0xFFFFFFFF))


def _stored(value: float | None, none: int, scale: float) -> int:
    """Cut to what there is room for: a device that tells nonsense must not keep the others' numbers out."""
    if value is None or math.isnan(value):
        return none
    return round(max(0.0, min(none - 1.0, value * scale)))


def _told(stored: int, none: int, scale: float) -> float | None:
    return None if stored == none else stored / scale


def means(rows: Sequence[tuple[float | None, ...]]) -> list[float | None]:
    """Column by column, over what is there."""
    return [mean(column) for column in zip(*rows, strict=True)]


def mean(values: Iterable[float | None]) -> float | None:
    """None of nothing: a missing sample is no zero."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None
