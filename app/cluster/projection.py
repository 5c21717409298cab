"""The cluster as it was last seen: nodes, pods that hold capacity, our Jobs and their pods.

Written by the watch loops (`watches`) and, after a create, by the reconciler; read by placement and reconcilers, all on
one event loop, so nothing here awaits. It may be behind the cluster: an absence that something is decided on must be
confirmed with `ClusterPort.find`. Of strangers' pods only those are kept that hold capacity of a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.cluster.labels import workload_of
from app.cluster.port import Kind, Observed
from app.domain.observed import ObservedJob, ObservedNode, ObservedPod

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_MAX_FORGOTTEN = 1000


@dataclass(frozen=True)
class Change:
    """Something looks different now. `name` is the object's; `workload_id` is None for what isn't ours.

    An empty `name` says that the kind has been listed for the first time.
    """

    kind: Kind
    name: str
    workload_id: str | None = None
    affects_capacity: bool = False
    namespace: str = field(default="", compare=False)  # of a pod


@dataclass
class WatchHealth:
    """How one watch loop fares. Times are of the clock that the loop was given, None before the first."""

    synced: bool = False
    last_event_at: float | None = None
    last_error: str = ""
    failed_at: float | None = None
    failures: int = 0  # in a row, until watching works again
    skipped: int = 0  # objects that could not be understood

    @property
    def is_failing(self) -> bool:
        """Whether nothing came since the last failure. A list may have come, before watching shows that it works."""
        return self.failures > 0 and (self.failed_at or 0.0) >= (self.last_event_at or 0.0)


def choose_pod(pods: Iterable[ObservedPod]) -> ObservedPod | None:
    """Of an attempt's pods the one that counts, in whatever order they come: one that isn't over, else the newest."""
    return max(pods, key=lambda pod: (not pod.is_over, pod.pod_started_at or _LONG_AGO, pod.uid), default=None)


def only_of(
    job_uid: str, job: ObservedJob | None, pods: Iterable[ObservedPod]
) -> tuple[ObservedJob | None, ObservedPod | None]:
    """The Job of that uid and its pod; those of another Job that has its name are left out. Any Job without a uid."""
    is_other = job is not None and job_uid and job.uid != job_uid
    of_it = (pod for pod in pods if not job_uid or pod.job_uid in ("", job_uid))
    return None if is_other else job, choose_pod(of_it)


@dataclass
class Projection:
    """`namespace` is where our Jobs live that name none; `everywhere`: there may be Jobs of ours in others too.

    What has a Job's name in another namespace isn't that Job, whatever its labels say.
    """

    namespace: str
    changed: Callable[[Change], None] = lambda _: None
    health: dict[Kind, WatchHealth] = field(default_factory=lambda: {kind: WatchHealth() for kind in Kind})
    everywhere: bool = False
    _nodes: dict[str, ObservedNode] = field(default_factory=dict)
    _pods: dict[str, ObservedPod] = field(default_factory=dict)
    _bound: dict[str, ObservedPod] = field(default_factory=dict)
    _pods_of_job: dict[str, set[str]] = field(default_factory=dict)
    _jobs: dict[str, ObservedJob] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)  # uids of Jobs we know from our own create only
    _forgotten: dict[str, None] = field(default_factory=dict)  # uids of Jobs seen deleted, the last ones

    @property
    def synced(self) -> bool:
        """Whether every kind was listed once. Before that, an absence here means nothing at all."""
        return all(health.synced for health in self.health.values())

    def forget_health(self) -> None:
        """Take what is seen for old: every kind must be listed again."""
        self.health.update({kind: WatchHealth() for kind in Kind})

    @property
    def nodes(self) -> Mapping[str, ObservedNode]:
        return self._nodes

    def covers(self, namespace: str) -> bool:
        """Whether Jobs of that namespace are seen here at all: not those from before a setting was changed."""
        return self.everywhere or namespace in ("", self.namespace)

    def observe(
        self, job_name: str, job_uid: str = "", namespace: str = ""
    ) -> tuple[ObservedJob | None, ObservedPod | None]:
        """The Job and its pod. With `job_uid`, another Job of that name and its pods are absent."""
        where = namespace or self.namespace
        pods = (self._pods[uid] for uid in self._pods_of_job.get(job_name, ()))
        there = (pod for pod in pods if pod.namespace == where)
        return only_of(job_uid, self._jobs.get(f"{where}/{job_name}"), there)

    def job_places(self) -> set[tuple[str, str]]:
        """Namespace and name of our Jobs, and of those of our pods whose Job may be gone."""
        jobs = {(job.namespace or self.namespace, job.name) for job in self._jobs.values()}
        pods = (self._pods[uid] for uids in self._pods_of_job.values() for uid in uids)
        return jobs | {(pod.namespace, pod.job_name) for pod in pods}

    def bound_pods(self) -> Iterable[ObservedPod]:
        """Every pod that holds capacity of a node, ours or not."""
        return self._bound.values()

    def remember_job(self, job: ObservedJob) -> None:
        """Note a Job that was just created, so that nobody misses it before the watch tells of it."""
        known = self._jobs.get(self._key(job))
        if job.uid in self._forgotten or (known and known.uid == job.uid):
            return
        self._jobs[self._key(job)] = job
        self._written.add(job.uid)

    def begin_list(self, kind: Kind) -> None:
        """Call before a listing of `kind` is asked for: it can't know what is created from now on."""
        if kind is Kind.JOBS:
            self._written.clear()

    def replace(self, kind: Kind, items: Iterable[Observed]) -> None:
        """Take over a complete listing: what it lacks is gone, except a Job that was created meanwhile."""
        kept: set[str] = set()
        for item in items:
            self.put(item)
            kept.add(self._key(item))
        for known in [item for key, item in self._of(kind).items() if key not in kept]:
            if known.uid not in self._written:
                self.drop(known)

    def put(self, item: Observed) -> None:
        """Take over the present state of one object."""
        match item:
            case ObservedNode():
                self._put_node(item)
            case ObservedPod():
                self._put_pod(item)
            case ObservedJob():
                self._put_job(item)

    def drop(self, item: Observed) -> None:
        """One object is gone."""
        match item:
            case ObservedNode():
                self._drop_node(item)
            case ObservedPod():
                if known := self._forget_pod(item.uid):
                    self._tell_pod(known, None)
            case ObservedJob():
                self._drop_job(item)

    def _of(self, kind: Kind) -> Mapping[str, Observed]:
        of_kind: dict[Kind, Mapping[str, Observed]] = {
            Kind.NODES: self._nodes,
            Kind.PODS: self._pods,
            Kind.JOBS: self._jobs,
        }
        return of_kind[kind]

    def _put_node(self, node: ObservedNode) -> None:
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = node
            self.changed(Change(Kind.NODES, node.name, affects_capacity=True))

    def _drop_node(self, node: ObservedNode) -> None:
        known = self._nodes.get(node.name)
        if known and known.uid == node.uid:  # another of that name may have come since
            del self._nodes[node.name]
            self.changed(Change(Kind.NODES, node.name, affects_capacity=True))

    def _put_job(self, job: ObservedJob) -> None:
        known = self._jobs.get(self._key(job))
        if known and known.uid != job.uid and known.uid in self._written:
            return  # news of an earlier Job of that name; ours of the same name is younger
        self._written.discard(job.uid)
        if known != job:
            self._jobs[self._key(job)] = job
            self.changed(Change(Kind.JOBS, job.name, workload_of(job.name)))

    def _drop_job(self, job: ObservedJob) -> None:
        self._forgotten[job.uid] = None
        if len(self._forgotten) > _MAX_FORGOTTEN:
            del self._forgotten[next(iter(self._forgotten))]
        known = self._jobs.get(self._key(job))
        if known and known.uid == job.uid:
            del self._jobs[self._key(job)]
            self._written.discard(job.uid)
            self.changed(Change(Kind.JOBS, job.name, workload_of(job.name)))

    def _put_pod(self, pod: ObservedPod) -> None:
        known = self._pods.get(pod.uid)
        if known == pod:
            return
        self._forget_pod(pod.uid)
        holds, ours = pod.holds_capacity, self._is_ours(pod)
        if holds or ours:
            self._pods[pod.uid] = pod
        if holds:
            self._bound[pod.uid] = pod
        if ours:
            self._pods_of_job.setdefault(pod.job_name, set()).add(pod.uid)
        self._tell_pod(known, pod)

    def _forget_pod(self, uid: str) -> ObservedPod | None:
        pod = self._pods.pop(uid, None)
        self._bound.pop(uid, None)
        if pod and (siblings := self._pods_of_job.get(pod.job_name)):
            siblings.discard(uid)
            if not siblings:
                del self._pods_of_job[pod.job_name]
        return pod

    def _is_ours(self, pod: ObservedPod) -> bool:
        return bool(pod.job_name) and (self.everywhere or pod.namespace == self.namespace)

    def _tell_pod(self, old: ObservedPod | None, new: ObservedPod | None) -> None:
        """Of strangers' pods only what they take matters to anybody."""
        pod = new or old
        if pod is None:
            return
        affects_capacity = _footprint(old) != _footprint(new)
        ours = self._is_ours(pod)
        if ours or affects_capacity:
            workload_id = workload_of(pod.job_name) if ours else None
            self.changed(Change(Kind.PODS, pod.name, workload_id, affects_capacity, pod.namespace))

    def _key(self, item: Observed) -> str:
        match item:
            case ObservedPod():
                return item.uid
            case ObservedJob():
                return f"{item.namespace or self.namespace}/{item.name}"
        return item.name


def _footprint(pod: ObservedPod | None) -> tuple[object, ...] | None:
    """What the pod takes of which node; None where it takes nothing."""
    if pod is None or not pod.holds_capacity:
        return None
    return pod.node, pod.gpu_requests, pod.cpu_millis, pod.memory_bytes
