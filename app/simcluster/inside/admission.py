"""Whether a kubelet takes a pod that was bound to it, and with which devices. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.simcluster.fleet import GPU_RESOURCE
from app.simcluster.inside.behaviour import Outcome
from app.simcluster.meta import Json
from app.simcluster.quantity import Amounts, amounts, is_sidecar


@dataclass(frozen=True, slots=True)
class Refused:
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Admitted:
    devices: dict[str, list[str]]  # by container


def admit(
    pod: Json, requests: Amounts, allocatable: Amounts, used: Amounts, free: Mapping[str, list[str]], outcome: Outcome
) -> Admitted | Refused:
    """`free` are the healthy devices that no active pod holds, by resource name; `used` is what the other pods take."""
    if outcome is Outcome.OUT_OF_CPU:
        return _out_of("cpu", requests.get("cpu", 0) or 1000, used, allocatable)
    if outcome is Outcome.SHUTTING_DOWN:
        return Refused("NodeShutdown", "Pod was rejected as the node is shutting down.")
    if outcome is Outcome.ADMISSION_ERROR:
        name = next((name for name in free if requests.get(name)), GPU_RESOURCE)
        return _no_devices(name, max(1, requests.get(name, 0)), 0)
    devices = _allocate(pod, {name: ids for name, ids in {GPU_RESOURCE: [], **free}.items() if name in allocatable})
    if isinstance(devices, Refused):
        return devices  # the device plugin is asked before the sums are looked at
    for name, wanted in requests.items():
        # a resource the node doesn't list at all is not looked at: such a pod runs without it
        if name in allocatable and wanted and used.get(name, 0) + wanted > allocatable[name]:
            return _out_of(name, wanted, used, allocatable)
    return devices


def _allocate(pod: Json, free: Mapping[str, list[str]]) -> Admitted | Refused:
    """Containers that run at one time have devices of their own; what an init container has is given on."""
    spec, devices = pod["spec"], dict[str, list[str]]()
    inits = spec.get("initContainers") or []
    for name, ids in free.items():
        at = 0
        for container in (*(item for item in inits if is_sidecar(item)), *spec["containers"]):
            wanted = _wanted(container, name)
            if at + wanted > len(ids):
                return _no_devices(name, wanted, len(ids) - at)
            if wanted:
                devices.setdefault(container["name"], []).extend(ids[at : at + wanted])
                at += wanted
        for container in (item for item in inits if not is_sidecar(item) and _wanted(item, name)):
            wanted = _wanted(container, name)
            if wanted > len(ids):
                return _no_devices(name, wanted, len(ids))
            devices.setdefault(container["name"], []).extend(ids[:wanted])
    return Admitted(devices)


def _wanted(container: Json, resource: str) -> int:
    resources = container.get("resources") or {}
    return amounts(resources.get("requests") or resources.get("limits") or {}).get(resource, 0)


def _out_of(name: str, wanted: int, used: Amounts, allocatable: Amounts) -> Refused:
    numbers = f"requested: {wanted}, used: {used.get(name, 0)}, capacity: {allocatable.get(name, 0)}"
    return Refused(f"OutOf{name}", f"Node didn't have enough resource: {name}, {numbers}")


def _no_devices(name: str, wanted: int, available: int) -> Refused:
    why = f"requested number of devices unavailable for {name}. Requested: {wanted}, Available: {available}"
    return Refused("UnexpectedAdmissionError", f"Allocate failed due to {why}, which is unexpected")
