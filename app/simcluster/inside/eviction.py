"""Eviction, as the API's eviction subresource does it. There are no disruption budgets, so it never says no."""

from __future__ import annotations

from app.simcluster.inside.deletion import Deleted, delete_pod, disrupted
from app.simcluster.meta import Json, is_terminal_pod
from app.simcluster.resources import PODS
from app.simcluster.store import Store


def evict(store: Store, pod: Json, grace: int | None) -> Deleted:
    message = "Eviction API: evicting"
    if is_terminal_pod(pod):
        return delete_pod(store, pod, 0)
    with store.batch():
        pod = store.update(PODS, disrupted(pod, "EvictionByEvictionAPI", message, store.clock()))
        return delete_pod(store, pod, grace)
