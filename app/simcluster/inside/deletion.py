"""How objects go away: graceful deletion of pods, finalizers of the garbage collector. Used by the API's
DELETE and by the controllers alike."""

from __future__ import annotations

from dataclasses import dataclass

from app.simcluster.meta import (
    Json,
    finalizers_of,
    is_terminal_pod,
    is_terminating,
    key_of,
    node_of,
    parse_stamp,
    put_condition,
    stamp,
    with_meta,
    with_status,
)
from app.simcluster.resources import NAMESPACES, PODS, ResourceType
from app.simcluster.store import Store

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


@dataclass(frozen=True, slots=True)
class Deleted:
    obj: Json
    gone: bool


def delete_object(store: Store, resource: ResourceType, obj: Json, policy: str, grace: int | None) -> Deleted:
    """Delete as asked for; what can't go yet is marked, and goes when nothing holds it any more."""
    finalizer = _FINALIZERS.get(policy)
    if finalizer and finalizer not in finalizers_of(obj) and not is_terminating(obj):
        obj = with_meta(obj, finalizers=[*finalizers_of(obj), finalizer])
    if resource is PODS:
        return delete_pod(store, obj, grace)
    if resource is NAMESPACES:
        obj = with_status(obj, phase="Terminating")
    return _mark(store, resource, obj, 0)


def delete_pod(store: Store, pod: Json, grace: int | None) -> Deleted:
    """A running pod gets its grace period; its kubelet does the rest."""
    if grace is None:
        grace = int(pod["spec"].get("terminationGracePeriodSeconds", 30))
    if not node_of(pod) or is_terminal_pod(pod):
        grace = 0
    return _mark(store, PODS, pod, max(0, grace))


def _mark(store: Store, resource: ResourceType, obj: Json, grace: int) -> Deleted:
    known = obj["metadata"].get("deletionGracePeriodSeconds")
    if is_terminating(obj) and known is not None and known <= grace:
        return Deleted(store.update(resource, obj), gone=False)  # it can be shortened, not prolonged
    marked = with_meta(
        obj,
        deletionTimestamp=stamp(_due(obj, grace, store.clock())),
        deletionGracePeriodSeconds=None if resource is NAMESPACES else grace,
        generation=_next_generation(obj),
    )
    deleted = store.update(resource, marked)
    return Deleted(deleted, gone=store.get(resource, key_of(obj)) is None)


def _due(obj: Json, grace: int, now: float) -> float:
    """When it has to be gone. A grace period that is shortened counts from the first request, but not into the past."""
    if not is_terminating(obj):
        return now + grace
    before = float(obj["metadata"].get("deletionGracePeriodSeconds") or 0)
    return max(now, parse_stamp(obj["metadata"]["deletionTimestamp"]) - before + grace)


def _next_generation(obj: Json) -> int | None:
    generation: int | None = obj["metadata"].get("generation")
    return generation if generation is None or is_terminating(obj) else generation + 1


def disrupted(pod: Json, reason: str, message: str, now: float) -> Json:
    """The pod with the condition that says a disruption, not its program, ends it."""
    condition = {
        "type": "DisruptionTarget",
        "observedGeneration": pod["metadata"].get("generation", 1),
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "message": message,
    }
    return with_status(pod, conditions=put_condition((pod.get("status") or {}).get("conditions") or [], condition))
