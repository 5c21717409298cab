"""What to do with a workload now: load → **decide** → apply, and this is decide.

Pure functions over frozen facts and `now`: `decide` for the attempt under way, `decide_waiting` for a workload that
wants a server; what an ended attempt left in the cluster is `app.domain.cleanup`'s. Each returns new nouns, the actions
to take once those are stored, and when to look again although nothing changed. Nothing here awaits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from app.domain import wording
from app.domain.ends import LOST_CONTAINERS, NO_JOB, NO_NODE, NO_POD, START_ERRORS, End, end_of, is_hopeless_image
from app.domain.observed import NEUTRAL_WAITING, Observation, ObservedJob, ObservedPod
from app.domain.preemption import step_aside
from app.domain.requests import stopped_for_suspend
from app.domain.states import TERMINAL_PHASES, Phase, Reason, Status, check_transition
from app.domain.workload import Attempt, Workload

MAX_START_TRIES = 3
STOP_RECHECK_SECONDS = 5
SETTLE_SECONDS = 60
HAND_OVER_SECONDS = 5
POD_RECHECK_SECONDS = 10


@dataclass(frozen=True)
class Policy:
    """Times that are the installation's, not the submitter's. Seconds; what settings are unless they are set."""

    kubelet_slack_seconds: int = 45  # past the run limit that was handed to the kubelet, before we stop it ourselves
    retry_base_seconds: int = 10
    job_retention_seconds: int = 24 * 3600
    log_retention_seconds: int = 30 * 24 * 3600
    orphan_grace_seconds: int = 3600  # 0: what nobody expects is reported, and never removed
    termination_grace_seconds: int = 30


@dataclass(frozen=True)
class CreateJob:
    """Create the attempt's Job; a repeat meets itself."""


@dataclass(frozen=True)
class DeleteJob:
    uid: str


@dataclass(frozen=True)
class LimitRun:
    """Hand the run limit to the kubelet: lower the live pod's deadline to `seconds` after the pod's start."""

    pod: ObservedPod
    seconds: int


@dataclass(frozen=True)
class ReleasePod:
    """Take our finalizer off: what the pod knew is stored."""

    pod: ObservedPod


@dataclass(frozen=True)
class TakeLog:
    """Store the end of the log, or why there is none: the cluster may drop it with the pod."""


@dataclass(frozen=True)
class SecureLog:
    """Read what there is of the log: once a deleted pod has ended, its server drops the log at once."""

    pod: ObservedPod


Action = CreateJob | DeleteJob | LimitRun | ReleasePod | SecureLog | TakeLog


@dataclass(frozen=True)
class Decision:
    workload: Workload
    attempt: Attempt | None
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None


def decide(workload: Workload, attempt: Attempt, seen: Observation, now: datetime, policy: Policy) -> Decision:
    """The next state of a live attempt and its workload."""
    attempt = record(attempt, seen)
    if not _is_over(attempt, seen, now):
        attempt = _ask_to_stop(workload, attempt, seen, now, policy)
    if _is_over(attempt, seen, now):
        return finish(workload, attempt, end_of(workload, attempt, seen), now, policy)
    if attempt.stop_reason is not None:
        return _stop(workload, attempt, attempt.stop_reason, seen, now)
    return _progress(workload, attempt, seen, now, policy)


def record(attempt: Attempt, seen: Observation) -> Attempt:
    """The attempt with what is seen added. The first terminal observation stays; later rewrites are ignored."""
    job, pod = seen.job, seen.pod
    if job is not None and not attempt.job_uid:
        attempt = _record_job(attempt, job)
    if pod is None:
        return _waiting_for(attempt, NO_POD, job.obstacle) if job is not None and job.obstacle else attempt
    attempt = replace(attempt, pod_name=pod.name, pod_uid=pod.uid, gpus=pod.gpus or attempt.gpus)
    attempt = _record_waiting(attempt, pod)
    return _record_times(attempt, pod)


def _record_job(attempt: Attempt, job: ObservedJob) -> Attempt:
    """One that was there already may be on another server than was chosen now: the Job says where it is."""
    server, resource = job.server or attempt.server, job.gpu_resource or attempt.gpu_resource
    return replace(attempt, job_uid=job.uid, server=server, gpu_resource=resource)


