"""A small fleet and the app at work on it, for the model test: both coherent, both without I/O, both without a clock.

`ModelCluster` is the truth: Jobs, pods and nodes, and what an app may ask of them. `ModelApp` holds what is stored and
what is only in memory; it decides with the product's own lifecycle, plan, projection and claims. What it knows of the
cluster is as old as its last `catch_up`, kind by kind, except where the product confirms an absence.

Left out: a kubelet that forgets an executed container's times (test_retry has it), sidecars, foreign pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from app.cluster.port import Kind, Observed
from app.cluster.projection import Projection
from app.domain import requests
from app.domain.cleanup import decide_cleanup
from app.domain.errors import ConflictError
from app.domain.events import event_between, event_of
from app.domain.lifecycle import (
    Action,
    CreateJob,
    Decision,
    DeleteJob,
    LimitRun,
    ReleasePod,
    TakeLog,
    decide,
    decide_waiting,
    is_to_be_confirmed,
    place,
    request_cancel,
)
from app.domain.observed import Observation, ObservedJob, ObservedNode, ObservedPod, Terminated
from app.domain.preemption import preempt
from app.domain.server import ServerId
from app.domain.workload import Attempt, EventType, NewEvent, Workload, job_name
from app.placement.plan import Place, plan
from app.placement.request import Request
from app.placement.snapshot import take_snapshot
from app.reconcile.claims import Claims
from tests.domain.builders import POLICY, RUN_LIMIT, START_LIMIT, a_job, a_pod, at

GPU_RESOURCE, GPUS_PER_NODE = "nvidia.com/gpu", 2
NODES = ("gpu-1", "gpu-2", "gpu-3", "gpu-4")
POOL = "acme"
JOB_SLACK = 3600
_EXECUTED_ENDS = {0: "Completed", 1: "Error", 137: "OOMKilled", 143: "Error"}


def a_node(name: str, *, is_ready: bool = True) -> ObservedNode:
    gpus = ((GPU_RESOURCE, GPUS_PER_NODE),)
    return ObservedNode(name, name, is_ready, False, (), (), POOL, 64_000, 2**40, gpus, gpus)


class ModelCluster:
    """Pods by the name of their Job: each Job has one at most, as backoffLimit 0 makes it."""

    def __init__(self) -> None:
        self.seconds = 0
        self.nodes = {name: a_node(name) for name in NODES}
        self.jobs: dict[str, ObservedJob] = {}
        self.pods: dict[str, ObservedPod] = {}
        self.gpus: dict[str, tuple[str, int]] = {}  # what a Job's pod will take of which node
        self.had_pod: set[str] = set()
        self.rewritten: set[str] = set()
        self.made_at: dict[str, int] = {}
        self.late: set[str] = set()  # started past the start limit, so that less of the run limit is left
        self.created: Counter[str] = Counter()
        self.executions: Counter[str] = Counter()
        self.ran: dict[str, tuple[int, int, int]] = {}  # began, ended, exit code of a container that executed
        self.finished: dict[str, int] = {}  # when a container ended first, executed or not

    # what the app asks

    def create(self, name: str, workload: Workload, attempt: Attempt) -> ObservedJob:
        if name not in self.jobs:
            self.created[name] += 1
            self.made_at[name] = self.seconds
            uid = f"{name}-{self.created[name]}"
            self.jobs[name] = a_job(uid=uid, name=name, workload_id=str(workload.id), attempt=attempt.number)
            self.gpus[name] = (attempt.server, workload.spec.resources.gpu_count)
        return self.jobs[name]

    def delete_job(self, name: str, uid: str) -> None:
        if name in self.jobs and self.jobs[name].uid == uid:
            del self.jobs[name]
            self.delete_pod(name)

    def limit_run(self, pod: ObservedPod, seconds: int) -> None:
        if now := self.pods.get(pod.job_name):
            self.pods[pod.job_name] = replace(now, run_limit_seconds=min(seconds, now.run_limit_seconds or seconds))

    def release(self, pod: ObservedPod) -> None:
        if pod.job_name in self.pods:
            self.change(pod.job_name, is_held=False)
            self._collect(pod.job_name)

    # what happens by itself

    def pass_time(self, seconds: int) -> None:
        self.seconds += seconds
        for name, pod in list(self.pods.items()):
            limit, began = pod.run_limit_seconds, pod.pod_started_at
            if self.is_live(name) and limit and began and (at(self.seconds) - began).total_seconds() >= limit:
                self.end(name, 137, reason="DeadlineExceeded")

    def make_pod(self, name: str) -> None:
        server, count = self.gpus[name]
        self.had_pod.add(self.jobs[name].uid)
        self.pods[name] = a_pod(
            uid=f"pod-of-{self.jobs[name].uid}",
            name=f"{name}-x",
            job_name=name,
            node=server,
            pod_started_at=at(self.seconds),
            gpu_requests=((GPU_RESOURCE, count),),
        )

    def start(self, name: str) -> None:
        self.executions[name] += 1
        if self.seconds - self.made_at[name] > START_LIMIT:
            self.late.add(name)
        self.change(name, phase="Running", waiting_reason="", running_since=at(self.seconds))

    def end(self, name: str, code: int, **changes: object) -> None:
        """The pod is over; where its container executed, with that exit code."""
        began = self.pods[name].running_since
        if began is not None:
            self.ran.setdefault(name, (int((began - at(0)).total_seconds()), self.seconds, code))
            end = Terminated(code, _EXECUTED_ENDS[code], "", began, at(self.seconds))
            changes = {"terminated": end, "running_since": None, **changes}
        if began is not None or "terminated" in changes:
            self.finished.setdefault(name, self.seconds)
        phase = "Failed" if code or began is None else "Succeeded"
        self.change(name, **{"phase": phase, **changes})
        self._settle_job(name)
        self._collect(name)

    def delete_pod(self, name: str) -> None:
        if name in self.pods:
            if self.pods[name].deletion_requested_at is None:
                self.change(name, deletion_requested_at=at(self.seconds))
            self._collect(name)

    def force_delete(self, name: str) -> None:
        """The object goes at once, finalizer and all; a Job that is still there has failed with it."""
        pod = self.pods.pop(name)
        if name in self.jobs and not pod.is_over:
            self.jobs[name] = replace(self.jobs[name], failure="BackoffLimitExceeded")

    def kill(self, name: str) -> None:
        """The kubelet carries out a deletion."""
        if self.pods[name].running_since:
            self.end(name, 143)
        else:
            lost = Terminated(137, "ContainerStatusUnknown", "could not be located", None, None)
            self.end(name, 137, terminated=lost)

    def change(self, name: str, **changes: object) -> None:
        self.pods[name] = replace(self.pods[name], **changes)  # type: ignore[arg-type]

    def _settle_job(self, name: str) -> None:
        if job := self.jobs.get(name):
            failed = self.pods[name].phase == "Failed"
            self.jobs[name] = replace(job, is_complete=not failed, failure="BackoffLimitExceeded" if failed else "")

    def _collect(self, name: str) -> None:
        pod = self.pods[name]
        if pod.is_over and pod.deletion_requested_at and not pod.is_held:
            del self.pods[name]

    # what is true

    def is_live(self, name: str) -> bool:
        """Its kubelet can still do something about it."""
        pod = self.pods.get(name)
        return pod is not None and not pod.is_over and self.nodes[pod.node].is_ready

    def may_get_pod(self, name: str) -> bool:
        """A pod of this Job may still come to be: the Job is to be made yet, or has had none."""
        job = self.jobs.get(name)
        return job.uid not in self.had_pod if job else not self.created[name]

    def has_passed_its_deadline(self, name: str) -> bool:
        """The Job's own, which is there should everything else fail."""
        return self.seconds - self.made_at[name] > START_LIMIT + RUN_LIMIT + JOB_SLACK

    def live_pods(self) -> list[str]:
        return [name for name in self.pods if self.is_live(name)]

    def taken(self, node: str) -> dict[str, int]:
        """GPUs of the node that pods hold, by Job."""
        return {name: pod.gpu_requests[0][1] for name, pod in self.pods.items() if pod.node == node and not pod.is_over}


