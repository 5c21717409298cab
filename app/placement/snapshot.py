"""What the servers have free at one moment: the facts of nodes, pods and our own claims, added up once per plan.

Called by `app.reconcile.board`, for the scheduling loop and for whoever shows what is free. MIG slices and shared GPUs
are counted under their own resource names, whole GPUs under theirs, and nothing is added up over names. The age of a
node's report is not weighed here.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

from app.domain.cuda import Version, parse_driver
from app.domain.gpus import NO_LABELS, WHOLE, Device, GpuLabels, device_of
from app.domain.observed import ObservedNode, ObservedPod, Taint
from app.domain.server import ServerId
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration
from app.placement import counting
from app.placement.counting import Reports

_NOTHING_CLOSED: Mapping[str, str] = MappingProxyType({})
_REPELLING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class Claim:
    """What one of our attempts will take on its server; it counts until its pod is seen bound there."""

    server: str
    gpu_resource: str
    gpu_count: int
    cpu_millis: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class ServerCapacity:
    """One server. `organization` is the slug of the pool's owner; CPU in thousandths of a core, memory in bytes.

    GPU counts are per resource name: `gpus_total` is the node's capacity with unhealthy devices in it,
    `gpus_allocatable` the healthy ones. A free amount may be negative where pods ask for more than there is. What a
    name's devices are, `device` says; of the names in `shared_gpus` they are shares.
    `unusable` is empty, or says why nothing may be placed here: "cordoned", "taint team=a:NoSchedule", "DiskPressure".
    `is_closed`: by a flag of ours, which is told even to those who wait for other servers.
    `cpu_resident` and `memory_resident` is what pods without GPUs take, which mostly stay for good.
    Where its cluster is out of contact, what is told is what was on record. `gpu_note` says where the node agent counts
    other GPUs than the cluster.
    """

    name: str
    organization: str
    cpu_free: int
    cpu_total: int
    memory_free: int
    memory_total: int
    gpus_free: Mapping[str, int]
    gpus_allocatable: Mapping[str, int]
    gpus_total: Mapping[str, int]
    driver: Version | None = None
    product: str = ""
    gpu_memory_mib: int | None = None
    unusable: str = ""
    cluster: str = ""
    is_out_of_contact: bool = False
    is_closed: bool = False
    gpu_note: str = ""
    compute_capability: Version = ()
    shared_gpus: tuple[str, ...] = ()
    cpu_resident: int = 0
    memory_resident: int = 0

    @property
    def id(self) -> ServerId:
        return ServerId(self.name, self.cluster)

    def device(self, resource: str) -> Device:
        """What each device of that resource name is."""
        labels = GpuLabels(self.product, self.gpu_memory_mib, self.compute_capability, self.shared_gpus)
        return device_of(resource, labels)

    @property
    def gpus_healthy(self) -> int:
        """Whole ones."""
        return self._whole(self.gpus_allocatable)

    @property
    def gpus_free_now(self) -> int:
        """Whole GPUs that nobody has asked for."""
        return self._whole(self.gpus_free)

    def _whole(self, counts: Mapping[str, int]) -> int:
        return sum(max(0, count) for resource, count in counts.items() if self.device(resource).kind == WHOLE)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All servers of one moment, by name."""

    servers: tuple[ServerCapacity, ...] = ()

    @classmethod
    def of(cls, servers: Iterable[ServerCapacity]) -> Self:
        return cls(tuple(sorted(servers, key=lambda server: server.id)))

    def pools(self) -> dict[str, list[ServerCapacity]]:
        """The servers of each organization that has any."""
        found: defaultdict[str, list[ServerCapacity]] = defaultdict(list)
        for server in self.servers:
            found[server.organization].append(server)
        return dict(found)


def take_snapshot(
    nodes: Iterable[ObservedNode],
    bound_pods: Iterable[ObservedPod],
    unseen: Iterable[Claim],
    pool_of: Callable[[ObservedNode], str],
    *,
    cluster: str = "",
    tolerated: Collection[Toleration] = DEFAULT_TOLERATIONS,
    closed: Mapping[str, str] = _NOTHING_CLOSED,
    reports: Reports = counting.NO_AGENTS,
) -> Snapshot:
    """Add up what is free in one cluster. `unseen` holds the claims of attempts whose pod is not among `bound_pods`.

    `closed` maps the servers that are closed by a flag of ours to the words for it, which read after "is". `reports` is
    what the node agents say of their GPUs.
    """
    taken = _taken(bound_pods, unseen)
    return Snapshot.of(
        replace(
            _capacity(
                reports.counted(node),
                pool_of(node),
                taken[node.name],
                closed.get(node.name, "") or _unusable(node, tolerated) or reports.why_nothing(node),
                reports.note(node),
            ),
            cluster=cluster,
            is_closed=node.name in closed,
        )
        for node in nodes
    )