def _record_waiting(attempt: Attempt, pod: ObservedPod) -> Attempt:
    """The last obstacle. A neutral word does not cover it up, nor does what the cluster says while we stop the pod."""
    reason = pod.waiting_reason or (NO_NODE if pod.scheduling_message else "")
    is_neutral = reason in NEUTRAL_WAITING
    if not reason or attempt.stop_reason is not None or (is_neutral and _is_obstacle(attempt.waiting_reason)):
        return attempt
    return _waiting_for(attempt, reason, pod.waiting_message or pod.scheduling_message)


def _waiting_for(attempt: Attempt, reason: str, message: str) -> Attempt:
    return replace(attempt, waiting_reason=reason, waiting_message=wording.clip(message))


def _is_obstacle(waiting_reason: str) -> bool:
    """Something that may still be in the way; once a pod has a node, that there was none, or no pod, is over."""
    return waiting_reason not in NEUTRAL_WAITING and waiting_reason not in ("", NO_JOB, NO_POD, NO_NODE)


def _record_times(attempt: Attempt, pod: ObservedPod) -> Attempt:
    ended = pod.terminated
    started = pod.running_since or (ended.started_at if ended else None)
    if attempt.started_at is None and started is not None and not (ended and ended.reason in START_ERRORS):
        attempt = replace(attempt, started_at=started)
    if ended is None or attempt.termination:
        return attempt
    attempt = replace(attempt, termination=ended.reason or "Terminated", finished_at=ended.finished_at)
    if ended.reason == "ContainerStatusUnknown" and attempt.started_at is None:
        return attempt  # the kubelet's stand-in for a container it can't find: its code 137 is nobody's
    return replace(attempt, exit_code=ended.exit_code)


def _is_over(attempt: Attempt, seen: Observation, now: datetime) -> bool:
    """True once nothing of the attempt runs or will run, and the cluster has said how it ended."""
    if seen.pod is not None:
        return seen.pod.is_over or now >= _settled_at(attempt, seen, now + timedelta(seconds=1))
    if attempt.termination:
        return True
    if seen.job is None:
        was_created = bool(attempt.job_uid or attempt.pod_uid)
        return was_created or attempt.stop_reason is not None
    return bool(seen.job.failure) or seen.job.is_complete


def _settled_at(attempt: Attempt, seen: Observation, otherwise: datetime) -> datetime:
    """When an ended container is taken as the end although its pod isn't called ended: its node may be lost by now."""
    ended = attempt.finished_at
    return seen.here(ended) + timedelta(seconds=SETTLE_SECONDS) if ended is not None else otherwise


def _ask_to_stop(workload: Workload, attempt: Attempt, seen: Observation, now: datetime, policy: Policy) -> Attempt:
    """The attempt with our intent to stop it, if there is one. A cancel outranks an earlier intent."""
    wish = Reason.CANCEL_REQUESTED if workload.cancel_requested_at else attempt.stop_reason
    if workload.held_at is not None and wish in (None, Reason.PREEMPTED):
        wish = Reason.SUSPEND_REQUESTED
    wish = wish or _limit_passed(workload, attempt, seen, now, policy)
    if wish is attempt.stop_reason:
        return attempt
    return replace(attempt, stop_reason=wish, stop_requested_at=attempt.stop_requested_at or now)


def _limit_passed(
    workload: Workload, attempt: Attempt, seen: Observation, now: datetime, policy: Policy
) -> Reason | None:
    if attempt.finished_at is not None:
        return None  # only its pod's last word is awaited
    if attempt.started_at is not None:
        return Reason.RUN_TIMEOUT if now >= _own_run_deadline(workload, attempt, seen, policy) else None
    if is_hopeless_image(attempt.waiting_reason):
        return Reason.IMAGE_INVALID
    return Reason.START_TIMEOUT if now >= _start_deadline(workload, attempt, seen) else None


def _start_deadline(workload: Workload, attempt: Attempt, seen: Observation) -> datetime:
    """From the placement, or from its Job's creation where our clock was set forward in between."""
    placed = attempt.placed_at
    if seen.job is not None and seen.job.created_at is not None:
        placed = max(placed, seen.here(seen.job.created_at))
    return placed + timedelta(seconds=workload.spec.start_timeout_seconds)


def _own_run_deadline(workload: Workload, attempt: Attempt, seen: Observation, policy: Policy) -> datetime:
    """When we stop it ourselves: at the limit, or a little later where the kubelet has the limit and is exact."""
    slack = policy.kubelet_slack_seconds if seen.pod is not None and _has_run_limit(workload, attempt, seen.pod) else 0
    return _started_here(attempt, seen) + timedelta(seconds=workload.spec.timeout_seconds + slack)