class ModelApp:
    """One process after another on the same store. Whatever a process only remembers is gone with `restart`."""

    def __init__(self, cluster: ModelCluster) -> None:
        self.cluster = cluster
        self.skew = 0  # our clock less the cluster's, seconds; as it was at the last answer: `ahead`, the other way
        self.rows: dict[UUID, Workload] = {}
        self.attempts: dict[UUID, list[Attempt]] = {}
        self.events: dict[UUID, list[NewEvent]] = {}
        self.restart()

    def now(self) -> datetime:
        return at(self.cluster.seconds + self.skew)

    def restart(self) -> None:
        self.projection = Projection("gpuyard")
        for kind in Kind:
            self.catch_up(kind)
        self.claims = Claims({"": self.projection})
        self.unasked: set[str] = set()  # Jobs of attempts that this process placed, not asked for yet
        for workload_id, attempts in self.attempts.items():
            for attempt in attempts:
                if attempt.ended_at is None and attempt.started_at is None:
                    self.claims.add(attempt, self.rows[workload_id])

    def catch_up(self, kind: Kind) -> None:
        self.ahead = timedelta(seconds=-self.skew)
        cluster = self.cluster
        listed: dict[Kind, Mapping[str, Observed]]
        listed = {Kind.NODES: cluster.nodes, Kind.JOBS: cluster.jobs, Kind.PODS: cluster.pods}
        self.projection.begin_list(kind)
        self.projection.replace(kind, listed[kind].values())

    # commands

    def submit(self, workload: Workload) -> None:
        self.rows[workload.id] = replace(workload, created_at=self.now())
        self.attempts[workload.id] = []
        self.events[workload.id] = [event_of(workload, EventType.SUBMITTED, self.now())]

    def cancel(self, workload_id: UUID) -> None:
        workload = self.rows[workload_id]
        if not workload.status.is_terminal:
            self._store(workload_id, request_cancel(workload, "bob", self.now()).workload, None)

    def preempt(self, workload_id: UUID) -> None:
        """For the sake of somebody who has gone by then."""
        workload, attempts = self.rows[workload_id], self.attempts[workload_id]
        if attempts and (stopping := preempt(workload, attempts[-1], workload, by_right=True, now=self.now())):
            self._store(workload_id, *stopping)

    def suspend(self, workload_id: UUID) -> None:
        with suppress(ConflictError):
            self._store(workload_id, requests.suspend(self.rows[workload_id], "bob", self.now()), None)

    def resume(self, workload_id: UUID) -> None:
        with suppress(ConflictError):
            self._store(workload_id, requests.resume(self.rows[workload_id], "bob", self.now()), None)

    # loops

    def place_all(self) -> None:
        now = self.now()
        queue = [w for w in self.rows.values() if w.waits]
        for workload in queue:
            self._store(workload.id, decide_waiting(workload, now).workload, None)
        ready = [w for w in queue if self.rows[w.id].waits and (w.not_before is None or w.not_before <= now)]
        snapshot = take_snapshot(
            self.projection.nodes.values(), self.projection.bound_pods(), self.claims.open(""), lambda node: node.pool
        )
        for workload_id, answer in plan(map(_request, ready), snapshot).answers.items():
            workload = self.rows[workload_id]
            if isinstance(answer, Place):
                placed = place(workload, answer.server, answer.gpu_resource, now)
                assert placed.attempt is not None
                self._store(workload_id, placed.workload, placed.attempt)
                self.claims.add(placed.attempt, placed.workload)
                self.unasked.add(placed.attempt.job_name)
            else:
                self._store(workload_id, replace(workload, reason=answer.reason, message=answer.message), None)

    def reconcile(self, workload_id: UUID, *, calls: int = 9, meanwhile: Callable[[], None] = lambda: None) -> None:
        """One pass over a workload. The process dies after that many calls of the cluster; `meanwhile` comes between
        what is stored and what is called.
        """
        for attempt in list(self.attempts[workload_id]):
            if attempt.ended_at is None:
                decision = self._decide(attempt)
                self._store(workload_id, decision.workload, decision.attempt)
                meanwhile()
                self._act(workload_id, attempt, decision.actions[:calls])
            elif attempt.cleaned_at is None:
                after, actions, _ = decide_cleanup(attempt, self._observe(attempt), self.now(), POLICY)
                self.attempts[workload_id][attempt.number - 1] = after
                self._act(workload_id, after, actions[:calls])

    def _decide(self, attempt: Attempt) -> Decision:
        workload, seen, now = self.rows[attempt.workload_id], self._observe(attempt), self.now()
        decision = decide(workload, attempt, seen, now, POLICY)
        if is_to_be_confirmed(attempt, decision, seen):
            return decide(workload, attempt, self._look(attempt), now, POLICY)
        return decision

    def _observe(self, attempt: Attempt) -> Observation:
        job, pod = self.projection.observe(attempt.job_name)
        is_new = not attempt.job_uid and attempt.stop_reason is None and attempt.ended_at is None
        was_there = not is_new or attempt.job_name not in self.unasked
        if (job is None and was_there) or (pod is None and attempt.pod_uid):
            return self._look(attempt)
        return self._observation(job, pod)

    def _look(self, attempt: Attempt) -> Observation:
        self.ahead = timedelta(seconds=-self.skew)
        return self._observation(self.cluster.jobs.get(attempt.job_name), self.cluster.pods.get(attempt.job_name))

    def _observation(self, job: ObservedJob | None, pod: ObservedPod | None) -> Observation:
        node = self.projection.nodes.get(pod.node) if pod else None
        return Observation(job, pod, node.is_ready if node else None, self.ahead)

    def _act(self, workload_id: UUID, attempt: Attempt, actions: tuple[Action, ...]) -> None:
        for action in actions:
            match action:
                case CreateJob():
                    self.unasked.discard(attempt.job_name)
                    job = self.cluster.create(attempt.job_name, self.rows[workload_id], attempt)
                    self.projection.remember_job(job)
                case DeleteJob(uid):
                    self.cluster.delete_job(attempt.job_name, uid)
                case LimitRun(pod, seconds):
                    self.cluster.limit_run(pod, seconds)
                case ReleasePod(pod):
                    self.cluster.release(pod)
                case TakeLog():
                    taken = replace(attempt, log_taken_at=self.now())
                    self.attempts[workload_id][attempt.number - 1] = taken

    def _store(self, workload_id: UUID, after: Workload, attempt: Attempt | None) -> None:
        """The row, the attempt and the event of one change, as one transaction writes them."""
        if event := event_between(self.rows[workload_id], after, self.now()):
            self.events[workload_id].append(event)
        self.rows[workload_id] = after
        if attempt is not None:
            self.attempts[workload_id][attempt.number - 1 : attempt.number] = [attempt]
            if attempt.ended_at is not None:
                self.claims.drop(attempt)

    # what is stored

    def live_attempts(self) -> Iterator[tuple[Workload, Attempt]]:
        for workload_id, attempts in self.attempts.items():
            yield from ((self.rows[workload_id], attempt) for attempt in attempts if attempt.ended_at is None)

    def jobs_of(self, workload_id: UUID) -> list[str]:
        return [job_name(workload_id, attempt.number) for attempt in self.attempts[workload_id]]


def _request(workload: Workload) -> Request:
    needs = workload.spec.resources
    avoid = frozenset(ServerId.parse(text) for text in workload.avoid_servers)
    queued = workload.queued_at or workload.created_at
    return Request(workload.id, POOL, needs.gpu_count, needs.cpu_millis, needs.memory_bytes, queued, avoid=avoid)
