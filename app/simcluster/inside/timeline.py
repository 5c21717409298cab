"""Where a simulated container stands at a moment: a pure function of its behaviour and a few stamps.

Nothing of a container's life is stored but when its present try began and when it was told to stop, so a
restart of the simulation changes nothing: the same stamps give the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.simcluster.inside.behaviour import FROM_OUTSIDE, Behaviour, Outcome
from app.simcluster.meta import Json
from app.simcluster.settings import Settings

SIGKILL, SIGSEGV, SIGTERM = 137, 139, 143
START_FAILED = 128
ROUNDING = 1e-6  # so that the moment a turn begins counts to it


@dataclass(frozen=True, slots=True)
class Waiting:
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    started: float


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    reason: str
    message: str = ""
    started: float | None = None
    finished: float | None = None


ContainerState = Waiting | Running | Ended


@dataclass(frozen=True, slots=True)
class Stop:
    """The container was told to end (SIGTERM) at `at`; at `kill` it is killed."""

    at: float
    kill: float


@dataclass(frozen=True, slots=True)
class View:
    state: ContainerState
    next_at: float | None  # when it will look different; None: not by itself


CREATING = Waiting("ContainerCreating")
INITIALIZING = Waiting("PodInitializing")
# a container that isn't there when its pod ends, in the kubelet's words
UNKNOWN = Ended(SIGKILL, "ContainerStatusUnknown", "The container could not be located when the pod was terminated")


@dataclass(frozen=True, slots=True)
class Plan:
    """A container's life if nobody interferes."""

    pulled: float
    start: float
    end: float
    last: Ended


def plan_of(behaviour: Behaviour, since: float, settings: Settings) -> Plan:
    pulled = since + behaviour.pull_seconds
    start = pulled + settings.start_seconds
    end = start + behaviour.seconds * (2 if behaviour.outcome in FROM_OUTSIDE else 1)
    code, reason = _own_end(behaviour)
    told = behaviour.told
    if told and since <= told.at < end:  # else it was meant for an earlier try
        end, code, reason = max(start, told.at), told.code, _word(told.code)
    return Plan(pulled, start, end, Ended(code, reason, "", start, end))


def _own_end(behaviour: Behaviour) -> tuple[int, str]:
    chosen = behaviour.exit_code
    match behaviour.outcome:
        case Outcome.OOM:
            return (SIGKILL if chosen is None else chosen), "OOMKilled"
        case Outcome.SEGFAULT:
            return SIGSEGV, "Error"
        case Outcome.SIGKILL:
            return SIGKILL, "Error"
        case Outcome.SIGTERM:
            return SIGTERM, "Error"
        case _:
            return chosen or 0, _word(chosen)


def _word(code: int | None) -> str:
    return "Error" if code else "Completed"


def container_at(
    container: Json, behaviour: Behaviour, since: float, stop: Stop | None, now: float, settings: Settings
) -> View:
    plan = plan_of(behaviour, since, settings)
    stuck = _stuck(container, behaviour, plan, now, settings)
    if stop and stop.at <= now and (stuck or stop.at <= plan.start):  # told to end before it began
        return View(UNKNOWN, None)
    if stuck:
        return stuck
    if now < plan.start:
        return View(CREATING, plan.pulled if now < plan.pulled else plan.start)
    if failed := _start_failure(behaviour):
        return View(Ended(START_FAILED, "StartError", failed, 0.0, plan.start), None)
    last = stopped_end(behaviour, plan, stop, settings) if stop else plan.last
    if now < (last.finished or 0.0):
        return View(Running(plan.start), last.finished)
    return View(last, None)


def stopped_end(behaviour: Behaviour, plan: Plan, stop: Stop, settings: Settings) -> Ended:
    """How a running container ends that is told to: by itself, on SIGTERM, or killed."""
    killed = behaviour.ignore_term or stop.kill <= stop.at
    finished = stop.kill if killed else min(stop.at + settings.term_seconds, stop.kill)
    if plan.end <= finished:
        return plan.last
    return Ended(SIGKILL if killed else SIGTERM, "Error", "", plan.start, finished)


def _start_failure(behaviour: Behaviour) -> str:
    if behaviour.problem:
        return f"failed to start the simulated container: {behaviour.problem}"
    if behaviour.outcome is Outcome.START_ERROR:
        return (
            "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create"
            " failed: unable to start container process: error during container init: exec: "
            '"simulated": executable file not found in $PATH'
        )
    return ""


def _stuck(container: Json, behaviour: Behaviour, plan: Plan, now: float, settings: Settings) -> View | None:
    """The states that a container doesn't leave by itself."""
    image = container.get("image", "")
    match behaviour.outcome:
        case Outcome.NEVER_STARTS:
            return View(CREATING, None)
        case Outcome.IMAGE_INVALID:
            return View(Waiting("InvalidImageName", _invalid_name(image)), None)
        case Outcome.CONFIG_ERROR if now >= plan.pulled:
            return View(Waiting("CreateContainerConfigError", 'secret "simulated" not found'), None)
        case Outcome.IMAGE_MISSING | Outcome.IMAGE_UNAUTHORIZED | Outcome.REGISTRY_DOWN if now >= plan.pulled:
            return _pull_failure(image, behaviour.outcome, plan, now, settings)
    return None


def _invalid_name(image: str) -> str:
    return (
        f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": invalid reference format'
    )


def _pull_failure(image: str, outcome: Outcome, plan: Plan, now: float, settings: Settings) -> View:
    turn = int((now - plan.pulled) / settings.retry_seconds + ROUNDING)
    next_at = plan.pulled + (turn + 1) * settings.retry_seconds
    reason, error = pull_error(image, outcome)
    if turn % 2:
        return View(Waiting("ImagePullBackOff", f'Back-off pulling image "{image}": {reason}: {error}'), next_at)
    return View(Waiting(reason, error), next_at)


def pull_error(image: str, outcome: Outcome) -> tuple[str, str]:
    head = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}"'
    match outcome:
        case Outcome.IMAGE_UNAUTHORIZED:
            reply = "failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized"
            return "ErrImagePull", f"{head}: {reply}"
        case Outcome.REGISTRY_DOWN:
            reply = "failed to do request: dial tcp 192.0.2.1:443: connect: connection refused"
            return "ErrImagePull", f"{head}: {reply}"
        case _:
            reply = "not found"
            return "ErrImagePull", f"rpc error: code = NotFound desc = {head}: {image}: {reply}"
