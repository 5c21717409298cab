"""The status document of a pod, as a kubelet of 1.36 writes it: pure functions of spec, run and views.

Compared with documents recorded from a real kubelet. Left out: the sums of resources over the pod's containers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.simcluster.fleet import GPU_RESOURCE
from app.simcluster.inside.run import PodRun, Try
from app.simcluster.inside.timeline import INITIALIZING, ContainerState, Ended, Running, Waiting
from app.simcluster.meta import Json, stamp

_OK: Json = {"status": "True"}


@dataclass(frozen=True, slots=True)
class PodView:
    """Everything the status is made from, at one moment."""

    states: dict[str, ContainerState]
    finished: bool  # every container has ended and the pod's sandbox is gone
    healthy: frozenset[str]  # device ids
    resources: Mapping[str, str]  # by device id, the resource name that it goes by
    address: str
    last_words: Mapping[str, str] = field(default_factory=dict)  # of containers that failed and ask for it
    inits: Mapping[str, ContainerState] = field(default_factory=dict)


def pod_status(pod: Json, run: PodRun, view: PodView, now: float) -> Json:
    old = pod.get("status") or {}
    phase = _phase(view, old.get("phase", "Pending"))
    spec, states = pod["spec"], {**view.states, **view.inits}
    containers = [_container(item, pod, run, view, states[item["name"]]) for item in spec["containers"]]
    inits = [_container(item, pod, run, view, states[item["name"]]) for item in spec.get("initContainers") or []]
    status: Json = {
        **old,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": phase,
        "conditions": _conditions(pod, run, view, now),
        "startTime": stamp(run.since),
        "containerStatuses": containers,
        **({"initContainerStatuses": [_as_init(item) for item in inits]} if inits else {}),
        "hostIP": view.address,
        "hostIPs": [{"ip": view.address}],
    }
    if not _creating(view):
        address = pod_address(pod)
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    if run.stop and run.stop.reason and view.finished:
        status |= {"reason": run.stop.reason, "message": run.stop.message}
    return status


def rejected_status(pod: Json, reason: str, message: str, now: float) -> Json:
    """A pod the kubelet didn't take: no containers, no new conditions."""
    old = pod.get("status") or {}
    kept = {name: old[name] for name in ("conditions", "qosClass") if name in old}
    return {
        **kept,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": stamp(now),
    }


def _phase(view: PodView, before: str) -> str:
    ends = [state for state in view.states.values() if isinstance(state, Ended)]
    if view.finished:
        all_well = len(ends) == len(view.states) and not any(end.code or end.reason == "StartError" for end in ends)
        return "Succeeded" if all_well else "Failed"
    if len(ends) == len(view.states):
        return before  # the kubelet tells of the containers' end first, of the pod's a little later
    started = any(isinstance(state, Running) for state in view.states.values())
    return "Running" if started or before == "Running" else "Pending"


def _conditions(pod: Json, run: PodRun, view: PodView, now: float) -> list[Json]:
    old: list[Json] = (pod.get("status") or {}).get("conditions") or []
    kubelets = [
        _condition("PodReadyToStartContainers", _sandbox(view)),
        _condition("Initialized", _initialized(view)),
        _condition("Ready", _ready(view)),
        _condition("ContainersReady", _ready(view)),
        _condition("PodScheduled", _OK),
    ]
    if run.stop and run.stop.disruption:
        facts = {"status": "True", "reason": "TerminationByKubelet", "message": run.stop.disruption}
        kubelets.insert(0, _condition("DisruptionTarget", facts))
    mine = [_stamped(item, old, pod, now) for item in kubelets]
    types = {item["type"] for item in mine}
    return [*[item for item in old if item["type"] not in types], *mine]


def _stamped(condition: Json, old: list[Json], pod: Json, now: float) -> Json:
    before = next((item for item in old if item["type"] == condition["type"]), None)
    kept = before is not None and before["status"] == condition["status"]
    since = before["lastTransitionTime"] if before and kept else stamp(now)
    return {
        **condition,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "lastTransitionTime": since,
    }


def _condition(kind: str, facts: Json) -> Json:
    return {"type": kind, "lastProbeTime": None, **facts}


def _sandbox(view: PodView) -> Json:
    return {"status": "False"} if _creating(view) or view.finished else _OK


def _creating(view: PodView) -> bool:
    """There is no sandbox yet, and so no address."""
    return all(isinstance(state, Waiting) and state.reason == "ContainerCreating" for state in view.states.values())


