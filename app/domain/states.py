"""Status, phase, reason: the one place that says which states exist and which may follow which.

Status is the contract with users (six values). Phase is finer and is for display and filters. Reason says why a
state holds; its sentence is worded in `app.domain.wording`. The API, the panel, the store and the log use these
enums as they are. `docs/lifecycle.md` is printed from this module by `app.domain.lifecycle_doc`.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What a caller may build on. The values are the ones of the product's specification."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL_STATUSES

    @property
    def meaning(self) -> str:
        return _STATUS_MEANINGS[self]


TERMINAL_STATUSES = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TIMEOUT})

_STATUS_MEANINGS = {
    Status.PENDING: "accepted; waiting for GPUs, or placed and not yet executing",
    Status.RUNNING: "the container is executing",
    Status.COMPLETED: "the container ended by itself; its exit code is recorded, zero or not",
    Status.FAILED: "it could not be brought to its own end",
    Status.CANCELLED: "someone cancelled it and the cluster has confirmed that nothing of it runs",
    Status.TIMEOUT: "it ran longer than its run limit and was stopped",
}


class Phase(StrEnum):
    """Finer than status. STOPPING and UNKNOWN keep the status they came from."""

    QUEUED = "queued"
    CREATING = "creating"
    INITIALIZING = "initializing"
    SUSPENDED = "suspended"
    RESUMING = "resuming"
    RUNNING = "running"
    STOPPING = "stopping"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    @property
    def meaning(self) -> str:
        return _PHASE_MEANINGS[self]

    @property
    def statuses(self) -> frozenset[Status]:
        """The statuses under which this phase may appear."""
        return _PHASE_STATUSES[self]


_LIVE = frozenset({Status.PENDING, Status.RUNNING})
_PENDING = frozenset({Status.PENDING})

_PHASE_STATUSES: dict[Phase, frozenset[Status]] = {
    Phase.QUEUED: _PENDING,
    Phase.CREATING: _PENDING,
    Phase.INITIALIZING: _PENDING,
    Phase.SUSPENDED: _PENDING,
    Phase.RESUMING: _PENDING,
    Phase.RUNNING: frozenset({Status.RUNNING}),
    Phase.STOPPING: _LIVE,
    Phase.UNKNOWN: _LIVE,
    Phase.COMPLETED: frozenset({Status.COMPLETED}),
    Phase.FAILED: frozenset({Status.FAILED}),
    Phase.CANCELLED: frozenset({Status.CANCELLED}),
    Phase.TIMED_OUT: frozenset({Status.TIMEOUT}),
}

_PHASE_MEANINGS = {
    Phase.QUEUED: "waits for a server with free GPUs",
    Phase.CREATING: "a server is chosen; the Kubernetes Job is being created",
    Phase.INITIALIZING: "the pod exists: image pull, volumes, start",
    Phase.SUSPENDED: "suspended by a person; takes no GPU",
    Phase.RESUMING: "resumed by a person; waits for GPUs again",
    Phase.RUNNING: "the container is executing",
    Phase.STOPPING: "being stopped; the cluster has not confirmed it yet",
    Phase.UNKNOWN: "its server or its cluster does not answer",
    Phase.COMPLETED: "ended by itself",
    Phase.FAILED: "ended in error",
    Phase.CANCELLED: "cancelled, and nothing of it runs",
    Phase.TIMED_OUT: "stopped at its run limit",
}

TERMINAL_PHASES: dict[Status, Phase] = {
    Status.COMPLETED: Phase.COMPLETED,
    Status.FAILED: Phase.FAILED,
    Status.CANCELLED: Phase.CANCELLED,
    Status.TIMEOUT: Phase.TIMED_OUT,
}

WAITING_PHASES = frozenset({Phase.QUEUED, Phase.RESUMING})

_ENDS = frozenset(TERMINAL_PHASES.values())

# From a phase to the phases that may follow it. A return to QUEUED is an infrastructure retry.
TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.QUEUED: frozenset({Phase.CREATING, Phase.SUSPENDED, Phase.FAILED, Phase.CANCELLED}),
    Phase.CREATING: frozenset({Phase.INITIALIZING, Phase.RUNNING, Phase.STOPPING, Phase.UNKNOWN, Phase.QUEUED}) | _ENDS,
    Phase.INITIALIZING: frozenset({Phase.RUNNING, Phase.STOPPING, Phase.UNKNOWN, Phase.QUEUED}) | _ENDS,
    Phase.SUSPENDED: frozenset({Phase.RESUMING, Phase.CANCELLED, Phase.FAILED}),
    Phase.RESUMING: frozenset({Phase.CREATING, Phase.SUSPENDED, Phase.FAILED, Phase.CANCELLED}),
    Phase.RUNNING: frozenset({Phase.STOPPING, Phase.UNKNOWN, Phase.QUEUED}) | _ENDS,
    Phase.STOPPING: frozenset({Phase.QUEUED, Phase.SUSPENDED}) | _ENDS,
    Phase.UNKNOWN: frozenset({Phase.CREATING, Phase.INITIALIZING, Phase.RUNNING, Phase.STOPPING, Phase.QUEUED}) | _ENDS,
    **{end: frozenset() for end in _ENDS},
}


class Reason(StrEnum):
    """Why a state holds. The sentence for people is made in `app.domain.wording`."""

    # waiting
    SUBMITTED = "submitted"
    WAITING_FOR_GPUS = "waiting_for_gpus"
    WAITING_FOR_CPU_OR_MEMORY = "waiting_for_cpu_or_memory"
    BEHIND_RESERVATION = "behind_reservation"
    MAKING_ROOM = "making_room"
    OVER_QUOTA = "over_quota"
    NO_USABLE_SERVER = "no_usable_server"
    DRIVER_TOO_OLD = "driver_too_old"
    NO_MATCHING_GPU = "no_matching_gpu"
    NEVER_FITS = "never_fits"
    BACKING_OFF = "backing_off"
    HELD = "held"
    JOB_NOT_CREATED = "job_not_created"
    # under way
    PLACED = "placed"
    STARTING = "starting"
    PULLING_IMAGE = "pulling_image"
    EXECUTING = "executing"
    CANCEL_REQUESTED = "cancel_requested"
    SUSPEND_REQUESTED = "suspend_requested"
    SERVER_UNREACHABLE = "server_unreachable"
    CLUSTER_UNREACHABLE = "cluster_unreachable"
    # ends
    EXITED = "exited"
    CANCELLED_BY_USER = "cancelled_by_user"
    SUSPENDED = "suspended"
    RUN_TIMEOUT = "run_timeout"
    START_TIMEOUT = "start_timeout"
    QUEUE_TIMEOUT = "queue_timeout"
    OUT_OF_MEMORY = "out_of_memory"
    IMAGE_INVALID = "image_invalid"
    IMAGE_PULL_FAILED = "image_pull_failed"
    CONFIGURATION_ERROR = "configuration_error"
    START_ERROR = "start_error"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_LOST = "node_lost"
    NODE_REFUSED = "node_refused"
    POD_DELETED = "pod_deleted"
    JOB_DELETED = "job_deleted"
    JOB_REFUSED = "job_refused"
    VOLUME_REMOVED = "volume_removed"

    @property
    def is_infrastructure(self) -> bool:
        """True where the fault lies with a server or the cluster, so that another try may do better."""
        return self in _INFRASTRUCTURE

    @property
    def meaning(self) -> str:
        return _REASON_MEANINGS[self]


_INFRASTRUCTURE = frozenset({Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST, Reason.NODE_REFUSED})

_REASON_MEANINGS = {
    Reason.SUBMITTED: "accepted; not yet looked at",
    Reason.WAITING_FOR_GPUS: "no server has enough free GPUs",
    Reason.WAITING_FOR_CPU_OR_MEMORY: "a server has the GPUs free, but not the CPU or memory",
    Reason.BEHIND_RESERVATION: "GPUs that it could have are kept for a workload that goes before it",
    Reason.MAKING_ROOM: "workloads that are preempted for it are being stopped; it gets their GPUs",
    Reason.OVER_QUOTA: "its project may not use so many GPUs more, or only with preemptible workloads",
    Reason.NO_USABLE_SERVER: "every server that is large enough is closed to new work",
    Reason.DRIVER_TOO_OLD: "no server's driver runs the CUDA version of the image",
    Reason.NO_MATCHING_GPU: "no server has GPUs of the kind that it asks for",
    Reason.NEVER_FITS: "no server is large enough, free or not",
    Reason.BACKING_OFF: "an attempt failed for no fault of its own; another server is tried after a pause",
    Reason.HELD: "a person suspended it; it takes no GPU until it is resumed",
    Reason.JOB_NOT_CREATED: "the cluster takes neither its Job nor its pod yet (a quota); tried until the start limit",
    Reason.PLACED: "a server is chosen; its Job is being created",
    Reason.STARTING: "its pod is being started",
    Reason.PULLING_IMAGE: "its server is fetching the image",
    Reason.EXECUTING: "its container is executing",
    Reason.CANCEL_REQUESTED: "a cancel was asked for; the cluster has not confirmed it yet",
    Reason.SUSPEND_REQUESTED: "a suspend was asked for; the cluster has not confirmed yet that it has stopped",
    Reason.SERVER_UNREACHABLE: "its server does not answer",
    Reason.CLUSTER_UNREACHABLE: "its cluster does not answer, or is no longer in the settings",
    Reason.EXITED: "its container ended by itself",
    Reason.CANCELLED_BY_USER: "it was cancelled",
    Reason.SUSPENDED: "of an attempt: it was suspended; once it is resumed there is another one",
    Reason.RUN_TIMEOUT: "it ran longer than `timeoutSeconds`",
    Reason.START_TIMEOUT: "it did not execute within `startTimeoutSeconds`",
    Reason.QUEUE_TIMEOUT: "it found no server within `queueTimeoutSeconds`",
    Reason.OUT_OF_MEMORY: "it was killed for using more memory than its limit",
    Reason.IMAGE_INVALID: "the image's name can't be used",
    Reason.IMAGE_PULL_FAILED: "the image could not be fetched",
    Reason.CONFIGURATION_ERROR: "its container could not be set up",
    Reason.START_ERROR: "its command could not be started",
    Reason.EVICTED: "its server or the cluster put it out",
    Reason.PREEMPTED: "it makes, or made, room for another workload; a preemptible one then waits again",
    Reason.NODE_LOST: "its server was lost",
    Reason.NODE_REFUSED: "its server did not admit it",
    Reason.POD_DELETED: "its pod was deleted by somebody",
    Reason.JOB_DELETED: "its Job was deleted by somebody",
    Reason.JOB_REFUSED: "the cluster refused its Job, or the Job failed before it had a pod",
    Reason.VOLUME_REMOVED: "a volume that it mounts is no longer there for its organization",
}


class InvalidTransitionError(AssertionError):
    """A decision asked for a phase that may not follow the present one: a defect in this program, not in its input."""


def check_transition(old: Phase, new: Phase) -> None:
    """Raise `InvalidTransitionError` unless `new` equals `old` or may follow it."""
    if new != old and new not in TRANSITIONS[old]:
        msg = f"phase {new} may not follow {old}"
        raise InvalidTransitionError(msg)
