"""The events a kubelet writes about a pod's containers, from the difference of two statuses."""

from __future__ import annotations

from collections.abc import Mapping

from app.simcluster.inside.behaviour import Behaviour
from app.simcluster.inside.events import Recorder
from app.simcluster.inside.run import PodRun
from app.simcluster.meta import Json, name_of

_PULL_REASONS = {"ErrImagePull", "RegistryUnavailable"}


def report(events: Recorder, old: Json, new: Json, run: PodRun, behaviours: Mapping[str, Behaviour]) -> None:
    before = {item["name"]: item for item in (old.get("status") or {}).get("containerStatuses") or []}
    for status in new["status"]["containerStatuses"]:
        earlier = before.get(status["name"], {"state": {}})
        if earlier["state"] != status["state"]:
            _container(events, new, earlier, status, behaviours[status["name"]])
    reason = new["status"].get("reason")
    if reason and reason != (old.get("status") or {}).get("reason"):
        events.normal(new, reason, new["status"].get("message", ""), "kubelet")
    elif run.stop and not (old.get("status") or {}).get("reason") and _ends(old, new):
        events.normal(new, "Killing", f"Stopping container {_first(new)}", "kubelet")


def _container(events: Recorder, pod: Json, old: Json, new: Json, behaviour: Behaviour) -> None:
    image, state = new["image"], new["state"]
    waiting = state.get("waiting")
    if waiting:
        _waiting(events, pod, waiting["reason"], waiting.get("message", ""), image)
        return
    if "running" in old["state"] or "terminated" in old["state"]:
        return
    seconds = f"{behaviour.pull_seconds:g}s"
    events.normal(pod, "Pulled", f'Successfully pulled image "{image}" in {seconds}', "kubelet")
    events.normal(pod, "Created", "Container created", "kubelet")
    if "running" in state or new.get("started"):
        events.normal(pod, "Started", "Container started", "kubelet")
    elif state["terminated"]["reason"] == "StartError":
        events.warning(pod, "Failed", f"Error: {state['terminated']['message']}", "kubelet")


def _waiting(events: Recorder, pod: Json, reason: str, message: str, image: str) -> None:
    if reason == "ContainerCreating":
        events.normal(pod, "Pulling", f'Pulling image "{image}"', "kubelet")
    elif reason in _PULL_REASONS:
        events.warning(pod, "Failed", f'Failed to pull image "{image}": {message}', "kubelet")
        events.warning(pod, "Failed", f"Error: {reason}", "kubelet")
    elif reason == "ImagePullBackOff":
        events.normal(pod, "BackOff", f'Back-off pulling image "{image}"', "kubelet")
    elif reason == "CrashLoopBackOff":
        events.warning(pod, "BackOff", f"Back-off restarting failed container in pod {name_of(pod)}", "kubelet")
    elif reason == "InvalidImageName":
        events.warning(pod, "InspectFailed", message, "kubelet")
        events.warning(pod, "Failed", f"Error: {reason}", "kubelet")
    else:
        events.warning(pod, "Failed", f"Error: {message}", "kubelet")


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
