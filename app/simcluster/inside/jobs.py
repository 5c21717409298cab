"""What the Job controller does next: a pure function of the Job, its pods and the time.

Called again after each step (as the real controller is): a finished pod is first named in
uncountedTerminatedPods and released, then counted; the interim condition (SuccessCriteriaMet, FailureTarget)
comes before the terminal one (Complete, Failed), which waits until nothing is terminating.
Left out: indexed Jobs, podFailurePolicy, successPolicy (validation refuses them).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.simcluster.meta import (
    Json,
    condition_of,
    finalizers_of,
    has_condition,
    is_terminal_pod,
    is_terminating,
    key_of,
    parse_stamp,
    put_condition,
    stamp,
    uid_of,
)
from app.simcluster.settings import Settings

TRACKING = "batch.kubernetes.io/job-tracking"
_TERMINAL = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
_MESSAGES = {
    "BackoffLimitExceeded": "Job has reached the specified backoff limit",
    "DeadlineExceeded": "Job was active longer than specified deadline",
    "CompletionsReached": "Reached expected number of succeeded pods",
}


@dataclass(frozen=True, slots=True)
class JobEvent:
    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    status: Json
    create: int = 0
    delete: tuple[str, ...] = ()
    release: tuple[str, ...] = ()  # pods to take the tracking finalizer from
    events: tuple[JobEvent, ...] = ()
    next_at: float | None = None


@dataclass(frozen=True, slots=True)
class Pods:
    """A Job's pods, sorted by where they stand."""

    active: tuple[Json, ...]
    terminating: tuple[Json, ...]
    succeeded: tuple[Json, ...]  # finished and not counted yet
    failed: tuple[Json, ...]
    tracked: frozenset[str]  # uids that still carry the finalizer
    every: tuple[Json, ...]

    @classmethod
    def of(cls, job: Json, pods: Iterable[Json]) -> Pods:
        every = tuple(pods)
        known = _uncounted(job, "succeeded") | _uncounted(job, "failed")
        fresh = [pod for pod in every if TRACKING in finalizers_of(pod) and uid_of(pod) not in known]
        return cls(
            tuple(pod for pod in every if not is_terminal_pod(pod) and not is_terminating(pod)),
            tuple(pod for pod in every if not is_terminal_pod(pod) and is_terminating(pod)),
            tuple(pod for pod in fresh if pod["status"]["phase"] == "Succeeded"),
            tuple(pod for pod in fresh if _failed(job, pod)),
            frozenset(uid_of(pod) for pod in every if TRACKING in finalizers_of(pod)),
            every,
        )


def decide_job(job: Json, all_pods: Iterable[Json], now: float, settings: Settings) -> Decision:
    pods = Pods.of(job, all_pods)
    status: Json = {**(job.get("status") or {})}
    if finished_at(job) is not None or is_terminating(job):
        return Decision(status, release=_tracked_keys(pods))
    events: list[JobEvent] = []
    if suspended := _suspension(job, status, pods, now, events):
        return suspended
    status.setdefault("startTime", stamp(now))
    _count(status, pods)
    target = _target(job, status, pods, now)
    if target and not condition_of(job, target[0]):
        _add_condition(status, target[0], target[1], now)
    if target and _is_settled(status, pods):
        _finish(status, target, now, events)
    create, next_at = (0, None) if target else _to_create(job, status, pods, now, settings)
    delete = pods.active if target else _surplus(job, status, pods)
    _publish(status, pods, len(pods.active) + create - len(delete), len(delete))
    release = tuple(key_of(pod) for pod in (*pods.succeeded, *pods.failed))
    deadline = None if target else _deadline(job, status)
    times = [when for when in (next_at, deadline) if when is not None]
    keys = tuple(key_of(pod) for pod in delete)
    return Decision(status, create, keys, release, tuple(events), min(times, default=None))


def finished_at(job: Json) -> float | None:
    for kind in ("Complete", "Failed"):
        condition = condition_of(job, kind)
        if condition and condition["status"] == "True":
            return parse_stamp(condition["lastTransitionTime"])
    return None


def _uncounted(job: Json, outcome: str) -> set[str]:
    return set(((job.get("status") or {}).get("uncountedTerminatedPods") or {}).get(outcome) or ())


def _failed(job: Json, pod: Json) -> bool:
    """With the default replacement policy a pod that merely goes away has failed already."""
    phase = pod["status"]["phase"]
    early = job["spec"].get("podReplacementPolicy") != "Failed"
    return phase == "Failed" or (early and is_terminating(pod) and phase != "Succeeded")


def _tracked_keys(pods: Pods) -> tuple[str, ...]:
    return tuple(key_of(pod) for pod in pods.every if uid_of(pod) in pods.tracked)


def _suspension(job: Json, status: Json, pods: Pods, now: float, events: list[JobEvent]) -> Decision | None:
    """The whole decision while suspended; on resuming only the condition and the clock change."""
    was = has_condition({"status": status}, "Suspended")
    if not job["spec"].get("suspend"):
        if was:
            _add_condition(status, "Suspended", "JobResumed", now, value="False", message="Job resumed")
            status["startTime"] = stamp(now)
            events.append(JobEvent("Resumed", "Job resumed"))
        return None
    if not was:
        _add_condition(status, "Suspended", "JobSuspended", now, message="Job suspended")
        events.append(JobEvent("Suspended", "Job suspended"))
    status.pop("startTime", None)
    _publish(status, pods, 0, len(pods.active))
    keys = tuple(key_of(pod) for pod in pods.active)
    # released before they are deleted, so that they don't count as failed
    return Decision(status, delete=keys, release=_tracked_keys(pods), events=tuple(events))


