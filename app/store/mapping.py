"""Rows to the domain's nouns and back. Total functions; nothing here queries."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.domain.gpus import GpuRequirements
from app.domain.people import Organization, Project
from app.domain.priority import Priority
from app.domain.quota import Quota
from app.domain.states import WAITING_PHASES, Phase, Reason, Status
from app.domain.submission import fingerprint
from app.domain.volumes import Mount, Volume, VolumeKind
from app.domain.workload import Attempt, Event, EventType, NewEvent, Resources, Submission, Workload
from app.store.models import AttemptRow, EventRow, OrganizationRow, ProjectRow, VolumeRow, WorkloadRow

WAITING = [phase.value for phase in WAITING_PHASES]

_SAME_IN_SPEC = ("name", "image", "timeout_seconds", "start_timeout_seconds", "queue_timeout_seconds", "max_retries")
_SPEC_ONLY = (*_SAME_IN_SPEC, "cuda", "shared_memory_bytes", "preemptible", "project_id", "idempotency_key")
_STATE_SAME = (
    "submitted_by",
    "created_at",
    "message",
    "version",
    "attempt",
    "not_before",
    "retries_used",
    "cancel_requested_at",
    "cancelled_by",
    "started_at",
    "completed_at",
    "exit_code",
    "server",
    "held_at",
    "held_by",
    "attempts_yielded",
    "deleted_at",
    "retry_of",
    "cluster",
    "nominated_server",
)
_ATTEMPT_SAME = (
    "cluster",
    "server",
    "gpu_resource",
    "placed_at",
    "job_uid",
    "pod_name",
    "pod_uid",
    "waiting_reason",
    "waiting_message",
    "started_at",
    "finished_at",
    "exit_code",
    "termination",
    "stop_requested_at",
    "message",
    "ended_at",
    "log_taken_at",
    "cleaned_at",
    "namespace",
)
_EVENT_SAME = ("workload_id", "message", "at", "attempt", "exit_code", "server")


def _take(source: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _store(source: object, names: tuple[str, ...]) -> dict[str, Any]:
    """The same for a row."""
    values = _take(source, names)
    return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}


def storable(text: str) -> str:
    """PostgreSQL's text holds no NUL, and a container's last words may."""
    return text.replace("\0", "\ufffd")


def organization(row: OrganizationRow) -> Organization:
    return Organization(row.id, row.slug, row.name, row.gpu_workloads_enabled, row.is_default)


def project(row: ProjectRow) -> Project:
    quota = Quota(row.guaranteed_gpus, row.max_gpus)
    return Project(row.id, row.organization_id, row.slug, row.name, row.version, quota)  # type: ignore[attr-defined]


def volume(row: VolumeRow) -> Volume:
    return Volume(row.organization_id, row.name, VolumeKind(row.kind), row.source, row.read_only)  # type: ignore[attr-defined]


def workload(row: WorkloadRow) -> Workload:
    return Workload(
        id=row.id,
        organization_id=row.organization_id,  # type: ignore[attr-defined]
        spec=_spec(row),
        status=Status(row.status),
        phase=Phase(row.phase),
        reason=Reason(row.reason),
        queued_at=row.queued_at,
        avoid_servers=tuple(row.avoid_servers),
        gpus=tuple(row.gpus),
        **_take(row, _STATE_SAME),
    )


def _spec(row: WorkloadRow) -> Submission:
    process: dict[str, Any] = row.process
    return Submission(
        resources=Resources(row.gpu_count, row.cpu_millis, row.memory_bytes),
        env_vars=tuple((name, value) for name, value in process["env_vars"]),
        command=tuple(process["command"]),
        args=tuple(process["args"]),
        labels=tuple((key, value) for key, value in row.labels or ()),
        mounts=tuple(Mount(**mount) for mount in row.mounts or ()),  # type: ignore[arg-type]
        gpu_requirements=GpuRequirements.read(row.gpu_requirements or {}),
        priority=Priority(row.priority),
        **_take(row, _SPEC_ONLY),
    )


def workload_values(noun: Workload) -> dict[str, Any]:
    """All columns of a new workload."""
    spec = noun.spec
    return {
        "id": noun.id,
        "organization_id": noun.organization_id,
        "fingerprint": fingerprint(spec),
        "gpu_count": spec.resources.gpu_count,
        "cpu_millis": spec.resources.cpu_millis,
        "memory_bytes": spec.resources.memory_bytes,
        "labels": spec.labels,
        "mounts": [asdict(mount) for mount in spec.mounts],
        "gpu_requirements": spec.gpu_requirements.given() or None,
        "process": {"env_vars": spec.env_vars, "command": spec.command, "args": spec.args},
        **_store(spec, _SPEC_ONLY),
        **workload_state(noun),
    }


def workload_state(noun: Workload) -> dict[str, Any]:
    """The columns that change over a workload's life. What was told of an earlier state is news again."""
    return {
        "told_reason": "",
        "status": noun.status.value,
        "phase": noun.phase.value,
        "reason": noun.reason.value,
        "priority": int(noun.spec.priority),
        "queued_at": noun.queued_at or noun.created_at,
        "avoid_servers": list(noun.avoid_servers),
        "gpus": list(noun.gpus),
        **_store(noun, _STATE_SAME),
    }


def attempt(row: AttemptRow) -> Attempt:
    return Attempt(
        workload_id=row.workload_id,  # type: ignore[attr-defined]
        number=row.number,
        gpus=tuple(row.gpus),
        stop_reason=Reason(row.stop_reason) if row.stop_reason else None,
        reason=Reason(row.reason) if row.reason else None,
        **_take(row, _ATTEMPT_SAME),
    )


def attempt_values(noun: Attempt) -> dict[str, Any]:
    return {
        "workload_id": noun.workload_id,
        "number": noun.number,
        "gpus": list(noun.gpus),
        "stop_reason": noun.stop_reason.value if noun.stop_reason else None,
        "reason": noun.reason.value if noun.reason else None,
        **_store(noun, _ATTEMPT_SAME),
    }


def event(row: EventRow) -> Event:
    return Event(
        organization_id=row.organization_id,  # type: ignore[attr-defined]
        sequence=row.sequence,
        type=EventType(row.type),
        status=Status(row.status),
        phase=Phase(row.phase),
        reason=Reason(row.reason),
        **_take(row, _EVENT_SAME),
    )


def event_values(noun: NewEvent) -> dict[str, Any]:
    return {
        "type": noun.type.value,
        "status": noun.status.value,
        "phase": noun.phase.value,
        "reason": noun.reason.value,
        **_store(noun, _EVENT_SAME),
    }
