"""A cluster in memory that a test drives: Jobs and pods as values, each verb may be made to fail.

Honest where it matters to a reconciler: a Job's name is taken once, a delete names the uid and takes the pods along in
its own time, a pod that carries our finalizer stays until it is released. Left out: time, scheduling, watches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from app.cluster.cluster_clock import ClusterClock
from app.cluster.port import (
    ClusterError,
    ConflictError,
    EventKind,
    JobSpec,
    Kind,
    Listing,
    LogGoneError,
    LogRange,
    Observed,
    RefusedError,
    WatchEvent,
)
from app.cluster.projection import choose_pod, only_of
from app.domain.observed import ObservedJob, ObservedNode, ObservedPod, Terminated

Hook = Callable[[str], object]


def _nothing(_: str) -> None:
    """No boundary is watched."""


@dataclass
class FakeCluster:
    """`created` names every Job that ever came to be. `boundary` is called before and after each verb acts.

    `meanwhile` is what somebody else does, once, while our next call of a verb is on its way.
    """

    clock: ClusterClock = field(default_factory=ClusterClock)
    nodes: dict[str, ObservedNode] = field(default_factory=dict)
    jobs: dict[str, ObservedJob] = field(default_factory=dict)
    pods: dict[str, ObservedPod] = field(default_factory=dict)
    specs: dict[str, JobSpec] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    boundary: Hook = _nothing
    meanwhile: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    _failures: dict[str, list[ClusterError]] = field(default_factory=dict)
    everywhere: bool = False  # whether Jobs of all namespaces are listed
    _serial: int = 0

    def fail(self, where: str, *errors: ClusterError) -> None:
        """The next calls raise these: `where` is a verb, or `after <verb>` for one that has acted by then."""
        self._failures.setdefault(where, []).extend(errors)

    def heal(self) -> None:
        """No call fails any more."""
        self._failures.clear()

    # the port

    async def create_job(self, spec: JobSpec) -> ObservedJob:
        await self._begin("create_job")
        job = self.jobs.get(spec.job_name)
        if job is None:
            self._serial += 1
            job = ObservedJob(
                f"job-{self._serial}",
                spec.job_name,
                str(spec.workload_id),
                spec.attempt,
                installation=spec.installation,
                server=spec.server,
                gpu_resource=spec.gpu_resource,
                namespace=spec.namespace,
            )
            self.jobs[job.name] = job
            self.specs[job.name] = spec
            self.created.append(job.name)
        elif (job.workload_id, job.attempt) != (str(spec.workload_id), spec.attempt):
            raise ConflictError(f"job {job.name} exists and isn't ours")
        self._end("create_job")
        return job

    async def delete_job(self, name: str, uid: str, namespace: str = "") -> None:
        await self._begin("delete_job")
        if (job := self.jobs.get(name)) and (job.namespace or "gpuyard") == (namespace or "gpuyard"):
            if job.uid != uid:
                raise ConflictError(f"job {name} has another uid")
            del self.jobs[name]
        self._end("delete_job")

    async def find(
        self, job_name: str, job_uid: str = "", namespace: str = ""
    ) -> tuple[ObservedJob | None, ObservedPod | None]:
        await self._begin("find")
        job, where = self.jobs.get(job_name), namespace or "gpuyard"
        pods = (p for p in self.pods.values() if (p.job_name, p.namespace) == (job_name, where))
        found = only_of(job_uid, job if job and (job.namespace or "gpuyard") == where else None, pods)
        self._end("find")
        return found

    async def limit_run(self, pod: ObservedPod, seconds: int) -> None:
        await self._begin("limit_run")
        if now := self.pods.get(pod.uid):
            lower = min(seconds, now.run_limit_seconds or seconds)
            self.pods[pod.uid] = replace(now, run_limit_seconds=lower)
        self._end("limit_run")

    async def release_pod(self, pod: ObservedPod) -> None:
        await self._begin("release_pod")
        if now := self.pods.get(pod.uid):
            self.pods[pod.uid] = replace(now, is_held=False)
            self._collect(pod.uid)
        self._end("release_pod")

    async def delete_pod(self, pod: ObservedPod) -> None:
        await self._begin("delete_pod")
        self.pods.pop(pod.uid, None)
        self._end("delete_pod")

    async def read_log(self, pod: ObservedPod, part: LogRange) -> AsyncGenerator[bytes, None]:
        if not part.follow:  # who follows does it beside everything else: nothing hangs on it
            await self._begin("read_log")
        now = self.pods.get(pod.uid)
        if now is None:
            raise RefusedError(404, "NotFound", f"pod {pod.name} not found")
        if now.is_over and now.deletion_requested_at is not None:
            raise LogGoneError("unable to retrieve container logs")
        yield b"2026-11-30T12:00:00.000000001Z the log of " + pod.job_name.encode() + b"\n"
        if not part.follow:
            self._end("read_log")

    async def list_all(self, kind: Kind) -> Listing:
        await self._begin("list_all")
        return Listing(self.items(kind), "1")

    async def watch(
        self, kind: Kind, resource_version: str, opened: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[WatchEvent, None]:
        await self._begin(f"watch {kind}")
        opened()
        for _ in range(0):
            yield WatchEvent(EventKind.BOOKMARK, resource_version)

    async def ping(self) -> None:
        await self._begin("ping")

    async def check(self, organizations: Collection[str] = ()) -> tuple[str, ...]:  # noqa: ARG002
        await self._begin("check")
        return ()

    # what the test asks and does

    def items(self, kind: Kind) -> tuple[Observed, ...]:
        held: dict[Kind, dict[str, ObservedNode] | dict[str, ObservedJob] | dict[str, ObservedPod]] = {
            Kind.NODES: self.nodes,
            Kind.JOBS: {name: job for name, job in self.jobs.items() if self._is_listed(job)},
            Kind.PODS: self.pods,
        }
        return tuple(held[kind].values())

    def _is_listed(self, job: ObservedJob) -> bool:
        return self.everywhere or job.namespace in ("", "gpuyard")

    def pod_of(self, job_name: str) -> ObservedPod | None:
        return choose_pod(pod for pod in self.pods.values() if pod.job_name == job_name)

    def start_pod(self, job_name: str, at: datetime) -> None:
        """The Job's pod is bound and the kubelet has seen it."""
        spec = self.specs[job_name]
        pod = ObservedPod(
            f"pod-of-{job_name}",
            f"{job_name}-abcde",
            spec.namespace or "gpuyard",
            job_name,
            spec.server,
            "Pending",
            pod_started_at=at,
            run_limit_seconds=spec.start_limit_seconds + spec.run_limit_seconds,
            is_held=True,
            gpu_requests=((spec.gpu_resource, spec.gpu_count),),
            cpu_millis=spec.cpu_millis,
            memory_bytes=spec.memory_bytes,
        )
        self.pods[pod.uid] = pod

    def change_pod(self, job_name: str, **changes: object) -> None:
        pod = self.pod_of(job_name)
        assert pod is not None
        self.pods[pod.uid] = replace(pod, **changes)  # type: ignore[arg-type]

    def run_container(self, job_name: str, at: datetime) -> None:
        self.change_pod(job_name, phase="Running", running_since=at, gpus=("GPU-1",))

    def end_container(self, job_name: str, at: datetime, code: int = 0, reason: str = "") -> None:
        """By itself, or since its pod is being deleted; the Job, while there is one, takes note of it."""
        pod = self.pod_of(job_name)
        assert pod is not None
        end = Terminated(code, reason or ("Error" if code else "Completed"), "", pod.running_since, at)
        phase = "Failed" if code else "Succeeded"
        self.change_pod(job_name, phase=phase, terminated=end, running_since=None)
        if job := self.jobs.get(job_name):
            failed = {"failure": "BackoffLimitExceeded"} if code else {"is_complete": True}
            self.jobs[job_name] = replace(job, **failed)
        self._collect(pod.uid)

    def stop_orphans(self, at: datetime) -> None:
        """The kubelets end the pods of deleted Jobs: killed where the container ran, gone where it never did."""
        for pod in [pod for pod in self.pods.values() if pod.job_name not in self.jobs and not pod.is_over]:
            self.change_pod(pod.job_name, deletion_requested_at=at)
            if pod.running_since is not None:
                self.end_container(pod.job_name, at, 137)
            else:
                self.change_pod(pod.job_name, phase="Failed")

    def lose_pod(self, job_name: str) -> None:
        pod = self.pod_of(job_name)
        assert pod is not None
        del self.pods[pod.uid]

    def _collect(self, uid: str) -> None:
        """An ended pod without its Job goes once nothing holds it."""
        pod = self.pods[uid]
        if pod.job_name not in self.jobs and pod.is_over and not pod.is_held:
            del self.pods[uid]

    def collect(self) -> None:
        """The garbage collector: ended pods of deleted Jobs."""
        for uid in list(self.pods):
            self._collect(uid)

    async def _begin(self, verb: str) -> None:
        self.calls[verb] += 1
        if somebody_acts := self.meanwhile.pop(verb, None):
            await somebody_acts()
        self._raise_next(verb)
        self.boundary(f"before {verb}")

    def _end(self, verb: str) -> None:
        self.boundary(f"after {verb}")
        self._raise_next(f"after {verb}")

    def _raise_next(self, where: str) -> None:
        if errors := self._failures.get(where):
            raise errors.pop(0)
