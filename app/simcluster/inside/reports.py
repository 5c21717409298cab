"""The events a kubelet writes about a pod's containers, from the difference of two statuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.simcluster.inside.behaviour import Behaviour
from app.simcluster.inside.events import KUBELET, Recorder
from app.simcluster.inside.run import PodRun
from app.simcluster.inside.timeline import UNKNOWN
from app.simcluster.meta import Json, name_of


def report(events: Recorder, old: Json, new: Json, run: PodRun, behaviours: Mapping[str, Behaviour]) -> None:
    before = {item["name"]: item for item in (old.get("status") or {}).get("containerStatuses") or []}
    for status in new["status"]["containerStatuses"]:
        earlier = before.get(status["name"], {"state": {}})
        if earlier["state"] != status["state"]:
            _container(events, new, earlier, status, behaviours[status["name"]])
    reason = new["status"].get("reason")
    if reason and reason != (old.get("status") or {}).get("reason"):
        events.normal(new, reason, new["status"].get("message", ""), KUBELET)
    elif run.stop and not (old.get("status") or {}).get("reason") and _ends(old, new):
        events.normal(new, "Killing", f"Stopping container {_first(new)}", KUBELET, _first(new))


def _container(events: Recorder, pod: Json, old: Json, new: Json, behaviour: Behaviour) -> None:
    image, state = new["image"], new["state"]
    say = _Speaker(events, pod, new["name"])
    waiting = state.get("waiting")
    if waiting:
        _waiting(say, waiting["reason"], waiting.get("message", ""), image)
        return
    if "running" in old["state"] or "terminated" in old["state"]:
        return
    if state.get("terminated", {}).get("reason") == UNKNOWN.reason:
        return  # it never was: its pod ended before
    say.normal("Pulled", f'Successfully pulled image "{image}" in {behaviour.pull_seconds:g}s')
    say.normal("Created", "Container created")
    if "running" in state or state["terminated"]["reason"] != "StartError":
        say.normal("Started", "Container started")
    else:
        say.warning("Failed", f"Error: {state['terminated']['message']}")


@dataclass(frozen=True, slots=True)
class _Speaker:
    """Says something about one container."""

    events: Recorder
    pod: Json
    container: str

    def normal(self, reason: str, message: str) -> None:
        self.events.normal(self.pod, reason, message, KUBELET, self.container)

    def warning(self, reason: str, message: str) -> None:
        self.events.warning(self.pod, reason, message, KUBELET, self.container)


def _waiting(say: _Speaker, reason: str, message: str, image: str) -> None:
    if reason == "PodInitializing":
        return
    if reason == "ContainerCreating":
        say.normal("Pulling", f'Pulling image "{image}"')
    elif reason == "ErrImagePull":
        say.warning("Failed", f'Failed to pull image "{image}": {message}')
        say.warning("Failed", f"Error: {reason}")
    elif reason == "ImagePullBackOff":
        say.normal("BackOff", f'Back-off pulling image "{image}"')
    elif reason == "CrashLoopBackOff":
        say.warning("BackOff", f"Back-off restarting failed container {say.container} in pod {name_of(say.pod)}")
    elif reason == "InvalidImageName":
        say.warning("InspectFailed", message)
        say.warning("Failed", f"Error: {reason}")
    else:
        say.warning("Failed", f"Error: {message}")


def _ends(old: Json, new: Json) -> bool:
    return any(
        "terminated" in after["state"] and "running" in before["state"]
        for before, after in zip(
            (old.get("status") or {}).get("containerStatuses") or [],
            new["status"]["containerStatuses"],
            strict=False,
        )
    )


def _first(pod: Json) -> str:
    return str(pod["spec"]["containers"][0]["name"])