def _initialized(view: PodView) -> Json:
    waiting = [name for name, state in view.states.items() if state == INITIALIZING]
    if waiting:
        message = f"containers with incomplete status: [{' '.join(view.inits)}]"
        return {"status": "False", "reason": "ContainersNotInitialized", "message": message}
    return {**_OK, "reason": "PodCompleted"} if _outcome(view) == "PodCompleted" else _OK


def _ready(view: PodView) -> Json:
    if outcome := _outcome(view):
        return {"status": "False", "reason": outcome}
    unready = [name for name, state in view.states.items() if not isinstance(state, Running)]
    if not unready:
        return _OK
    message = f"containers with unready status: [{' '.join(unready)}]"
    return {"status": "False", "reason": "ContainersNotReady", "message": message}


def _outcome(view: PodView) -> str:
    ends = [state for state in view.states.values() if isinstance(state, Ended)]
    if len(ends) < len(view.states):
        return "PodFailed" if view.finished else ""
    return "PodFailed" if any(end.code for end in ends) else "PodCompleted"


def _as_init(status: Json) -> Json:
    """An init container is ready when it has ended well; a sidecar while it runs."""
    ended = status["state"].get("terminated")
    return {**status, "ready": status["ready"] or bool(ended and not ended["exitCode"])}


def _container(container: Json, pod: Json, run: PodRun, view: PodView, state: ContainerState) -> Json:
    name = container["name"]
    current = run.try_of(name)
    exists = not isinstance(state, Waiting) and _located(state)
    status: Json = {
        "name": name,
        "state": _state(state, _container_id(pod, name, current.restarts), view.last_words.get(name, "")),
        "lastState": _last_state(current, pod, name),
        "ready": isinstance(state, Running),
        "restartCount": current.restarts,
        "image": full_image(container["image"]) if exists else container["image"],
        "imageID": _image_id(container["image"]) if exists else "",
        "started": isinstance(state, Running),
    }
    if exists:
        status["containerID"] = _container_id(pod, name, current.restarts)
        status["resources"] = container["resources"]
        if requests := container["resources"].get("requests"):
            status["allocatedResources"] = requests
    if devices := _devices(run.devices.get(name, []), view):
        status["allocatedResourcesStatus"] = devices
    return status


def _located(state: ContainerState) -> bool:
    return not (isinstance(state, Ended) and state.reason == "ContainerStatusUnknown")


def _devices(ids: Sequence[str], view: PodView) -> list[Json]:
    by_name: dict[str, list[Json]] = {}
    for device in ids:
        health = {"resourceID": device, "health": "Healthy" if device in view.healthy else "Unhealthy"}
        by_name.setdefault(view.resources.get(device, GPU_RESOURCE), []).append(health)
    return [{"name": name, "resources": resources} for name, resources in by_name.items()]


def _state(state: ContainerState, container_id: str, last_words: str) -> Json:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Running(started):
            return {"running": {"startedAt": stamp(started)}}
        case Ended():
            return {"terminated": _terminated(replace(state, message=state.message or last_words), container_id)}


def _terminated(end: Ended, container_id: str) -> Json:
    message = {"message": end.message} if end.message else {}
    started = stamp(end.started) if end.started is not None else None
    finished = stamp(end.finished) if end.finished is not None else None
    times = {"startedAt": started, "finishedAt": finished}
    known = {"containerID": container_id} if finished else {}
    return {"exitCode": end.code, "reason": end.reason, **message, **times, **known}


def _last_state(current: Try, pod: Json, name: str) -> Json:
    if current.last is None:
        return {}
    return {"terminated": _terminated(current.last, _container_id(pod, name, current.restarts - 1))}


def full_image(image: str) -> str:
    """The name the runtime reports: with the registry that was meant."""
    host, slash, _ = image.partition("/")
    if not slash:
        return f"docker.io/library/{image}"
    return image if "." in host or ":" in host or host == "localhost" else f"docker.io/{image}"


def _container_id(pod: Json, name: str, number: int) -> str:
    return f"containerd://{_digest(pod['metadata']['uid'], name, str(number))}"


def _image_id(image: str) -> str:
    return f"{full_image(image).partition('@')[0].rpartition(':')[0] or image}@sha256:{_digest(image)}"


def pod_address(pod: Json) -> str:
    number = int(_digest(pod["metadata"]["uid"])[:6], 16)
    return f"10.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
