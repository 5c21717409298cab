"""Numbers as people read them in the sentences of this room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil

from app.domain.gpus import GpuRequirements
from app.domain.wording import gpus_wanted

_UNITS = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
NOT_SHOWN = "the cluster does not show it"  # a server on record


def no_answer(cluster: str) -> str:
    """Where a server is that can't be used, to be read after "is"; `cluster` is empty where there is only one."""
    return f"in cluster {cluster}, which does not answer" if cluster else "in a cluster that does not answer"


def not_in_settings(cluster: str) -> str:
    return f"in cluster {cluster}, which the settings do not name"


def needs(gpu_count: int, wanted: GpuRequirements) -> str:
    """The start of a sentence about a request; one GPU is on one server anyway."""
    return f"needs {gpus_wanted(gpu_count, wanted)}" + (" on one server" if gpu_count > 1 else "")


def cpu(millis: int) -> str:
    """Cores; an over-committed server has none free rather than a negative number."""
    return f"{max(millis, 0) / 1000:g}"


def memory(size: int, *, round_up: bool = False) -> str:
    """One decimal at most. What is free rounds down, what is needed up: a shortage must not read as equality."""
    size = max(size, 0)
    for suffix, unit in _UNITS:
        if size >= unit:
            tenths = -(-size * 10 // unit) if round_up else size * 10 // unit
            return f"{tenths / 10:g}{suffix}"
    return str(size)


def version(parts: Sequence[int]) -> str:
    """A driver's version as NVIDIA prints it: every part but the first has two digits at least."""
    return ".".join([*map(str, parts[:1]), *(f"{part:02}" for part in parts[1:])])


def moment(seconds: float) -> str:
    """Seconds since 1970, rounded up to the minute: a promise is not to read as earlier than it is."""
    return f"{datetime.fromtimestamp(ceil(seconds / 60) * 60, UTC):%Y-%m-%d %H:%M} UTC"


def would_start(server: str) -> str:
    return f"would start now, on {server}"


def promised(server: str, seconds: float) -> str:
    """Goes on where a sentence says why a workload waits."""
    return f"; it starts on {server} by {moment(seconds)} at the latest, unless something goes before it"


def making_room(server: str) -> str:
    return f"gets GPUs on {server} of workloads that are preempted for it, once they have stopped"


def kept(server: str, lacking: str) -> str:
    """The same where nothing can be promised. `lacking` is what pods of others have to give back."""
    return f"; {server} is kept for it, and it starts there once pods that are not GPUYard's give back {lacking}"


def listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