def _started_here(attempt: Attempt, seen: Observation) -> datetime:
    """The container's start by our clock. The stamp is its server's, which may be slow: it was not before its pod."""
    if attempt.started_at is None:
        return attempt.placed_at
    created = seen.pod.created_at if seen.pod is not None else None
    return seen.here(max(attempt.started_at, created) if created is not None else attempt.started_at)


def _stop(workload: Workload, attempt: Attempt, reason: Reason, seen: Observation, now: datetime) -> Decision:
    workload = _move(workload, workload.status, Phase.STOPPING, reason, _stop_words(workload, attempt, reason))
    deletion = (DeleteJob(seen.job.uid),) if seen.job is not None and not seen.job.is_deleting else ()
    return Decision(workload, attempt, (*_secure_log(seen), *deletion), now + timedelta(seconds=STOP_RECHECK_SECONDS))


def _secure_log(seen: Observation) -> tuple[Action, ...]:
    """Of an executing container, while its server answers: one that doesn't would only hold things up."""
    pod = seen.pod
    executes = pod is not None and pod.running_since is not None and pod.terminated is None
    return (SecureLog(pod),) if pod is not None and executes and seen.node_answers is not False else ()


def _stop_words(workload: Workload, attempt: Attempt, reason: Reason) -> str:
    if reason is Reason.CANCEL_REQUESTED:
        return wording.cancel_requested(workload.cancelled_by, live=True)
    if reason is Reason.SUSPEND_REQUESTED:
        return wording.suspend_requested(workload.held_by)
    if reason is Reason.PREEMPTED:
        return wording.preempting(attempt.message)
    if reason is Reason.RUN_TIMEOUT:
        return wording.run_limit_reached(workload.spec.timeout_seconds)
    if reason is Reason.IMAGE_INVALID:
        return wording.image_invalid(attempt.waiting)
    return wording.start_timeout(workload.spec.start_timeout_seconds, attempt.waiting)


def _progress(workload: Workload, attempt: Attempt, seen: Observation, now: datetime, policy: Policy) -> Decision:
    if seen.job is None and seen.pod is None:
        return Decision(workload, attempt, (CreateJob(),), _start_deadline(workload, attempt, seen))
    if attempt.started_at is None:
        wake_at = _start_deadline(workload, attempt, seen)
        if seen.pod is None:  # nobody tells why, one has to ask
            wake_at = min(wake_at, now + timedelta(seconds=POD_RECHECK_SECONDS))
        return Decision(_starting(workload, attempt, seen), attempt, (), wake_at)
    running = replace(workload, started_at=attempt.started_at, server=attempt.server, gpus=attempt.gpus)
    words = (Phase.RUNNING, Reason.EXECUTING, wording.executing(attempt.server))
    if seen.node_answers is False:
        words = (Phase.UNKNOWN, Reason.SERVER_UNREACHABLE, wording.unreachable(attempt.server))
    actions = _limit_run(workload, attempt, seen, now)
    if seen.pod is not None and seen.pod.deletion_requested_at is not None:
        actions = (*_secure_log(seen), *actions)
    wake_at = _settled_at(attempt, seen, _own_run_deadline(workload, attempt, seen, policy))
    if now < (hand_over := _hand_over_at(workload, attempt, seen)):
        wake_at = min(wake_at, hand_over)
    return Decision(_move(running, Status.RUNNING, *words), attempt, actions, wake_at)


def _starting(workload: Workload, attempt: Attempt, seen: Observation) -> Workload:
    if seen.node_answers is False:
        words = wording.unreachable(attempt.server)
        return _move(workload, workload.status, Phase.UNKNOWN, Reason.SERVER_UNREACHABLE, words)
    workload = replace(workload, gpus=attempt.gpus, server=attempt.server)
    reason = _STARTING.get(attempt.waiting_reason, Reason.STARTING)
    words = wording.starting(attempt.server, attempt.waiting)
    return _move(workload, workload.status, Phase.INITIALIZING, reason, words)


_STARTING = {
    "ErrImagePull": Reason.PULLING_IMAGE,
    "ImagePullBackOff": Reason.PULLING_IMAGE,
    NO_POD: Reason.JOB_NOT_CREATED,
}


