"""Which end an attempt came to: a pure function over observed facts, first match wins (docs/lifecycle.md lists them).

Called by `app.domain.lifecycle` once the attempt is over, that is, once nothing of it runs any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain import wording
from app.domain.observed import Observation
from app.domain.quantity import format_memory
from app.domain.states import Reason, Status
from app.domain.workload import Attempt, Workload

# Words of the kubelet and the controllers (facts A7, A8), mapped once.
_POD_REASONS = {
    "Evicted": Reason.EVICTED,
    "Preempting": Reason.PREEMPTED,
    "Terminated": Reason.EVICTED,
    "NodeLost": Reason.NODE_LOST,
    "NodeShutdown": Reason.NODE_REFUSED,
    "UnexpectedAdmissionError": Reason.NODE_REFUSED,
    "NodeAffinity": Reason.NODE_REFUSED,
    "NodeName": Reason.NODE_REFUSED,
    "NodePorts": Reason.NODE_REFUSED,
    "TaintToleration": Reason.NODE_REFUSED,
    "PodOSNotSupported": Reason.NODE_REFUSED,
    "InvalidNodeInfo": Reason.NODE_REFUSED,
    "TopologyAffinityError": Reason.NODE_REFUSED,
}
_DISRUPTIONS = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "DeletionByPodGC": Reason.NODE_LOST,
}
_HOPELESS_IMAGES = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_IMAGE_TROUBLE = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}
)
START_ERRORS = frozenset({"StartError", "ContainerCannotRun"})
_CONFIGURATION_TROUBLE = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}
)
# What an attempt waits for before the kubelet has a word about it. The last is the scheduler's.
NO_JOB, NO_POD, NO_NODE = "JobNotCreated", "FailedCreate", "Unschedulable"
_WISHES = frozenset({Reason.CANCEL_REQUESTED, Reason.SUSPEND_REQUESTED})
_STOPPED = frozenset({143, 137})  # what SIGTERM and SIGKILL leave
_STAMP_MOVES = timedelta(seconds=2)  # seen on a real cluster: a second
LOST_CONTAINERS = frozenset({"ContainerStatusUnknown", "Unknown"})


@dataclass(frozen=True)
class End:
    """How one attempt ended. `app.domain.lifecycle` decides whether the workload ends with it, in `status`."""

    status: Status
    reason: Reason
    message: str


def is_hopeless_image(waiting_reason: str) -> bool:
    """True for what the kubelet would retry for ever without a chance."""
    return waiting_reason in _HOPELESS_IMAGES


def end_of(workload: Workload, attempt: Attempt, seen: Observation) -> End:
    """The end of an attempt that is over."""
    for rule in _RULES:
        if end := rule(workload, attempt, seen):
            return end
    return End(Status.FAILED, *_vanished(attempt, seen))


def _cancelled(workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    if workload.cancel_requested_at is None or not _stopped_by_a_person(workload, attempt, seen):
        return None
    return End(Status.CANCELLED, Reason.CANCELLED_BY_USER, wording.cancelled(workload.cancelled_by, attempt.exit_code))


def _suspended(workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    if workload.held_at is None or not _stopped_by_a_person(workload, attempt, seen):
        return None
    return End(Status.PENDING, Reason.SUSPENDED, wording.suspended(workload.held_by, attempt.exit_code))


def _stopped_by_a_person(workload: Workload, attempt: Attempt, seen: Observation) -> bool:
    """True unless it ended by itself before anybody asked. What is cancelled while it is suspended is cancelled."""
    asked = min(moment for moment in (workload.cancel_requested_at, workload.held_at) if moment is not None)
    return not ended_before(attempt, asked, seen, by_us=attempt.stop_reason in _WISHES)


def ended_before(attempt: Attempt, moment: datetime, seen: Observation, *, by_us: bool) -> bool:
    """True when the container ended by itself before `moment`.

    The cluster's stamps are whole seconds, cut off. Within the same second the pod's own deletion stamp decides: a
    pod that nobody had begun to delete ended by itself. That stamp moves on to the end when the grace time of an ended
    pod is set to 0, so where we had it deleted, the exit code of our signal tells as well.
    """
    finished = attempt.finished_at
    if finished is None:
        return False
    deleted = seen.pod.deletion_requested_at if seen.pod else None
    if by_us and deleted is not None and deleted <= finished:
        return False
    second = seen.there(moment).replace(microsecond=0)
    if finished != second:
        return finished < second
    was_our_signal = by_us and deleted is not None and attempt.exit_code in _STOPPED
    return not was_our_signal and (deleted is None or deleted > finished)


def _preempted(workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    if attempt.stop_reason is not Reason.PREEMPTED or _ended_by_itself(attempt, seen):
        return None
    if workload.cancel_requested_at is not None:  # after the stop, although it may have been before the end
        words = wording.cancelled(workload.cancelled_by, attempt.exit_code)
        return End(Status.CANCELLED, Reason.CANCELLED_BY_USER, words)
    return End(Status.PENDING, Reason.PREEMPTED, attempt.message)


def _run_timeout(workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    stopped = attempt.stop_reason is Reason.RUN_TIMEOUT and not _ended_by_itself(attempt, seen)
    if not stopped and not (attempt.started_at and _deadline_exceeded(seen)):
        return None
    return End(Status.TIMEOUT, Reason.RUN_TIMEOUT, wording.run_timeout(workload.spec.timeout_seconds))


def _deadline_exceeded(seen: Observation) -> bool:
    by_kubelet = seen.pod is not None and seen.pod.reason == "DeadlineExceeded"
    return by_kubelet or (seen.job is not None and seen.job.failure == "DeadlineExceeded")


def _ended_by_itself(attempt: Attempt, seen: Observation) -> bool:
    return attempt.stop_requested_at is not None and ended_before(attempt, attempt.stop_requested_at, seen, by_us=True)


def _out_of_memory(workload: Workload, attempt: Attempt, _seen: Observation) -> End | None:
    if attempt.termination != "OOMKilled":
        return None
    limit = format_memory(workload.spec.resources.memory_bytes)
    return End(Status.FAILED, Reason.OUT_OF_MEMORY, wording.out_of_memory(limit))


def _infrastructure(_workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    pod = seen.pod
    if pod is None or (attempt.stop_reason is not None and not _ended_by_itself(attempt, seen)):
        return None
    if pod.phase == "Succeeded":
        return None  # it came to its own good end, whatever happened to its server then
    reason = _POD_REASONS.get(pod.reason) or (Reason.NODE_REFUSED if pod.reason.startswith("OutOf") else None)
    if reason is Reason.NODE_REFUSED and _had_ended(attempt):
        return None
    if reason is None and pod.disruption:
        reason = _DISRUPTIONS.get(pod.disruption, Reason.EVICTED)
    if reason is None and attempt.termination in LOST_CONTAINERS and not _deadline_exceeded(seen):
        reason = _deleter(seen) if pod.deletion_requested_at else Reason.NODE_LOST
    if reason is None and _refused_without_a_word(attempt, seen):
        reason = _deleter(seen) if pod.deletion_requested_at else Reason.NODE_REFUSED
    if reason is None and attempt.finished_at and _deleted_by_somebody(attempt, seen):
        reason = _deleter(seen)
    if reason is None:
        return None
    word = pod.reason or pod.disruption or attempt.termination
    return End(Status.FAILED, reason, f"{_INFRASTRUCTURE_WORDS[reason]} {attempt.server}{_detail(word, pod.message)}")


def _had_ended(attempt: Attempt) -> bool:
    """A kubelet that starts again refuses anew what it finds, also what came to an end of its own meanwhile.

    What it stops for that is left with the code of its signal (kubernetes/kubernetes#117955).
    """
    return attempt.started_at is not None and attempt.exit_code is not None and attempt.exit_code not in _STOPPED


_INFRASTRUCTURE_WORDS = {
    Reason.EVICTED: "evicted from",
    Reason.PREEMPTED: "preempted on",
    Reason.NODE_LOST: "lost with its server",
    Reason.NODE_REFUSED: "refused by",
    Reason.POD_DELETED: "its pod was deleted by somebody on",
    Reason.JOB_DELETED: "its Job was deleted by somebody while on",
}


def _detail(word: str, message: str) -> str:
    return wording.because(": ".join(t for t in (word, message) if t))


def _refused_without_a_word(attempt: Attempt, seen: Observation) -> bool:
    pod = seen.pod
    if pod is None or pod.phase != "Failed" or attempt.exit_code is not None or _deadline_exceeded(seen):
        return False
    return not pod.init_failure or pod.deletion_requested_at is not None


def _deleter(seen: Observation) -> Reason:
    return Reason.JOB_DELETED if seen.job is None else Reason.POD_DELETED


def _deleted_by_somebody(attempt: Attempt, seen: Observation) -> bool:
    """By the pod's deletion stamp, which moves on to the end once the kubelet reports it: the signal's code tells."""
    deleted = seen.pod.deletion_requested_at if seen.pod else None
    if deleted is None or attempt.finished_at is None:
        return False
    moved_on = _STAMP_MOVES if attempt.exit_code in _STOPPED else timedelta(0)
    return deleted <= attempt.finished_at + moved_on


def _never_started(workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    if attempt.termination in START_ERRORS:
        detail = seen.pod.terminated.message if seen.pod and seen.pod.terminated else attempt.message
        return End(Status.FAILED, Reason.START_ERROR, f"the container could not be started{wording.because(detail)}")
    timed_out = attempt.stop_reason is Reason.START_TIMEOUT and not _ended_by_itself(attempt, seen)
    if attempt.stop_reason is not Reason.IMAGE_INVALID and not timed_out and not _deadline_exceeded(seen):
        return None
    if attempt.stop_reason is Reason.IMAGE_INVALID:
        return End(Status.FAILED, Reason.IMAGE_INVALID, wording.image_invalid(attempt.waiting))
    limit = workload.spec.start_timeout_seconds
    return End(Status.FAILED, start_failure(attempt.waiting_reason), wording.start_timeout(limit, attempt.waiting))


def _setup_failed(_workload: Workload, attempt: Attempt, seen: Observation) -> End | None:
    failure = seen.pod.init_failure if seen.pod is not None and attempt.stop_reason is None else ""
    if not failure or attempt.exit_code is not None or _deadline_exceeded(seen):
        return None
    words = f"its container could not be set up{wording.because(failure)}"
    return End(Status.FAILED, Reason.CONFIGURATION_ERROR, words)


def start_failure(waiting_reason: str) -> Reason:
    """The kind of a start that never succeeded, from the kubelet's last word about it."""
    if waiting_reason in _HOPELESS_IMAGES:
        return Reason.IMAGE_INVALID
    if waiting_reason in _IMAGE_TROUBLE:
        return Reason.IMAGE_PULL_FAILED
    if waiting_reason == NO_NODE:
        return Reason.NODE_REFUSED  # the scheduler disagrees with our choice of server
    if waiting_reason in (NO_JOB, NO_POD):
        return Reason.JOB_NOT_CREATED
    if waiting_reason in _CONFIGURATION_TROUBLE:
        return Reason.CONFIGURATION_ERROR
    return Reason.START_TIMEOUT


def _exited(_workload: Workload, attempt: Attempt, _seen: Observation) -> End | None:
    if attempt.exit_code is None:
        return None
    return End(Status.COMPLETED, Reason.EXITED, wording.exited(attempt.exit_code))


def _vanished(attempt: Attempt, seen: Observation) -> tuple[Reason, str]:
    if seen.job is None:
        return Reason.JOB_DELETED, f"its Job {attempt.job_name} was deleted by somebody; how it ended is unknown"
    detail = seen.job.failure_message or seen.job.failure
    if seen.pod is None and not attempt.pod_uid:
        return Reason.JOB_REFUSED, f"its Job failed before it had a pod{wording.because(detail)}"
    return Reason.POD_DELETED, f"its pod was deleted by somebody; how it ended is unknown{wording.because(detail)}"


_Rule = Callable[[Workload, Attempt, Observation], End | None]
_RULES: dict[_Rule, str] = {
    _cancelled: ("a cancel was asked for before the container's own end, by the cluster's clock: `cancelled`"),
    _suspended: ("a suspend was asked for before it: the attempt is over, the workload `pending`, and suspended"),
    _preempted: ("it was stopped to make room for another workload: the attempt is over, the workload waits again"),
    _run_timeout: ("the run limit passed, seen by the kubelet (`DeadlineExceeded`) or stopped by us for it: `timeout`"),
    _out_of_memory: ("`OOMKilled`: `failed`; the reason outranks the exit code, which can be 0"),
    _infrastructure: (
        "eviction, preemption, node loss, refusal by the kubelet: another server if the container never executed "
        "(three tries) or while `maxRetries` lasts, else `failed`"
    ),
    _setup_failed: "an init container that the cluster's owner put before it failed: `failed`",
    _never_started: (
        "it could not start: a malformed reference at once, a missing image or configuration when the start limit "
        "passes, `StartError`: `failed` by kind, with the last message"
    ),
    _exited: ("the container terminated by itself: `completed` with its exit code"),
}


def end_rules() -> tuple[str, ...]:
    """The rules in their order, in words; docs/lifecycle.md is printed from them."""
    return tuple(_RULES.values())