def _count(status: Json, pods: Pods) -> None:
    """Count the pods that were released since; name those that have finished since."""
    uncounted = status.get("uncountedTerminatedPods") or {}
    waiting: Json = {}
    for outcome, fresh in (("succeeded", pods.succeeded), ("failed", pods.failed)):
        named = uncounted.get(outcome) or []
        released = [uid for uid in named if uid not in pods.tracked]
        if released:
            status[outcome] = status.get(outcome, 0) + len(released)
        rest = [uid for uid in named if uid in pods.tracked] + [uid_of(pod) for pod in fresh]
        if rest:
            waiting[outcome] = rest
    status["uncountedTerminatedPods"] = waiting


def _total(status: Json, outcome: str) -> int:
    return int(status.get(outcome, 0)) + len(status["uncountedTerminatedPods"].get(outcome, ()))


def _target(job: Json, status: Json, pods: Pods, now: float) -> tuple[str, str] | None:
    """The interim condition that holds or now comes to hold, with its reason. One that holds stays."""
    for kind in _TERMINAL:
        if condition := condition_of(job, kind):
            return kind, condition["reason"]
    if _past_backoff_limit(job, status, pods):
        return "FailureTarget", "BackoffLimitExceeded"
    deadline = _deadline(job, status)
    if deadline is not None and now >= deadline:
        return "FailureTarget", "DeadlineExceeded"
    if _total(status, "succeeded") >= job["spec"].get("completions", 1):
        return "SuccessCriteriaMet", "CompletionsReached"
    return None


def _past_backoff_limit(job: Json, status: Json, pods: Pods) -> bool:
    limit = job["spec"]["backoffLimit"]
    if _total(status, "failed") > limit:
        return True
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(item["restartCount"] for pod in pods.active for item in pod["status"].get("containerStatuses") or ())
    return bool(restarts > 0 if limit == 0 else restarts >= limit)


def _deadline(job: Json, status: Json) -> float | None:
    limit = job["spec"].get("activeDeadlineSeconds")
    return None if limit is None else parse_stamp(status["startTime"]) + float(limit)


def _is_settled(status: Json, pods: Pods) -> bool:
    return not (pods.active or pods.terminating or status["uncountedTerminatedPods"])


def _finish(status: Json, target: tuple[str, str], now: float, events: list[JobEvent]) -> None:
    interim, reason = target
    _add_condition(status, _TERMINAL[interim], reason, now)
    if interim == "SuccessCriteriaMet":
        status["completionTime"] = stamp(now)
        events.append(JobEvent("Completed", "Job completed"))
    else:
        events.append(JobEvent(reason, _MESSAGES[reason], warning=True))


def _to_create(job: Json, status: Json, pods: Pods, now: float, settings: Settings) -> tuple[int, float | None]:
    """How many pods to create now, or when to look again."""
    there = len(pods.active)
    if job["spec"].get("podReplacementPolicy") == "Failed":
        there += len(pods.terminating)
    missing = _wanted(job, status) - there
    if missing <= 0:
        return 0, None
    again = _retry_at(status, pods, settings)
    return (0, again) if again is not None and now < again else (missing, None)


def _wanted(job: Json, status: Json) -> int:
    left = int(job["spec"].get("completions", 1)) - _total(status, "succeeded")
    return max(0, min(int(job["spec"].get("parallelism", 1)), left))


def _surplus(job: Json, status: Json, pods: Pods) -> tuple[Json, ...]:
    return pods.active[_wanted(job, status) :]


def _retry_at(status: Json, pods: Pods, settings: Settings) -> float | None:
    failures = _total(status, "failed")
    ends = [_end_of(pod) for pod in pods.every if pod["status"]["phase"] == "Failed"]
    if not failures or not ends:
        return None
    delay = settings.pod_retry_seconds * 2.0 ** (failures - 1)
    return max(ends) + min(delay, settings.pod_retry_max_seconds)


def _end_of(pod: Json) -> float:
    ends = [
        parse_stamp(item["state"]["terminated"]["finishedAt"])
        for item in pod["status"].get("containerStatuses") or ()
        if (item["state"].get("terminated") or {}).get("finishedAt")
    ]
    return max(ends, default=parse_stamp(pod["metadata"]["creationTimestamp"]))


def _add_condition(status: Json, kind: str, reason: str, now: float, *, value: str = "True", message: str = "") -> None:
    condition = {
        "type": kind,
        "status": value,
        "lastProbeTime": stamp(now),
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "message": message or _MESSAGES[reason],
    }
    status["conditions"] = put_condition(status.get("conditions") or [], condition)


def _publish(status: Json, pods: Pods, active: int, going: int) -> None:
    """The numbers people look at. `active` is left out when it is 0, as the real API does."""
    status["active"] = active
    if not active:
        del status["active"]
    status["terminating"] = len(pods.terminating) + going
    status.setdefault("uncountedTerminatedPods", {})
    ready = sum(has_condition(pod, "Ready") for pod in pods.active)
    status["ready"] = ready if active else 0
