"""What pods use of processors and memory, by the counters of their control groups, of either version.

Why these files and not the kubelet's Summary API: they need no credential of the cluster, no network and no trust in
the kubelet's certificate, only a folder that is read; and a few small reads a pod instead of a document about all of
them. Numbers and names are those of https://docs.kernel.org/admin-guide/cgroup-v2.html and, for version 1, of
https://docs.kernel.org/admin-guide/cgroup-v1/. The memory is the kubelet's "working set": use less inactive_file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from agent.clock import Clock
from agent.host import pod_uid_in
from agent.look import Look, Source
from agent.report import MOST_PODS, PodSample

_MIB = 1 << 20
# Groups on the way to those of pods, for both of the kubelet's drivers: "kubepods.slice/kubepods-burstable.slice" and
# "kubepods/burstable"; where the kubelet itself has a group, as in kind, below "kubelet" or "kubelet.slice".
_ON_THE_WAY = re.compile(r"kube|burstable|besteffort")
_DEEPEST = 4
_SHORTEST_SECONDS = 0.5  # between two looks; a rate over less is mostly noise
_TOLERANCE = 1.1  # a counter and the clock are not read at the same time


@dataclass(frozen=True, slots=True)
class _Files:
    """Where a version keeps its numbers: folders of hierarchies below the root, names of files, units."""

    cpu: str
    cpu_file: str
    cpu_key: str  # empty: the file is the number
    units_per_second: int
    memory: str
    memory_file: str
    inactive_key: str


_V2 = _Files("", "cpu.stat", "usage_usec", 10**6, "", "memory.current", "inactive_file")
_V1 = _Files("cpuacct", "cpuacct.usage", "", 10**9, "memory", "memory.usage_in_bytes", "total_inactive_file")


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a pod had used at a moment of the monotonic clock; both in seconds."""

    used: float
    at: float


class PodUse:
    """Reads the groups of the pods that are `wanted`, by uid. What cannot be read is not known, and no error."""

    def __init__(
        self, folder: Path, clock: Clock, wanted: Callable[[], Collection[str]], processors: int | None = None
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._wanted = wanted
        self._most_cores = (processors or os.cpu_count() or 1) * _TOLERANCE
        self._groups: dict[str, tuple[Path, Path]] = {}
        self._marks: dict[str, _Mark] = {}

    def now(self, at: datetime) -> tuple[PodSample, ...]:
        wanted = sorted(self._wanted())[:MOST_PODS]
        if not wanted:
            self._groups, self._marks = {}, {}
            return ()
        files = _V2 if (self._folder / "cgroup.controllers").is_file() else _V1
        self._find(wanted, files)
        self._marks = {uid: mark for uid, mark in self._marks.items() if uid in self._groups}
        samples = (self._sample(uid, files, at) for uid in self._groups)
        return tuple(each for each in samples if (each.cpu_cores, each.memory_mib) != (None, None))

    def _find(self, wanted: Collection[str], files: _Files) -> None:
        """A group's place never changes, so all are looked for only where one is not known or has gone."""
        known = {uid: self._groups[uid] for uid in wanted if uid in self._groups and self._groups[uid][0].is_dir()}
        if len(known) < len(wanted):
            cpu = dict(_pods_below(self._folder / files.cpu))
            memory = cpu if files.cpu == files.memory else dict(_pods_below(self._folder / files.memory))
            known = {uid: (cpu[uid], memory[uid]) for uid in wanted if uid in cpu and uid in memory}
        self._groups = known

    def _sample(self, uid: str, files: _Files, at: datetime) -> PodSample:
        cpu, memory = self._groups[uid]
        used = _number(cpu / files.cpu_file, files.cpu_key)
        cores = None if used is None else self._cores(uid, used / files.units_per_second)
        return PodSample(uid, at, cores, _working_set(memory, files))

    def _cores(self, uid: str, used: float) -> float | None:
        """The mean since the last look. None at the first one, and where the counter began anew or jumped."""
        before, mark = self._marks.get(uid), _Mark(used, self._clock.monotonic())
        if before is not None and used >= before.used and mark.at - before.at < _SHORTEST_SECONDS:
            return None  # and the next look measures from the earlier one
        self._marks[uid] = mark
        if before is None or used < before.used:
            return None
        cores = (used - before.used) / (mark.at - before.at)
        return round(cores, 3) if cores <= self._most_cores else None


class WithPodUse:
    """A `Source`: another one's looks, and what pods used until then."""

    def __init__(self, source: Source, pods: PodUse) -> None:
        self._source = source
        self._pods = pods

    def look(self) -> Look:
        found = self._source.look()
        return replace(found, pod_samples=self._pods.now(found.at))

    def close(self) -> None:
        self._source.close()


def _pods_below(folder: Path, depth: int = 0) -> Iterator[tuple[str, Path]]:
    """Pods' groups by uid."""
    with suppress(OSError):  # gone meanwhile, or not there at all
        for entry in os.scandir(folder):
            if not entry.is_dir(follow_symlinks=False):
                continue
            if uid := pod_uid_in(entry.name):
                yield uid, Path(entry.path)
            elif depth < _DEEPEST and _ON_THE_WAY.search(entry.name):
                yield from _pods_below(Path(entry.path), depth + 1)


def _working_set(folder: Path, files: _Files) -> int | None:
    used = _number(folder / files.memory_file)
    inactive = _number(folder / "memory.stat", files.inactive_key)
    return None if used is None or inactive is None else max(0, used - inactive) // _MIB


def _number(file: Path, key: str = "") -> int | None:
    """The file's number, or that of the line with this key."""
    with suppress(OSError, ValueError, KeyError):  # the group has gone, or has no such controller
        text = file.read_text()
        return int(_lines(text)[key] if key else text)
    return None


def _lines(text: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        found[key] = value
    return found