def _limit_run(workload: Workload, attempt: Attempt, seen: Observation, now: datetime) -> tuple[Action, ...]:
    pod = seen.pod
    if pod is None or pod.pod_started_at is None or attempt.termination or _has_run_limit(workload, attempt, pod):
        return ()
    if now < _hand_over_at(workload, attempt, seen):
        return ()
    return (LimitRun(pod, _pod_deadline(workload, attempt, pod.pod_started_at)),)


def _hand_over_at(workload: Workload, attempt: Attempt, seen: Observation) -> datetime:
    """When the kubelet is given the run limit: not at once, as most containers that end early never need it."""
    pause = min(HAND_OVER_SECONDS, workload.spec.timeout_seconds / 4)
    return _started_here(attempt, seen) + timedelta(seconds=pause)


def _pod_deadline(workload: Workload, attempt: Attempt, pod_started_at: datetime) -> int:
    """The pod's clock starts before the image pull, the run limit at the container's start: the gap is added.

    Both stamps are whole seconds, cut off, so one second more makes sure that nobody gets less than the limit.
    """
    started = attempt.started_at or pod_started_at
    return max(0, ceil((started - pod_started_at).total_seconds())) + 1 + workload.spec.timeout_seconds


def _has_run_limit(workload: Workload, attempt: Attempt, pod: ObservedPod) -> bool:
    """True once the kubelet itself would end the pod at the run limit."""
    if pod.run_limit_seconds is None or pod.pod_started_at is None:
        return False
    return pod.run_limit_seconds <= _pod_deadline(workload, attempt, pod.pod_started_at)


def finish(workload: Workload, attempt: Attempt, end: End, now: datetime, policy: Policy) -> Decision:
    """Close the attempt with its end; the workload ends with it, goes back to the queue or is suspended."""
    attempt = replace(attempt, reason=end.reason, message=end.message, ended_at=attempt.finished_at or now)
    if end.status is Status.PENDING or _may_retry(workload, attempt, end):
        return Decision(_back(workload, attempt, end, now, policy), attempt, (), now)
    message = end.message
    if end.reason.is_infrastructure and (tries := _tries(workload, attempt)) > 1:
        message = wording.gave_up(message, tries)
    ended = replace(
        workload,
        started_at=attempt.started_at,
        completed_at=attempt.ended_at,
        exit_code=attempt.exit_code,
        server=attempt.server,
        gpus=attempt.gpus,
    )
    return Decision(_move(ended, end.status, TERMINAL_PHASES[end.status], end.reason, message), attempt, (), now)


def is_to_be_confirmed(before: Attempt, decision: Decision, seen: Observation) -> bool:
    """Whether the cluster is to be asked first: before an end on an absence, and before a stop at a limit.

    A deleted pod under a Job that is still there is an absence of a kind: the news of the Job's own end may be late.
    A limit passes by the clocks, and ours may have been set, or may have stood still, since the cluster last answered.
    """
    after = decision.attempt
    if after is None:
        return False
    is_end = after.ended_at is not None and (None in (seen.job, seen.pod) or after.reason is Reason.POD_DELETED)
    return is_end or (before.stop_reason is None and after.stop_reason in (Reason.RUN_TIMEOUT, Reason.START_TIMEOUT))


def note_obstacle(workload: Workload, attempt: Attempt, words: str) -> Decision:
    """Say why the Job is not there yet: the cluster, or how GPUYard is set up on it. The start limit ends the wait."""
    if workload.phase is not Phase.CREATING:
        return Decision(workload, attempt)
    told = replace(workload, reason=Reason.JOB_NOT_CREATED, message=wording.not_created_yet(words))
    return Decision(told, _waiting_for(attempt, NO_JOB, words))


def refuse(workload: Workload, attempt: Attempt, words: str, now: datetime, policy: Policy) -> Decision:
    """The API server refused the Job for good: the attempt ends without ever having existed."""
    end = End(Status.FAILED, Reason.JOB_REFUSED, f"the cluster refused its Job{wording.because(words)}")
    return _end_unmade(workload, attempt, end, now, policy)


def miss_volumes(workload: Workload, attempt: Attempt, names: Sequence[str], now: datetime, policy: Policy) -> Decision:
    """Volumes that it mounts were removed before there was a Job: the attempt ends without ever having existed."""
    end = End(Status.FAILED, Reason.VOLUME_REMOVED, wording.volumes_removed(names))
    return _end_unmade(workload, attempt, end, now, policy)


def _end_unmade(workload: Workload, attempt: Attempt, end: End, now: datetime, policy: Policy) -> Decision:
    if workload.cancel_requested_at is not None:
        end = End(Status.CANCELLED, Reason.CANCELLED_BY_USER, wording.cancelled(workload.cancelled_by, None))
    return finish(workload, attempt, end, now, policy)


