"""What comes before a pod's main containers: init containers one after another, sidecars that stay beside. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.simcluster.inside.behaviour import Behaviour
from app.simcluster.inside.run import PodRun
from app.simcluster.inside.timeline import INITIALIZING, ContainerState, Ended, Running, Stop, container_at
from app.simcluster.meta import Json, grace_of
from app.simcluster.quantity import is_sidecar
from app.simcluster.settings import Settings


@dataclass(frozen=True, slots=True)
class SetUp:
    """`done_at`: when the main containers may begin; `failed_at`: when it was clear that they never will."""

    states: dict[str, ContainerState] = field(default_factory=dict)
    sidecars: dict[str, float] = field(default_factory=dict)  # when each of those that were reached began
    times: tuple[float, ...] = ()
    done_at: float | None = None
    failed_at: float | None = None


def set_up(pod: Json, run: PodRun, behaviours: Mapping[str, Behaviour], now: float, settings: Settings) -> SetUp:
    begin: float | None = run.since
    states: dict[str, ContainerState] = {}
    sidecars: dict[str, float] = {}
    times: list[float] = []
    stop = run.stop.stop if run.stop else None
    for item in pod["spec"].get("initContainers") or []:
        name = item["name"]
        if begin is None:
            states[name] = INITIALIZING
            continue
        view = container_at(item, behaviours[name], begin, stop, now, settings)
        states[name] = view.state
        times += [view.next_at] if view.next_at is not None else []
        if is_sidecar(item):
            sidecars[name] = begin
        begin = _next_begin(view.state, sidecar=is_sidecar(item))
    failed_at = None if begin is not None else _failed_at(states, stop)
    return SetUp(states, sidecars, tuple(times), begin, failed_at)


def _next_begin(state: ContainerState, *, sidecar: bool) -> float | None:
    """When the container after this one begins; None: not yet, or never."""
    match state:
        case Running(started):
            return started if sidecar else None
        case Ended(code=0, finished=finished) if not sidecar:
            return finished
        case Ended(started=started) if sidecar:
            return started
    return None


def _failed_at(states: Mapping[str, ContainerState], stop: Stop | None) -> float | None:
    ends = [state for state in states.values() if isinstance(state, Ended) and (state.code or state.finished is None)]
    finished = [end.finished for end in ends if end.finished is not None]
    if finished:
        return max(finished)
    return stop.at if ends and stop else None


def wind_up(
    pod: Json,
    run: PodRun,
    behaviours: Mapping[str, Behaviour],
    setup: SetUp,
    ended: float,
    now: float,
    settings: Settings,
) -> tuple[dict[str, ContainerState], float | None, list[float]]:
    """Once the main containers have ended: how the sidecars stand, when the last of all ended, when to look again."""
    stop = run.stop.stop if run.stop else Stop(ended, ended + grace_of(pod))
    states, times, last = dict(setup.states), list[float](), ended
    complete = True
    for item in pod["spec"].get("initContainers") or []:
        name = item["name"]
        if name not in setup.sidecars:
            continue
        view = container_at(item, behaviours[name], setup.sidecars[name], stop, now, settings)
        states[name] = view.state
        times += [view.next_at] if view.next_at is not None else []
        complete = complete and isinstance(view.state, Ended)
        if isinstance(view.state, Ended) and view.state.finished is not None:
            last = max(last, view.state.finished)
    return states, last if complete else None, times
