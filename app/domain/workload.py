"""The nouns: workload, attempt, event. Frozen; a change is a new value made with `dataclasses.replace`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.labels import Labels
from app.domain.priority import DEFAULT_PRIORITY, Priority
from app.domain.server import ServerId
from app.domain.states import WAITING_PHASES, Phase, Reason, Status
from app.domain.volumes import Mount

JOB_PREFIX = "gw"
_JOB_NAME = re.compile(rf"{JOB_PREFIX}-([0-9a-f]{{32}})-([0-9]{{1,6}})")
SIGNAL_BASE = 128  # POSIX shells: a process killed by signal n reports 128 + n


def job_name(workload_id: UUID, attempt: int) -> str:
    """The Kubernetes Job of one attempt. Derived, so that a repeated create meets itself."""
    return f"{JOB_PREFIX}-{workload_id.hex}-{attempt}"


def read_job_name(name: str) -> tuple[UUID, int] | None:
    """The workload and the attempt that `job_name` made the name of; None for another's."""
    found = _JOB_NAME.fullmatch(name)
    return (UUID(found[1]), int(found[2])) if found else None


@dataclass(frozen=True)
class Resources:
    """What one workload asks of a server: GPUs, slices or shares, CPU in thousandths of a core, memory in bytes."""

    gpu_count: int
    cpu_millis: int
    memory_bytes: int


@dataclass(frozen=True)
class Submission:
    """A checked request: everything in it may be stored and sent to a cluster as it is.

    `shared_memory_bytes` None leaves the size of /dev/shm to a setting of the installation. `priority` is the only part
    that may be changed later. `preemptible`: it may be stopped, and started anew, to make room for others.
    """

    name: str
    image: str
    resources: Resources
    timeout_seconds: int
    start_timeout_seconds: int
    queue_timeout_seconds: int | None = None
    env_vars: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    cuda: str | None = None
    max_retries: int = 0
    labels: Labels = ()
    mounts: tuple[Mount, ...] = ()
    shared_memory_bytes: int | None = None
    gpu_requirements: GpuRequirements = ANY_GPU
    priority: Priority = DEFAULT_PRIORITY
    preemptible: bool = False
    project_id: UUID | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Workload:
    """What was submitted, and what is true of it now. `version` grows with every guarded write.

    `server` is a name in `cluster`; `avoid_servers` names servers as ServerId writes them, and so does
    `nominated_server`: while it waits, others are preempted there for it. `held_at` while an attempt is under way: it
    is stopped for that. `attempts_yielded` were stopped for a person's wish, or ours: they are no tries.
    """

    id: UUID
    organization_id: UUID
    spec: Submission
    submitted_by: str
    created_at: datetime
    status: Status = Status.PENDING
    phase: Phase = Phase.QUEUED
    reason: Reason = Reason.SUBMITTED
    message: str = ""
    version: int = 1
    attempt: int = 0
    queued_at: datetime | None = None
    not_before: datetime | None = None
    avoid_servers: tuple[str, ...] = ()
    retries_used: int = 0
    cancel_requested_at: datetime | None = None
    cancelled_by: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    exit_code: int | None = None
    server: str = ""
    gpus: tuple[str, ...] = ()
    held_at: datetime | None = None
    held_by: str = ""
    attempts_yielded: int = 0
    deleted_at: datetime | None = None
    retry_of: UUID | None = None
    cluster: str = ""
    nominated_server: str = ""

    @property
    def succeeded(self) -> bool | None:
        """None until it has ended; True only for exit code 0 of a completed workload."""
        if not self.status.is_terminal:
            return None
        return self.status is Status.COMPLETED and self.exit_code == 0

    @property
    def signal(self) -> int | None:
        return signal_of(self.exit_code)

    @property
    def job_name(self) -> str:
        """Of the present attempt's Job; before there is one, of the first."""
        return job_name(self.id, max(1, self.attempt))

    @property
    def waits(self) -> bool:
        """True while it wants a server: no attempt of it is under way."""
        return self.phase in WAITING_PHASES

    @property
    def unplaced(self) -> Workload:
        """Without what it had of a server, as once nothing of its attempt runs."""
        return replace(self, started_at=None, server="", cluster="", gpus=())

    @property
    def queue_deadline(self) -> datetime | None:
        return queue_deadline(self.queued_at or self.created_at, self.spec.queue_timeout_seconds)