def _may_retry(workload: Workload, attempt: Attempt, end: End) -> bool:
    """Freely only while the container certainly never executed: a job may have side effects."""
    if not end.reason.is_infrastructure or workload.cancel_requested_at is not None:
        return False
    if attempt.started_at is None and attempt.termination not in LOST_CONTAINERS:
        return _tries(workload, attempt) - workload.retries_used < MAX_START_TRIES
    return workload.retries_used < workload.spec.max_retries


def _tries(workload: Workload, attempt: Attempt) -> int:
    return attempt.number - workload.attempts_yielded


def _back(workload: Workload, attempt: Attempt, end: End, now: datetime, policy: Policy) -> Workload:
    """Where a workload goes whose attempt was not its last: whatever ended that one, a person's wish holds."""
    if workload.held_at is not None:
        return stopped_for_suspend(workload)
    if end.status is Status.PENDING:
        return step_aside(workload, end.message, now, policy.retry_base_seconds)
    return _requeue(workload, attempt, end, now, policy)


def _requeue(workload: Workload, attempt: Attempt, end: End, now: datetime, policy: Policy) -> Workload:
    not_before = now + timedelta(seconds=policy.retry_base_seconds * 2 ** (_tries(workload, attempt) - 1))
    words = wording.retrying(attempt.server, end.message, not_before)
    waiting = replace(
        workload.unplaced,
        queued_at=now,
        not_before=not_before,
        avoid_servers=(*workload.avoid_servers, str(attempt.server_id)),
        retries_used=workload.retries_used + (attempt.started_at is not None),
    )
    return _move(waiting, Status.PENDING, Phase.QUEUED, Reason.BACKING_OFF, words)


def request_cancel(workload: Workload, by: str, now: datetime) -> Decision:
    """Note a person's wish to cancel. At once where no attempt is under way, else STOPPING until the cluster confirms.

    Asking again changes nothing. The caller has checked that the workload has not ended.
    """
    if workload.cancel_requested_at is not None:
        return Decision(workload, None)
    workload = replace(workload, cancel_requested_at=now, cancelled_by=by)
    if workload.waits or workload.phase is Phase.SUSPENDED:
        return decide_waiting(workload, now)
    words = wording.cancel_requested(by, live=True)
    return Decision(_move(workload, workload.status, Phase.STOPPING, Reason.CANCEL_REQUESTED, words), None)


def decide_waiting(workload: Workload, now: datetime) -> Decision:
    """A workload without an attempt: cancelled at once when asked, failed when its queue limit passes."""
    if workload.cancel_requested_at is not None:
        words = wording.cancel_requested(workload.cancelled_by, live=False)
        return Decision(_end_waiting(workload, Status.CANCELLED, Reason.CANCELLED_BY_USER, words, now), None)
    deadline, limit = workload.queue_deadline, workload.spec.queue_timeout_seconds
    if deadline is not None and limit is not None and now >= deadline:
        words = wording.queue_timeout(limit, workload.message)
        return Decision(_end_waiting(workload, Status.FAILED, Reason.QUEUE_TIMEOUT, words, now), None)
    return Decision(workload, None, (), deadline)


def _end_waiting(workload: Workload, status: Status, reason: Reason, words: str, now: datetime) -> Workload:
    return _move(replace(workload, completed_at=now), status, TERMINAL_PHASES[status], reason, words)


def place(
    workload: Workload, server: str, gpu_resource: str, now: datetime, cluster: str = "", note: str = ""
) -> Decision:
    """Give a waiting workload its server: the next attempt, whose Job does not exist yet. `note` is told with it."""
    attempt = Attempt(workload.id, workload.attempt + 1, server, gpu_resource, placed_at=now, cluster=cluster)
    placed = replace(
        workload, attempt=attempt.number, server=server, cluster=cluster, not_before=None, nominated_server=""
    )
    spec = workload.spec
    words = wording.placed(server, spec.resources.gpu_count, spec.gpu_requirements.kind, note)
    return Decision(_move(placed, Status.PENDING, Phase.CREATING, Reason.PLACED, words), attempt)


def _move(workload: Workload, status: Status, phase: Phase, reason: Reason, message: str) -> Workload:
    check_transition(workload.phase, phase)
    return replace(workload, status=status, phase=phase, reason=reason, message=message)
