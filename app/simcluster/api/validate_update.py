"""What an update may not change. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from app.simcluster.api.errors import Cause, forbidden_value, invalid_value
from app.simcluster.meta import Json, finalizers_of, is_terminating
from app.simcluster.resources import JOBS, PODS, ResourceType

_IMMUTABLE = "field is immutable"
_POD_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_POD_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates", "containers", "initContainers")
_JOB_IMMUTABLE = ("selector", "completionMode", "completions", "managedBy", "podFailurePolicy", "successPolicy")
_MUTABLE_WHILE_SUSPENDED = ("nodeSelector", "tolerations", "schedulingGates", "affinity")


def validate_update(resource: ResourceType, new: Json, old: Json) -> list[Cause]:
    causes = [*_finalizers(new, old)]
    if resource is PODS:
        causes += _pod(new["spec"], old["spec"])
    if resource is JOBS:
        causes += _job(new, old)
    return causes


def _finalizers(new: Json, old: Json) -> Iterator[Cause]:
    added = set(finalizers_of(new)) - set(finalizers_of(old))
    if is_terminating(old) and added:
        why = f"no new finalizers can be added if the object is being deleted, found new finalizers {sorted(added)}"
        yield forbidden_value("metadata.finalizers", why)


def _pod(new: Json, old: Json) -> Iterator[Cause]:
    yield from _deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    before, after = old.get("tolerations") or [], new.get("tolerations") or []
    if any(item not in after for item in before):
        yield forbidden_value(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
    gates = old.get("schedulingGates") or []
    if any(item not in gates for item in new.get("schedulingGates") or []):
        yield forbidden_value("spec.schedulingGates", "only deletion is allowed, but found new scheduling gate")
    if _fixed(new) != _fixed(old):
        yield forbidden_value("spec", _POD_RULE)


def _deadline(new: int | None, old: int | None) -> Iterator[Cause]:
    path = "spec.activeDeadlineSeconds"
    if new == old:
        return
    if new is None:
        yield invalid_value(path, None, "must not update from a positive integer to nil value")
    elif not 1 <= new < 2**31:
        yield invalid_value(path, new, "must be between 1 and 2147483647, inclusive")
    elif old is not None and new > old:
        yield invalid_value(path, new, "must be less than or equal to previous value")


def _fixed(spec: Json) -> Json:
    """The part of a pod's spec that nobody may change."""
    containers = {
        name: [{**item, "image": ""} for item in spec.get(name) or []] for name in ("containers", "initContainers")
    }
    return {**{name: value for name, value in spec.items() if name not in _POD_FREE}, **containers}


def _job(new: Json, old: Json) -> Iterator[Cause]:
    for name in _JOB_IMMUTABLE:
        if new["spec"].get(name) != old["spec"].get(name):
            yield invalid_value(f"spec.{name}", new["spec"].get(name), _IMMUTABLE)
    after, before = new["spec"]["template"], old["spec"]["template"]
    if _may_direct(old):
        after, before = _undirected(after), _undirected(before)
    if after != before:
        yield invalid_value("spec.template.spec", "{...}", _IMMUTABLE)


def _may_direct(job: Json) -> bool:
    """A suspended Job without running pods may still be told where to run."""
    return bool(job["spec"].get("suspend")) and not (job.get("status") or {}).get("active")


def _undirected(template: Json) -> Json:
    spec = {name: value for name, value in template["spec"].items() if name not in _MUTABLE_WHILE_SUSPENDED}
    metadata = {k: v for k, v in (template.get("metadata") or {}).items() if k not in {"labels", "annotations"}}
    return {**template, "spec": spec, "metadata": metadata}
