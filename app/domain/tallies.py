"""Numbers of one moment about an organization's workloads and servers, whole or in groups. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.errors import InvalidInputError


class TallyType(StrEnum):
    WORKLOADS_COUNT = "workloads_count"
    GPU_ALLOCATION = "gpu_allocation"
    ALLOCATION_RATIO = "allocation_ratio"
    PENDING_TIME = "pending_time"
    TOTAL_GPUS = "total_gpus"
    READY_GPUS = "ready_gpus"
    FREE_GPUS = "free_gpus"
    ALLOCATED_GPUS = "allocated_gpus"
    IDLE_ALLOCATED_GPUS = "idle_allocated_gpus"
    TOTAL_SERVERS = "total_servers"
    READY_SERVERS = "ready_servers"
    FREE_SERVERS = "free_servers"
    ALLOCATED_SERVERS = "allocated_servers"
    IDLE_ALLOCATED_SERVERS = "idle_allocated_servers"

    @property
    def meaning(self) -> str:
        return _TALLY_MEANINGS[self]

    @property
    def groups(self) -> frozenset[TallyGroup]:
        """By what it can be grouped."""
        return _OF_WORKLOADS if self in _ABOUT_WORKLOADS else _OF_SERVERS


class TallyGroup(StrEnum):
    PROJECT = "project"
    STATUS = "status"
    PHASE = "phase"
    SUBMITTER = "submitter"
    SERVER = "server"
    CLUSTER = "cluster"
    PRODUCT = "product"

    @property
    def meaning(self) -> str:
        return _GROUP_MEANINGS[self]


_TALLY_MEANINGS = {
    TallyType.WORKLOADS_COUNT: "workloads of any status, deleted ones not counted",
    TallyType.GPU_ALLOCATION: "GPUs that the organization's own workloads have",
    TallyType.ALLOCATION_RATIO: "GPUs that its workloads have, in percent of all GPUs on record",
    TallyType.PENDING_TIME: "workloads that wait for a server, by how long they have waited",
    TallyType.TOTAL_GPUS: "GPUs on record, whatever their state",
    TallyType.READY_GPUS: "GPUs that count on servers that may be used",
    TallyType.FREE_GPUS: "GPUs that nobody has asked for, on servers that may be used",
    TallyType.ALLOCATED_GPUS: "GPUs that pods have asked for, whoever made them",
    TallyType.IDLE_ALLOCATED_GPUS: "GPUs that somebody has and that, by samples without a gap, did nothing",
    TallyType.TOTAL_SERVERS: "servers with GPUs on record",
    TallyType.READY_SERVERS: "servers with GPUs that may be used",
    TallyType.FREE_SERVERS: "servers that may be used, with no GPU asked for",
    TallyType.ALLOCATED_SERVERS: "servers with a GPU that was asked for",
    TallyType.IDLE_ALLOCATED_SERVERS: "servers where every GPU that somebody has did nothing, by samples without a gap",
}
_GROUP_MEANINGS = {
    TallyGroup.PROJECT: "slug of the project, empty for none",
    TallyGroup.STATUS: "the workload's status",
    TallyGroup.PHASE: "the workload's phase",
    TallyGroup.SUBMITTER: "who submitted the workload",
    TallyGroup.SERVER: "name of the server, empty for a workload that has none yet",
    TallyGroup.CLUSTER: "name of the cluster",
    TallyGroup.PRODUCT: "model of the server's GPUs",
}
_OF_WORKLOADS = frozenset(TallyGroup)
_OF_SERVERS = frozenset({TallyGroup.SERVER, TallyGroup.CLUSTER, TallyGroup.PRODUCT})
_ABOUT_WORKLOADS = frozenset({TallyType.WORKLOADS_COUNT, TallyType.GPU_ALLOCATION, TallyType.ALLOCATION_RATIO})
_WAITED = ((60, "below 1 min"), (300, "1 to 5 min"), (1800, "5 to 30 min"), (7200, "30 min to 2 h"))
_LONGER = "2 h and more"

Group = tuple[str, ...]


@dataclass(frozen=True)
class WorkloadFact:
    """So many workloads that are alike, and the GPUs that they asked for together."""

    count: int
    gpus: int
    holds_gpus: bool = False
    project: str = ""
    status: str = ""
    phase: str = ""
    submitter: str = ""
    server: str = ""
    cluster: str = ""
    product: str = ""


@dataclass(frozen=True)
class ServerFact:
    """One server. `idle` are those of `held` GPUs, the ones that agents know somebody to have, that did nothing."""

    server: str
    cluster: str
    product: str
    total: int
    ready: int
    free: int
    allocated: int
    is_usable: bool
    held: int = 0
    idle: int = 0


def check_groups(wanted: TallyType, by: Sequence[TallyGroup]) -> None:
    """Raises InvalidInputError for groups that it doesn't have, and for one named twice."""
    allowed = frozenset() if wanted is TallyType.PENDING_TIME else wanted.groups
    if wrong := [it for it in by if it not in allowed]:
        can = (
            f"it can be grouped by {', '.join(sorted(it.name for it in allowed))}"
            if allowed
            else "it has its own groups"
        )
        raise InvalidInputError.of("groupBy", f"{wanted.name} can't be grouped by {wrong[0].name}; {can}")
    if len(set(by)) != len(by):
        raise InvalidInputError.of("groupBy", "names the same group twice")


