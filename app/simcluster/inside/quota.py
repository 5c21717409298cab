"""Resource quotas: how much of what a namespace may have, checked whenever a Job or a pod is made.

What is used is counted anew at each check, from the objects; a quota's own status is not kept up.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.simcluster.inside.index import Index
from app.simcluster.meta import Json, is_terminal_pod, namespace_of
from app.simcluster.quantity import amounts, pod_requests
from app.simcluster.resources import PODS, RESOURCEQUOTAS, ResourceType
from app.simcluster.store import Store

_PLAIN = {"cpu": "requests.cpu", "memory": "requests.memory"}


def exceeded(store: Store, index: Index, resource: ResourceType, obj: Json) -> str:
    """Why the object is too much for its namespace, in the API server's words; empty where it is not."""
    if not store.count(RESOURCEQUOTAS):
        return ""
    asked = _charges(resource, obj, pod_requests(obj["spec"]) if resource is PODS else {})
    for quota in _quotas(store, namespace_of(obj)):
        hard = _hard(quota)
        charged = {name: asked[name] for name in sorted(hard) if asked.get(name)}
        used = {name: _used(store, index, resource, namespace_of(obj), name) for name in charged}
        over = [name for name, count in charged.items() if used[name] + count > hard[name]]
        if over:
            numbers = (
                f"{word}: " + ",".join(f"{name}={_shown(name, values[name])}" for name in over)
                for word, values in (("requested", charged), ("used", used), ("limited", hard))
            )
            return f"exceeded quota: {quota['metadata']['name']}, {', '.join(numbers)}"
    return ""


def _quotas(store: Store, namespace: str) -> Iterator[Json]:
    return (quota for quota in store.objects(RESOURCEQUOTAS) if namespace_of(quota) == namespace)


def _hard(quota: Json) -> dict[str, int]:
    told = (quota.get("spec") or {}).get("hard") or {}
    found: dict[str, int] = {}
    for name, value in told.items():
        resource = name.removeprefix("requests.")
        found[_PLAIN.get(name, name)] = amounts({resource: value})[resource]
    return found


def _charges(resource: ResourceType, obj: Json, requests: dict[str, int]) -> dict[str, int]:
    counted = {f"count/{resource.qualified}": 1}
    if resource is PODS and not is_terminal_pod(obj):
        counted |= {"pods": 1, **{f"requests.{name}": count for name, count in requests.items()}}
    return counted


def _used(store: Store, index: Index, resource: ResourceType, namespace: str, name: str) -> int:
    there = (obj for obj in store.objects(resource) if namespace_of(obj) == namespace)
    return sum(_charges(resource, obj, index.requests(obj) if resource is PODS else {}).get(name, 0) for obj in there)


def _shown(name: str, count: int) -> str:
    return (
        f"{count}m"
        if name == "requests.cpu" and count % 1000
        else str(count // 1000 if name == "requests.cpu" else count)
    )
