"""Nouns and observations with readable defaults. Times are seconds after the placement, written `at(65)`.

The default story: placed at 0, the Job is created at 2, the kubelet sees the pod at 5, the image is pulled, the
container executes from 65 on. Limits are the product's defaults: 1800 s to start, 3600 s to run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.domain.lifecycle import Decision, Policy, decide
from app.domain.observed import Observation, ObservedJob, ObservedPod, Terminated
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, Resources, Submission, Workload

EPOCH = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WORKLOAD_ID = UUID("0123456789abcdef0123456789abcdef")
ORGANIZATION_ID = UUID("00000000-0000-4000-8000-00000000000a")
SERVER = "gpu-1"
GPU = "GPU-11111111-2222-3333-4444-555555555555"

START_LIMIT = 1800
RUN_LIMIT = 3600
POD_STARTED = 5
STARTED = 65
POLICY = Policy(kubelet_slack_seconds=45, retry_base_seconds=10, job_retention_seconds=24 * 3600)


def at(seconds: float) -> datetime:
    """The moment `seconds` after the placement."""
    return EPOCH + timedelta(seconds=seconds)


_SUBMISSION = Submission(
    name="train",
    image="nvidia/cuda:12.2.0-base-ubuntu22.04",
    resources=Resources(gpu_count=1, cpu_millis=4000, memory_bytes=16 * 2**30),
    timeout_seconds=RUN_LIMIT,
    start_timeout_seconds=START_LIMIT,
)
_WORKLOAD = Workload(WORKLOAD_ID, ORGANIZATION_ID, _SUBMISSION, submitted_by="ada@example.org", created_at=at(-60))
_ATTEMPT = Attempt(WORKLOAD_ID, 1, SERVER, "nvidia.com/gpu", placed_at=at(0))
_JOB = ObservedJob("job-1", _ATTEMPT.job_name, str(WORKLOAD_ID), 1)
_POD = ObservedPod("pod-1", f"{_ATTEMPT.job_name}-x7k2p", "gpuyard", _ATTEMPT.job_name, SERVER, "Pending", is_held=True)


def a_submission(**changes: Any) -> Submission:
    return replace(_SUBMISSION, **changes)


def a_workload(*, max_retries: int = 0, queue_limit: int | None = None, **changes: Any) -> Workload:
    """Accepted and waiting, unless `changes` say otherwise."""
    spec = a_submission(max_retries=max_retries, queue_timeout_seconds=queue_limit)
    return replace(_WORKLOAD, **{"spec": spec, **changes})


def a_placed_workload(**changes: Any) -> Workload:
    placed = {"phase": Phase.CREATING, "reason": Reason.PLACED, "attempt": 1, "server": SERVER}
    return a_workload(**{**placed, **changes})


def a_starting_workload(**changes: Any) -> Workload:
    return a_placed_workload(**{"phase": Phase.INITIALIZING, "reason": Reason.STARTING, **changes})


def a_running_workload(**changes: Any) -> Workload:
    executing = {
        "status": Status.RUNNING,
        "phase": Phase.RUNNING,
        "reason": Reason.EXECUTING,
        "started_at": at(STARTED),
    }
    return a_placed_workload(**{**executing, **changes})


def cancelled_at(seconds: float, workload: Workload) -> Workload:
    return replace(workload, cancel_requested_at=at(seconds), cancelled_by="bob@example.org")


def an_attempt(**changes: Any) -> Attempt:
    """Written before anything of it exists in the cluster."""
    return replace(_ATTEMPT, **changes)


def a_created_attempt(**changes: Any) -> Attempt:
    return an_attempt(**{"job_uid": "job-1", "pod_uid": "pod-1", "pod_name": _POD.name, **changes})


def an_executing_attempt(**changes: Any) -> Attempt:
    return a_created_attempt(**{"started_at": at(STARTED), **changes})


def stopped_for(reason: Reason, seconds: float, attempt: Attempt) -> Attempt:
    return replace(attempt, stop_reason=reason, stop_requested_at=at(seconds))


def a_job(**changes: Any) -> ObservedJob:
    return replace(_JOB, **changes)


def a_pod(**changes: Any) -> ObservedPod:
    """Seen by the kubelet, its container waits."""
    return replace(_POD, **{"pod_started_at": at(POD_STARTED), "run_limit_seconds": START_LIMIT + RUN_LIMIT, **changes})


def a_waiting_pod(reason: str, message: str = "") -> ObservedPod:
    return a_pod(waiting_reason=reason, waiting_message=message)


def a_running_pod(**changes: Any) -> ObservedPod:
    return a_pod(**{"phase": "Running", "running_since": at(STARTED), "gpus": (GPU,), **changes})


def an_end(
    exit_code: int = 0,
    reason: str = "",
    finished: float | None = 600,
    started: float | None = STARTED,
    message: str = "",
) -> Terminated:
    """The container's end; `reason` is what containerd says of such a code."""
    word = reason or ("Completed" if exit_code == 0 else "Error")
    started_at = None if started is None else at(started)
    return Terminated(exit_code, word, message, started_at, None if finished is None else at(finished))


def an_ended_pod(end: Terminated, **changes: Any) -> ObservedPod:
    phase = "Succeeded" if end.exit_code == 0 else "Failed"
    return a_pod(**{"phase": phase, "terminated": end, "gpus": (GPU,), **changes})


def seen(pod: ObservedPod | None = None, *, answers: bool | None = True, **job: Any) -> Observation:
    """The Job and, where given, its pod."""
    return Observation(a_job(**job), pod, answers)


def without_job(pod: ObservedPod | None = None) -> Observation:
    return Observation(None, pod, node_answers=True)


def decided(workload: Workload, attempt: Attempt, observation: Observation, seconds: float = 700) -> Decision:
    return decide(workload, attempt, observation, at(seconds), POLICY)