def queue_deadline(queued_at: datetime, limit_seconds: int | None) -> datetime | None:
    """When waiting for a server ends in failure; None without a limit."""
    return None if limit_seconds is None else queued_at + timedelta(seconds=limit_seconds)


def signal_of(exit_code: int | None) -> int | None:
    """The signal that ended a container, by the shell's convention; the kubelet never reports it itself."""
    return exit_code - SIGNAL_BASE if exit_code is not None and SIGNAL_BASE < exit_code <= SIGNAL_BASE + 64 else None


@dataclass(frozen=True)
class Attempt:
    """One try: one Kubernetes Job, one pod, one server.

    `stop_reason` is our intent to stop it, written before the Job is deleted. `finished_at`, `exit_code` and
    `termination` are the first terminal observation and never change afterwards. `log_taken_at` is set when its log is
    stored, or the reason why there is none; `cleaned_at` when nothing of it is left in the cluster.
    """

    workload_id: UUID
    number: int
    server: str
    gpu_resource: str
    placed_at: datetime
    job_uid: str = ""
    pod_name: str = ""
    pod_uid: str = ""
    waiting_reason: str = ""
    waiting_message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    termination: str = ""
    gpus: tuple[str, ...] = ()
    stop_reason: Reason | None = None
    stop_requested_at: datetime | None = None
    reason: Reason | None = None
    message: str = ""
    ended_at: datetime | None = None
    log_taken_at: datetime | None = None
    cleaned_at: datetime | None = None
    cluster: str = ""
    namespace: str = ""  # of its Job; empty, in rows from before it was written down: that of the settings

    @property
    def server_id(self) -> ServerId:
        return ServerId(self.server, self.cluster)

    @property
    def job_name(self) -> str:
        return job_name(self.workload_id, self.number)

    @property
    def waiting(self) -> str:
        """What the cluster last said about why the container does not execute."""
        return ": ".join(text for text in (self.waiting_reason, self.waiting_message) if text)


class EventType(StrEnum):
    """What an event says. Exactly one of an ended workload's events is ENDED."""

    SUBMITTED = "submitted"
    WAITING = "waiting"
    PLACED = "placed"
    PROGRESSED = "progressed"
    STARTED = "started"
    CANCEL_REQUESTED = "cancel_requested"
    SUSPEND_REQUESTED = "suspend_requested"
    STOPPING = "stopping"
    RETRYING = "retrying"
    ENDED = "ended"
    HELD = "held"
    RELEASED = "released"
    PRIORITIZED = "prioritized"
    DELETED = "deleted"
    RESTORED = "restored"
    GPU_FAILED = "gpu_failed"

    @property
    def meaning(self) -> str:
        return _EVENT_MEANINGS[self]


_EVENT_MEANINGS = {
    EventType.SUBMITTED: "it was accepted",
    EventType.WAITING: "why it waits is another reason than before",
    EventType.PLACED: "a server was chosen",
    EventType.PROGRESSED: "it came nearer to its start, or its server's state changed",
    EventType.STARTED: "its container executes",
    EventType.CANCEL_REQUESTED: "someone asked to cancel it",
    EventType.SUSPEND_REQUESTED: "someone asked to suspend it while an attempt was under way",
    EventType.STOPPING: "it is being stopped",
    EventType.RETRYING: "an attempt is over; another one is made",
    EventType.ENDED: "it reached its end; there is exactly one, and nothing of its state changes after it",
    EventType.HELD: "it is suspended: a person keeps it from being placed",
    EventType.RELEASED: "it was resumed, and waits for a server again",
    EventType.PRIORITIZED: "someone gave it another priority",
    EventType.DELETED: "it was taken out of the lists",
    EventType.RESTORED: "it was put back into the lists",
    EventType.GPU_FAILED: "a GPU that it has is reported as failed; it goes on, as it may not be hurt",
}


@dataclass(frozen=True)
class NewEvent:
    """A fact about to be written; the store gives it its number."""

    workload_id: UUID
    type: EventType
    status: Status
    phase: Phase
    reason: Reason
    message: str
    at: datetime
    attempt: int = 0
    exit_code: int | None = None
    server: str = ""


@dataclass(frozen=True)
class Event(NewEvent):
    """A numbered fact. `sequence` grows within the organization in commit order."""

    organization_id: UUID = field(kw_only=True)
    sequence: int = field(kw_only=True)