def tally(
    wanted: TallyType, by: Sequence[TallyGroup], workloads: Iterable[WorkloadFact], servers: Iterable[ServerFact]
) -> dict[Group, float]:
    """The number of each group, sorted; without groups there is one, of the empty group."""
    match wanted:
        case TallyType.WORKLOADS_COUNT:
            return _sum(workloads, by, lambda it: it.count)
        case TallyType.GPU_ALLOCATION:
            return _sum(workloads, by, lambda it: it.gpus if it.holds_gpus else 0)
        case TallyType.ALLOCATION_RATIO:
            return _ratios(_sum(workloads, by, lambda it: it.gpus if it.holds_gpus else 0), by, list(servers))
    return _sum(servers, by, _OF_SERVER[wanted])


_OF_SERVER: dict[TallyType, Callable[[ServerFact], int]] = {
    TallyType.TOTAL_GPUS: lambda it: it.total,
    TallyType.READY_GPUS: lambda it: it.ready,
    TallyType.FREE_GPUS: lambda it: it.free,
    TallyType.ALLOCATED_GPUS: lambda it: it.allocated,
    TallyType.IDLE_ALLOCATED_GPUS: lambda it: it.idle,
    TallyType.TOTAL_SERVERS: lambda it: it.total > 0,
    TallyType.READY_SERVERS: lambda it: it.is_usable and it.ready > 0,
    TallyType.FREE_SERVERS: lambda it: it.is_usable and it.ready > 0 and it.allocated == 0,
    TallyType.ALLOCATED_SERVERS: lambda it: it.allocated > 0,
    TallyType.IDLE_ALLOCATED_SERVERS: lambda it: it.held > 0 and it.idle == it.held,
}


def _group(fact: WorkloadFact | ServerFact, by: Sequence[TallyGroup]) -> Group:
    return tuple(str(getattr(fact, it.value)) for it in by)


def _sum(
    facts: Iterable[WorkloadFact] | Iterable[ServerFact],
    by: Sequence[TallyGroup],
    amount: Callable[..., int],
) -> dict[Group, float]:
    found: defaultdict[Group, float] = defaultdict(float)
    if not by:
        found[()] = 0.0
    for fact in facts:
        found[_group(fact, by)] += amount(fact)
    return dict(sorted(found.items()))


def _ratios(
    allocations: dict[Group, float], by: Sequence[TallyGroup], servers: Sequence[ServerFact]
) -> dict[Group, float]:
    """In percent of the GPUs that the group could have: those of its server, cluster or product where it names one."""
    places = [it for it in by if it in _OF_SERVERS]
    totals = _sum(servers, places, lambda it: it.total)
    ratios = {}
    for group, gpus in allocations.items():
        place = tuple(value for value, it in zip(group, by, strict=True) if it in _OF_SERVERS)
        if total := totals.get(place):
            ratios[group] = 100.0 * gpus / total
    return ratios


def pending_times(queued: Iterable[datetime], now: datetime) -> dict[Group, float]:
    """How many have waited how long; every step is there, in order."""
    found = {label: 0.0 for _, label in (*_WAITED, (0, _LONGER))}
    for at in queued:
        waited = (now - at).total_seconds()
        found[next((label for limit, label in _WAITED if waited < limit), _LONGER)] += 1
    return {(label,): count for label, count in found.items()}
