"""One workload's attempts against the cluster: load → decide → apply.

Runs one at a time per workload. It alone calls the cluster for a workload, so a cancel can't overtake a create.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.clock import Clock
from app.cluster.brake import HeldBackError
from app.cluster.port import (
    ClusterPort,
    ConflictError,
    JobSpec,
    NotSetUpError,
    RefusedError,
    UnavailableError,
    VolumeMount,
)
from app.cluster.projection import Projection
from app.domain import wording
from app.domain.cleanup import decide_cleanup
from app.domain.contact import lose_contact, regain_contact
from app.domain.lifecycle import (
    POD_RECHECK_SECONDS,
    Action,
    CreateJob,
    DeleteJob,
    LimitRun,
    Policy,
    ReleasePod,
    SecureLog,
    TakeLog,
    decide,
    is_to_be_confirmed,
    miss_volumes,
    note_obstacle,
    refuse,
)
from app.domain.observed import Observation, ObservedJob, ObservedPod
from app.domain.states import Reason
from app.domain.volumes import missing_volumes
from app.domain.workload import Attempt, Workload
from app.reconcile.clusters import Cluster
from app.reconcile.recent import Known, Recent
from app.reconcile.writing import DecisionWriter
from app.store import gpus, people, volumes
from app.store.gpu_failures import tell_gpu_failures
from app.store.writes import save_cleanup

_log = structlog.get_logger(__name__)


class JobRefusedError(Exception):
    """The API server will not have the attempt's Job. A refusal of anything else says nothing about the attempt."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class VolumesRemovedError(Exception):
    """The attempt has no Job, and what it should mount is no longer there."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


@dataclass(frozen=True)
class JobReconciler:
    cluster: Cluster
    clock: Clock
    policy: Policy
    recent: Recent
    writer: DecisionWriter
    take_log: Callable[[Attempt], None]  # told of every ended attempt whose log is not stored
    secure_log: Callable[[Attempt, ObservedPod], Awaitable[None]]
    installation: str = ""
    told_of_a_lack: Callable[[], None] = lambda: None  # when a Job has to wait for an operator
    _slugs: dict[UUID, str] = field(default_factory=dict)  # of organizations: they never change
    _unasked: set[str] = field(default_factory=set)  # Jobs of attempts placed just now: certainly not made yet

    @property
    def port(self) -> ClusterPort:
        return self.cluster.port

    @property
    def projection(self) -> Projection:
        return self.cluster.projection

    def expect(self, attempt: Attempt) -> None:
        """An attempt was placed by this process: its first look needs no confirmation."""
        self._unasked.add(attempt.job_name)

    def forget(self) -> None:
        """Another process may have worked until now."""
        self._unasked.clear()

    async def reconcile(self, workload_id: UUID) -> datetime | None:
        """Bring one workload a step on, as far as it is in this cluster; returns when to look again at the latest."""
        known = await self.recent.get(workload_id)
        if known is None:
            return None
        wakes: list[datetime | None] = []
        for attempt in known.attempts:
            if attempt.cluster != self.cluster.name:
                continue
            if known.is_live(attempt):
                wakes.append(await self._follow(known, attempt))
            elif attempt.ended_at is not None and self.cluster.contact.lost is None:
                wakes.append(await self._clean(known, attempt))
        return min((wake for wake in wakes if wake is not None), default=None)

    async def _follow(self, known: Known, attempt: Attempt) -> datetime | None:
        """While the cluster does not answer it isn't asked either: all is looked at again once it does."""
        lost = self.cluster.contact.lost
        if lost is None:
            return await self._advance(known, attempt)
        why = wording.out_of_contact(self.cluster.name, lost.since)
        now = self.clock.now()
        stored = await self.writer.write(known, attempt, lose_contact(known.workload, attempt, why), now)
        return now if stored is None else None

    async def _advance(self, known: Known, attempt: Attempt) -> datetime | None:
        now = self.clock.now()
        seen = await self._with_gpus(attempt, await self._observe(attempt))
        decision = decide(known.workload, attempt, seen, now, self.policy)
        if is_to_be_confirmed(attempt, decision, seen):
            seen = await self._with_gpus(attempt, await self._look(attempt))
            decision = decide(known.workload, attempt, seen, now, self.policy)
        stored = await self.writer.write(known, attempt, regain_contact(decision), now)
        if stored is None:
            return now
        if seen.pod is not None and seen.pod.unhealthy_gpus:
            await self._tell_of_gpus(stored.workload, seen.pod)
        try:
            await self._act(known.workload, attempt, decision.actions)
        except JobRefusedError as error:  # the attempt ends, with the server's words
            refused = refuse(stored.workload, attempt, error.message, now, self.policy)
            await self.writer.write(stored, attempt, refused, now)
            return now
        except VolumesRemovedError as error:
            await self.writer.write(
                stored, attempt, miss_volumes(stored.workload, attempt, error.names, now, self.policy), now
            )
            return now
        except UnavailableError as error:  # nobody's verdict: say why the Job is still missing, and try again
            after = decision.attempt or attempt
            if not (isinstance(error, HeldBackError) and stored.workload.reason is Reason.JOB_NOT_CREATED):
                await self.writer.write(stored, after, note_obstacle(stored.workload, after, error.message), now)
            if isinstance(error, NotSetUpError):
                self.told_of_a_lack()
            raise
        return decision.wake_at

    async def _observe(self, attempt: Attempt) -> Observation:
        """What is seen of the attempt. An absence that something would be decided on is confirmed with the API.

        So is that of every Job which may have been asked for, by an earlier process as well: it may have come, run and
        been deleted by somebody unseen.
        """
        if attempt.job_uid or attempt.ended_at is not None or attempt.stop_reason is not None:
            self._unasked.discard(attempt.job_name)
        was_there = attempt.job_name not in self._unasked
        if was_there and not self.projection.covers(attempt.namespace):
            return await self._look(attempt)
        job, pod = self.projection.observe(attempt.job_name, attempt.job_uid, attempt.namespace)
        if (job is None and was_there) or (pod is None and (attempt.pod_uid or self._wants_a_pod(attempt, job))):
            return await self._look(attempt)
        return self._observation(attempt, job, pod)

    async def _with_gpus(self, attempt: Attempt, seen: Observation) -> Observation:
        """The pod with its GPUs: of its own status, and where the kubelet writes none there, as node agents told."""
        pod = seen.pod
        if pod is None or pod.gpus or attempt.gpus or (pod.running_since is None and pod.terminated is None):
            return seen
        return replace(seen, pod=replace(pod, gpus=await gpus.held_by(attempt.workload_id, attempt.number)))

    async def _tell_of_gpus(self, workload: Workload, pod: ObservedPod) -> None:
        """The workload goes on: it may not be hurt."""
        failed = dict.fromkeys(pod.unhealthy_gpus, wording.UNHEALTHY_BY_PLUGIN)
        if not workload.status.is_terminal and await tell_gpu_failures(workload, failed, self.clock.now()):
            self.writer.bus.wake_events(workload.organization_id)

    def _wants_a_pod(self, attempt: Attempt, job: ObservedJob | None) -> bool:
        """The controller makes a Job's pod at once; why it could not is told by the cluster when asked."""
        overdue = self.clock.now() >= attempt.placed_at + timedelta(seconds=POD_RECHECK_SECONDS / 2)
        return job is not None and attempt.ended_at is None and overdue

    async def _look(self, attempt: Attempt) -> Observation:
        return self._observation(attempt, *await self.port.find(attempt.job_name, attempt.job_uid, attempt.namespace))

    def _observation(self, attempt: Attempt, job: ObservedJob | None, pod: ObservedPod | None) -> Observation:
        """A Job that only has the name is nobody's of ours: neither followed nor deleted."""
        if job is not None and job.workload_id != str(attempt.workload_id):
            pod = None if pod is not None and pod.job_uid == job.uid else pod
            job = None
        return Observation(job, pod, self._node_answers(pod), self.port.clock.ahead)

    def _node_answers(self, pod: ObservedPod | None) -> bool | None:
        node = self.projection.nodes.get(pod.node) if pod is not None else None
        return node.is_ready if node is not None else None

    async def _act(self, workload: Workload, attempt: Attempt, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case CreateJob():
                    await self._create(workload, attempt)
                case DeleteJob(uid):
                    await self._delete(attempt, uid)
                case LimitRun(pod, seconds):
                    await self.port.limit_run(pod, seconds)
                case ReleasePod(pod):
                    await self.port.release_pod(pod)
                case SecureLog(pod):
                    await self.secure_log(attempt, pod)
                case TakeLog():
                    self.take_log(attempt)

    async def _create(self, workload: Workload, attempt: Attempt) -> None:
        self._unasked.discard(attempt.job_name)
        try:
            job = await self.port.create_job(await self._job_spec(workload, attempt))
        except (ConflictError, RefusedError) as error:
            raise JobRefusedError(error.message) from error
        except VolumesRemovedError:
            made = (await self._look(attempt)).job  # by an earlier try of ours, while they were there
            if made is None:
                raise
            job = made
        self.projection.remember_job(job)

    async def _mounts(self, workload: Workload) -> tuple[VolumeMount, ...]:
        mounts = workload.spec.mounts
        if not mounts:
            return ()
        known = {volume.name: volume for volume in await volumes.volumes_of(workload.organization_id)}
        if missing := missing_volumes(mounts, known):
            raise VolumesRemovedError(missing)
        return tuple(VolumeMount(known[mount.name], mount.path, mount.read_only) for mount in mounts)

    async def _job_spec(self, workload: Workload, attempt: Attempt) -> JobSpec:
        projects = await people.projects_by_id([workload.spec.project_id]) if workload.spec.project_id else {}
        spec, resources = workload.spec, workload.spec.resources
        return JobSpec(
            job_name=attempt.job_name,
            workload_id=workload.id,
            attempt=attempt.number,
            installation=self.installation,
            organization=await self._slug(workload.organization_id),
            project=projects[spec.project_id].slug if spec.project_id in projects else "",
            image=spec.image,
            command=spec.command,
            args=spec.args,
            env_vars=spec.env_vars,
            labels=spec.labels,
            mounts=await self._mounts(workload),
            shared_memory_bytes=spec.shared_memory_bytes,
            cpu_millis=resources.cpu_millis,
            memory_bytes=resources.memory_bytes,
            gpu_count=resources.gpu_count,
            gpu_resource=attempt.gpu_resource,
            server=attempt.server,
            namespace=attempt.namespace,
            run_limit_seconds=spec.timeout_seconds,
            start_limit_seconds=spec.start_timeout_seconds,
        )

    async def _slug(self, organization_id: UUID) -> str:
        if organization_id not in self._slugs:
            found = await people.organizations_by_id([organization_id])
            self._slugs[organization_id] = found[organization_id].slug
        return self._slugs[organization_id]

    async def _delete(self, attempt: Attempt, uid: str) -> None:
        try:
            await self.port.delete_job(attempt.job_name, uid, attempt.namespace)
        except ConflictError:
            _log.info("job to delete is another one by now", job=attempt.job_name, uid=uid)

    async def _clean(self, known: Known, attempt: Attempt) -> datetime | None:
        seen = await self._observe(attempt)
        after, actions, wake_at = decide_cleanup(attempt, seen, self.clock.now(), self.policy)
        await self._act(known.workload, attempt, actions)
        await save_cleanup(attempt, after)
        if after != attempt:
            self.recent.forget(known.workload.id)  # what is known here may be older than what was stored meanwhile
        return wake_at
