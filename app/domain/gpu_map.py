"""What a GPU is, at this moment, to the organization that looks at it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from uuid import UUID

from agent.report import DriverState, Health
from app.domain.agents import Freshness


class Whose(StrEnum):
    """Who has a GPU, or a part of it. Of another organization's work nobody is told whose it is."""

    OURS = "ours"
    FOREIGN = "foreign"
    HIDDEN = "hidden"


def whose(owner: UUID | None, viewer: UUID) -> Whose:
    """`owner` is the organization of the workload; None: the pod is no workload."""
    if owner is None:
        return Whose.FOREIGN
    return Whose.OURS if owner == viewer else Whose.HIDDEN


class GpuState(StrEnum):
    """In the order of legends."""

    FREE = "free"
    OURS = "ours"
    FOREIGN = "foreign"
    IN_USE = "in_use"
    CLOSED = "closed"
    WARNING = "warning"
    FAILED = "failed"
    STALE = "stale"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    GpuState.FREE: "nobody has it, and its server takes work",
    GpuState.OURS: "a workload of this organization has it, or a part of it",
    GpuState.FOREIGN: "a pod that is no workload has it",
    GpuState.IN_USE: "somebody has it; who, is not known here or not told",
    GpuState.CLOSED: "nobody has it, and its server takes no work",
    GpuState.WARNING: "it works, but not as it should",
    GpuState.FAILED: "nothing new is placed on it",
    GpuState.STALE: "its server's node agent is silent, so what it is now is not known",
    GpuState.UNKNOWN: "nothing tells what it is now",
}
_USED = ((Whose.OURS, GpuState.OURS), (Whose.FOREIGN, GpuState.FOREIGN), (Whose.HIDDEN, GpuState.IN_USE))
_UNHEALTHY = {Health.FAILED: GpuState.FAILED, Health.WARNING: GpuState.WARNING}


def doubt(freshness: Freshness, driver: DriverState) -> GpuState | None:
    """What all GPUs of a server are whose agent can't be relied on now; None: what it told holds."""
    if freshness is not Freshness.FRESH:
        return GpuState.STALE
    return None if driver in (DriverState.OK, DriverState.NO_GPU) else GpuState.UNKNOWN


def state_of(health: Health, users: Collection[Whose], *, takes_work: bool) -> GpuState:
    """Of a GPU that an agent tells of. What is wrong with it comes first; `takes_work` is its server's."""
    if health in _UNHEALTHY:
        return _UNHEALTHY[health]
    return slice_state(users, takes_work=takes_work)


def slice_state(users: Collection[Whose], *, takes_work: bool) -> GpuState:
    """Of a GPU's part, about whose health nothing is told."""
    idle = GpuState.FREE if takes_work else GpuState.CLOSED
    return next((state for who, state in _USED if who in users), idle)


def counted(total: int, healthy: int | None, free: int | None, *, takes_work: bool) -> list[GpuState]:
    """Of GPUs that are only counted; None: they are not seen."""
    if healthy is None or free is None:
        return [GpuState.UNKNOWN] * total
    healthy = min(healthy, total)
    idle = max(0, min(free, healthy))
    state = GpuState.FREE if takes_work else GpuState.CLOSED
    used, failed = healthy - idle, total - healthy
    return [GpuState.IN_USE] * used + [state] * idle + [GpuState.FAILED] * failed
