"""Pods by node and by owner, and what each node has given away: kept up with every change, never counted anew."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from app.simcluster.meta import Json, is_terminal_pod, key_of, node_of, owner_uids
from app.simcluster.quantity import Amounts, pod_requests
from app.simcluster.resources import ALL, PODS, ResourceType
from app.simcluster.store import Store


class Index:
    def __init__(self, store: Store) -> None:
        self.pods_by_node: dict[str, set[str]] = defaultdict(set)  # every bound pod
        self.active_by_node: dict[str, set[str]] = defaultdict(set)  # those that count: not terminal
        self.used: dict[str, Amounts] = defaultdict(dict)
        self.unbound: dict[str, None] = {}  # pods without a node, in order of arrival
        self.owned: dict[str, set[tuple[ResourceType, str]]] = defaultdict(set)  # by the owner's uid
        self._requests: dict[str, Amounts] = {}
        for resource in ALL:
            for obj in store.objects(resource):
                self._note_owners(resource, None, obj)
            store.subscribe(resource, partial(self._note_owners, resource))
        for pod in sorted(store.objects(PODS), key=lambda pod: int(pod["metadata"]["resourceVersion"])):
            self._note_pod(None, pod)
        store.subscribe(PODS, self._note_pod)

    def requests(self, pod: Json) -> Amounts:
        uid = pod["metadata"]["uid"]
        if uid not in self._requests:
            self._requests[uid] = pod_requests(pod["spec"])
        return self._requests[uid]

    def _note_pod(self, old: Json | None, new: Json | None) -> None:
        if old:
            self._take(old, key_of(old))
        if new:
            self._put(new, key_of(new))
        elif old:
            self._requests.pop(old["metadata"]["uid"], None)

    def _put(self, pod: Json, key: str) -> None:
        node = node_of(pod)
        if node:
            self.pods_by_node[node].add(key)
        if is_terminal_pod(pod):
            return
        if not node:
            self.unbound[key] = None
            return
        self.active_by_node[node].add(key)
        used = self.used[node]
        for name, amount in self.requests(pod).items():
            used[name] = used.get(name, 0) + amount

    def _take(self, pod: Json, key: str) -> None:
        node = node_of(pod)
        self.unbound.pop(key, None)
        self.pods_by_node[node].discard(key)
        if key in self.active_by_node[node]:
            self.active_by_node[node].discard(key)
            used = self.used[node]
            for name, amount in self.requests(pod).items():
                used[name] -= amount

    def _note_owners(self, resource: ResourceType, old: Json | None, new: Json | None) -> None:
        before, after = set(owner_uids(old) if old else ()), set(owner_uids(new) if new else ())
        if before == after:
            return
        item = (resource, key_of(new or old or {}))
        for uid in before - after:
            self.owned[uid].discard(item)
            if not self.owned[uid]:
                del self.owned[uid]
        for uid in after - before:
            self.owned[uid].add(item)