def out_of_contact(
    server: ServerId,
    organization: str,
    gpus: Mapping[str, int],
    cpu_millis: int | None,
    memory_bytes: int | None,
    why: str,
    labels: GpuLabels = NO_LABELS,
) -> ServerCapacity:
    """A server on record whose cluster does not answer: it counts by its size and takes nothing.

    `gpus` is by resource name. What is not on record, None, is taken to be enough. `why` reads after "is".
    """
    return ServerCapacity(
        name=server.name,
        organization=organization,
        cpu_free=0,
        cpu_total=sys.maxsize if cpu_millis is None else cpu_millis,
        memory_free=0,
        memory_total=sys.maxsize if memory_bytes is None else memory_bytes,
        gpus_free={},
        gpus_allocatable={},
        gpus_total=gpus,
        unusable=why,
        cluster=server.cluster,
        is_out_of_contact=True,
        product=labels.product,
        gpu_memory_mib=labels.memory_mib,
        compute_capability=labels.compute_capability,
        shared_gpus=labels.shared,
    )


@dataclass(slots=True)
class _Taken:
    cpu_millis: int = 0
    memory_bytes: int = 0
    gpus: Counter[str] = field(default_factory=Counter)
    cpu_resident: int = 0
    memory_resident: int = 0

    def add(self, cpu_millis: int, memory_bytes: int, gpus: Sequence[tuple[str, int]]) -> None:
        self.cpu_millis += cpu_millis
        self.memory_bytes += memory_bytes
        if not gpus:
            self.cpu_resident += cpu_millis
            self.memory_resident += memory_bytes
        for resource, count in gpus:
            self.gpus[resource] += count


def _taken(pods: Iterable[ObservedPod], claims: Iterable[Claim]) -> defaultdict[str, _Taken]:
    taken: defaultdict[str, _Taken] = defaultdict(_Taken)
    for pod in pods:
        # The pod's phase, not its container's end: the scheduler counts a pod until the phase is terminal.
        if not pod.is_over:
            taken[pod.node].add(pod.cpu_millis, pod.memory_bytes, pod.gpu_requests)
    for claim in claims:
        taken[claim.server].add(claim.cpu_millis, claim.memory_bytes, [(claim.gpu_resource, claim.gpu_count)])
    return taken


def _capacity(node: ObservedNode, organization: str, taken: _Taken, unusable: str, note: str) -> ServerCapacity:
    allocatable = dict(node.allocatable_gpus)
    return ServerCapacity(
        name=node.name,
        organization=organization,
        cpu_free=node.cpu_millis - taken.cpu_millis,
        cpu_total=node.cpu_millis,
        memory_free=node.memory_bytes - taken.memory_bytes,
        memory_total=node.memory_bytes,
        gpus_free={resource: count - taken.gpus[resource] for resource, count in allocatable.items()},
        gpus_allocatable=allocatable,
        gpus_total=dict(node.capacity_gpus),
        driver=parse_driver(node.driver),
        product=node.product,
        gpu_memory_mib=node.gpu_memory_mib,
        unusable=unusable,
        gpu_note=note,
        compute_capability=node.compute_capability,
        shared_gpus=node.shared_gpus,
        cpu_resident=taken.cpu_resident,
        memory_resident=taken.memory_resident,
    )


def _unusable(node: ObservedNode, tolerated: Collection[Toleration]) -> str:
    """Why the node takes no new work. The cause before its symptoms: a cordon and a lost node each bring taints too."""
    if node.is_cordoned:
        return "cordoned"
    if not node.is_ready:
        return "not ready"
    if node.pressure:
        return node.pressure[0]
    repelling = (taint for taint in node.taints if taint.effect in _REPELLING_EFFECTS)
    return next((_taint_words(t) for t in repelling if not any(it.covers(t) for it in tolerated)), "")


def _taint_words(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"taint {taint.key}{value}:{taint.effect}"
