"""Nouns with every field set to something that is not its default."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from app.domain.gpus import GpuRequirements
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.volumes import Mount
from app.domain.workload import Attempt, Resources, Submission, Workload
from tests.clock import START

LATER = START + timedelta(seconds=1.000_001)
TEXT = "für 'alle' \"Fälle\" \\ % {} $$ \U0001f680"


def a_full_submission(project_id: UUID | None) -> Submission:
    return Submission(
        name=TEXT,
        image="registry.example:5000/team/image:tag",
        resources=Resources(gpu_count=8, cpu_millis=32_001, memory_bytes=2**41 + 1),
        timeout_seconds=2_592_000,
        start_timeout_seconds=61,
        queue_timeout_seconds=62,
        env_vars=(("A", TEXT), ("B", ""), ("A_", " x\n")),
        command=("sh", "-c", TEXT),
        args=("", "--x=1"),
        cuda="12.4",
        max_retries=2,
        labels=(("example.org/team", "vision"), ("empty", "")),
        mounts=(Mount("data", "/data/ü", read_only=True), Mount("models", "/models")),
        shared_memory_bytes=2**35 + 1,
        gpu_requirements=GpuRequirements(("H100", "A100 80GB"), 2**36, (8, 0), "1g.10gb", is_shared=True),
        priority=Priority.VERY_HIGH,
        preemptible=True,
        project_id=project_id,
        idempotency_key="key-1",
    )


def a_full_workload(id_: UUID, organization_id: UUID, project_id: UUID | None, **changes: Any) -> Workload:
    workload = Workload(
        id=id_,
        organization_id=organization_id,
        spec=a_full_submission(project_id),
        submitted_by="ada@example.org",
        created_at=START,
        status=Status.RUNNING,
        phase=Phase.STOPPING,
        reason=Reason.CANCEL_REQUESTED,
        message=TEXT,
        version=2**40,
        attempt=3,
        queued_at=LATER,
        not_before=LATER + timedelta(seconds=1),
        avoid_servers=("gpu-1", "gpu-2"),
        retries_used=2,
        attempts_yielded=1,
        nominated_server="berlin/gpu-4",
        cancel_requested_at=LATER + timedelta(seconds=2),
        cancelled_by="bob@example.org",
        started_at=LATER + timedelta(seconds=3),
        completed_at=LATER + timedelta(seconds=4),
        held_at=LATER + timedelta(seconds=5),
        held_by="eve@example.org",
        deleted_at=LATER + timedelta(seconds=6),
        retry_of=UUID(int=77),
        exit_code=0,
        server="gpu-3",
        cluster="berlin",
        gpus=("GPU-1", "GPU-2"),
    )
    return replace(workload, **changes)


def a_full_attempt(attempt: Attempt) -> Attempt:
    return replace(
        attempt,
        cluster="berlin",
        job_uid="job-uid",
        pod_name="pod-name",
        pod_uid="pod-uid",
        waiting_reason="ImagePullBackOff",
        waiting_message=TEXT,
        started_at=LATER,
        finished_at=LATER + timedelta(seconds=1),
        exit_code=0,
        termination="Completed",
        gpus=("GPU-1",),
        stop_reason=Reason.RUN_TIMEOUT,
        stop_requested_at=LATER + timedelta(seconds=2),
        reason=Reason.RUN_TIMEOUT,
        message=TEXT,
        ended_at=LATER + timedelta(seconds=3),
        log_taken_at=LATER + timedelta(seconds=5),
        cleaned_at=LATER + timedelta(seconds=4),
        namespace="gpuyard-acme",
    )
