"""What becomes of a pod on its node: its containers' timelines together, deadlines, stops, restarts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.simcluster.inside.behaviour import Behaviour, Outcome
from app.simcluster.inside.run import PodRun, PodStop, Try
from app.simcluster.inside.setup import set_up, wind_up
from app.simcluster.inside.timeline import CREATING, INITIALIZING, ContainerState, Ended, Stop, Waiting, container_at
from app.simcluster.meta import Json, grace_of, is_terminating
from app.simcluster.settings import Settings

_LEAST_GRACE = 1.0  # seconds that a kubelet gives even where a deletion was forced
_KUBELET_STOPS = {
    Outcome.EVICTED: (
        "Evicted",
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki.",
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki.",
    ),
    Outcome.PREEMPTED: (
        "Preempting",
        "Preempted in order to admit critical pod",
        "Pod was preempted by Kubelet to accommodate a critical pod.",
    ),
    Outcome.NODE_SHUTDOWN: (
        "Terminated",
        "Pod was terminated in response to imminent node shutdown.",
        "Pod was terminated in response to imminent node shutdown.",
    ),
}


@dataclass(frozen=True, slots=True)
class Step:
    run: PodRun
    states: dict[str, ContainerState]
    inits: dict[str, ContainerState]
    finished: bool
    next_at: float | None


def advance(pod: Json, run: PodRun, behaviours: Mapping[str, Behaviour], now: float, settings: Settings) -> Step:
    run, deadline = _with_stop(pod, run, now)
    setup = set_up(pod, run, behaviours, now, settings)
    times = [*setup.times] if deadline is None else [*setup.times, deadline]
    states: dict[str, ContainerState] = {}
    for container in pod["spec"]["containers"]:
        name = container["name"]
        if setup.done_at is None:
            states[name] = INITIALIZING
            continue
        if setup.states and name not in run.tries:
            run = run.with_try(name, Try(setup.done_at))
        run, state, next_at = _container(container, pod, run, behaviours[name], now, settings)
        states[name] = INITIALIZING if setup.states and state == CREATING else state
        times += [next_at] if next_at is not None else []
    ended = setup.failed_at if setup.done_at is None else _ended_at(states, run, now)
    inits = setup.states
    if ended is not None and setup.sidecars:
        inits, ended, more = wind_up(pod, run, behaviours, setup, ended, now, settings)
        times += more
    finished = ended is not None and now >= ended + settings.finish_seconds
    if ended is not None and not finished:
        times.append(ended + settings.finish_seconds)
    return Step(run, states, inits, finished, None if finished else min(times, default=None))


def stopped_by_kubelet(run: PodRun, pod: Json, outcome: Outcome, now: float) -> PodRun:
    """The run with a stop that the node itself decided on; other outcomes leave it alone."""
    if outcome not in _KUBELET_STOPS or run.stop:
        return run
    reason, message, disruption = _KUBELET_STOPS[outcome]
    grace = 0.0 if outcome is Outcome.EVICTED else grace_of(pod)
    return replace(run, stop=PodStop(Stop(now, now + grace), reason, message, disruption))


def _with_stop(pod: Json, run: PodRun, now: float) -> tuple[PodRun, float | None]:
    """Deletion and deadline: told to the run when they come; else the deadline is still ahead."""
    if run.stop and (run.stop.deleted or not is_terminating(pod)):
        return run, None
    if is_terminating(pod):
        return replace(run, stop=_deletion(pod, run, now)), None
    limit = pod["spec"].get("activeDeadlineSeconds")
    if limit is None:
        return run, None
    at = int(run.since) + float(limit)  # status.startTime has whole seconds, and the kubelet counts from it
    if now < at:
        return run, at
    stop = Stop(at, at + grace_of(pod))
    message = "Pod was active on the node longer than the specified deadline"
    return replace(run, stop=PodStop(stop, "DeadlineExceeded", message)), None


def _deletion(pod: Json, run: PodRun, now: float) -> PodStop:
    """The stop of a deleted pod; one that is being stopped already keeps its reason, not its longer grace."""
    grace = max(_LEAST_GRACE, float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))
    stop = Stop(now, now + grace)  # the kubelet begins when it learns of it, however late that is
    if run.stop is None:
        return PodStop(stop, deleted=True)
    return replace(run.stop, stop=Stop(run.stop.stop.at, min(run.stop.stop.kill, stop.kill)), deleted=True)


def _container(
    container: Json, pod: Json, run: PodRun, behaviour: Behaviour, now: float, settings: Settings
) -> tuple[PodRun, ContainerState, float | None]:
    name = container["name"]
    while True:
        current = run.try_of(name)
        if now < current.since:
            return run, _backing_off(name), current.since
        stop = run.stop.stop if run.stop else None
        view = container_at(container, behaviour, current.since, stop, now, settings)
        if not isinstance(view.state, Ended) or run.stop or not _restarts(pod, view.state):
            return run, view.state, view.next_at
        since = (view.state.finished or now) + settings.restart_seconds
        run = run.with_try(name, Try(since, current.restarts + 1, view.state))


def _restarts(pod: Json, end: Ended) -> bool:
    policy = pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and end.code != 0)


def _backing_off(name: str) -> Waiting:
    message = f"back-off restarting failed container={name}"
    return Waiting("CrashLoopBackOff", message)


def _ended_at(states: Mapping[str, ContainerState], run: PodRun, now: float) -> float | None:
    """When the last container ended; None while one hasn't."""
    last = run.since
    for state in states.values():
        if not isinstance(state, Ended):
            return None
        stopped = run.stop.stop.at if run.stop else now
        last = max(last, stopped if state.finished is None else state.finished)
    return last
