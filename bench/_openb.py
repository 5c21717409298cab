"""The openb trace: its servers and pods, the order in which pods arrive, and what is counted while they do."""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.placement.room import GPU, Ask, Room

MIB = 2**20
LOADS = (90, 95, 100, 110, 120, 130)
TARGET = 1.3  # arrived requests, as a part of the capacity, at which the experiment ends


@dataclass(frozen=True)
class Trace:
    rooms: list[Room]
    pods: list[Ask]

    @property
    def capacity(self) -> int:
        """In thousandths of a GPU."""
        return sum(room.gpu for room in self.rooms)

    @property
    def models(self) -> Counter[str]:
        """How many GPUs there are of each model."""
        found: Counter[str] = Counter()
        for room in self.rooms:
            found[room.model] += room.whole
        return found

    def whole_only(self) -> Trace:
        return replace(self, pods=[pod for pod in self.pods if pod.share == GPU])

    def shuffled(self, rng: random.Random) -> Trace:
        """As if the servers had other names."""
        return replace(self, rooms=rng.sample(self.rooms, len(self.rooms)))


def read(folder: Path, name: str) -> Trace:
    """Servers come in the order of their names. Raises OSError where a file is missing."""
    with (folder / "openb" / "openb_node_list_gpu_node.csv").open() as file:
        nodes = sorted(csv.DictReader(file), key=lambda row: row["sn"])
    with (folder / "openb" / f"openb_pod_list_{name}.csv").open() as file:
        pods = [pod_of(row) for row in csv.DictReader(file)]
    return Trace([_room(row) for row in nodes], pods)


def _room(row: dict[str, str]) -> Room:
    return Room(int(row["gpu"]), int(row["cpu_milli"]), int(row["memory_mib"]) * MIB, (), row["model"])


def pod_of(row: dict[str, str]) -> Ask:
    gpus, share = int(row["num_gpu"]), int(float(row["gpu_milli"] or 0))
    if gpus != 1 or not 0 < share < GPU:
        share = GPU
    models = frozenset(filter(None, (row.get("gpu_spec") or "").strip().split("|")))
    return Ask(gpus, int(row["cpu_milli"]), int(float(row["memory_mib"])) * MIB, share, models)


def arrivals(pods: Sequence[Ask], capacity: int, rng: random.Random) -> list[Ask]:
    """All of them in random order, then more drawn with replacement, or some taken out, to reach the target."""
    sequence, target = rng.sample(pods, len(pods)), TARGET * capacity
    asked = sum(pod.gpu for pod in sequence)
    while asked > target:
        asked -= sequence.pop(rng.randrange(len(sequence))).gpu
    while True:
        pod = pods[rng.randrange(len(pods))]
        asked += pod.gpu
        if asked > target:
            return sequence
        sequence.append(pod)


@dataclass
class Tally:
    """What one run counts."""

    capacity: int
    arrived: int = 0
    used: int = 0
    _allocated: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    _came: Counter[int] = field(default_factory=Counter)
    _refused: Counter[int] = field(default_factory=Counter)

    def count(self, pod: Ask, *, placed: bool) -> None:
        self.arrived += pod.gpu
        self.used += pod.gpu if placed else 0
        load = 100 * self.arrived / self.capacity
        self._allocated[round(load)].append(100 * self.used / self.capacity)
        if self.arrived <= self.capacity and pod.share == GPU:
            self._came[pod.gpus] += 1
            self._refused[pod.gpus] += not placed

    def unallocated(self, load: int) -> float:
        """Per cent of the capacity, the mean over the arrivals at which that load had arrived."""
        values = self._allocated[load]
        return 100 - sum(values) / len(values)

    def refused(self, gpus: int) -> float:
        """Per cent of the pods with so many whole GPUs that found no place, up to 100 % load."""
        return 100 * self._refused[gpus] / max(1, self._came[gpus])


def run(sequence: Sequence[Ask], capacity: int, place: Callable[[Ask], bool]) -> Tally:
    tally = Tally(capacity)
    for pod in sequence:
        tally.count(pod, placed=place(pod))
    return tally
