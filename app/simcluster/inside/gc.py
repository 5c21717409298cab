"""What removes objects that nothing needs any more: dependents of deleted owners, old events, finished pods beyond
the cap, pods of vanished nodes, the content of deleted namespaces."""

from __future__ import annotations

from functools import partial

from app.simcluster.inside.context import Inside
from app.simcluster.inside.deletion import FOREGROUND, ORPHAN, delete_object, disrupted
from app.simcluster.meta import (
    Json,
    finalizers_of,
    is_terminal_pod,
    is_terminating,
    key_of,
    name_of,
    namespace_of,
    node_of,
    owner_uids,
    parse_stamp,
    split_key,
    uid_of,
    with_meta,
    without_finalizer,
)
from app.simcluster.resources import ALL, BY_PLURAL, EVENTS, NAMESPACES, NODES, PODS, ResourceType

OWNERS = "gc-owners"  # key: kind and key of an object with owners or with a finalizer of ours
PODGC = "gc-pods"
OLD = "gc-old"
NAMESPACE = "gc-namespaces"


class GarbageCollector:
    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._store = inside.store
        self._most_events = inside.settings.max_events * 11 // 10  # then they are looked at before it is time
        engine = inside.engine
        for name, handler in (
            (OWNERS, self._collect),
            (PODGC, self._collect_pod),
            (OLD, self._collect_old),
            (NAMESPACE, self._empty),
        ):
            engine.handle(name, handler)
        self._owners = {uid_of(obj) for resource in ALL for obj in self._store.objects(resource)}
        for resource in ALL:
            self._store.subscribe(resource, partial(self._on_change, resource))
            for obj in self._store.objects(resource):
                self._on_change(resource, None, obj)
        engine.wake(OLD)

    def _on_change(self, resource: ResourceType, old: Json | None, new: Json | None) -> None:
        if new is None:
            self._on_gone(resource, old or {})
            return
        self._owners.add(uid_of(new))
        held = is_terminating(new) and {FOREGROUND, ORPHAN} & set(finalizers_of(new))
        if held or (old is None and owner_uids(new)):
            self._inside.engine.wake(OWNERS, f"{resource.plural}:{key_of(new)}")
        if resource is NAMESPACES and is_terminating(new):
            self._inside.engine.wake(NAMESPACE, name_of(new))
        if resource is EVENTS and self._store.count(EVENTS) > self._most_events:
            self._inside.engine.wake(OLD)
        if resource is PODS and is_terminating(new) and not node_of(new) and not is_terminal_pod(new):
            self._inside.engine.wake_at(
                self._inside.engine.clock() + self._inside.settings.pod_gc_seconds, PODGC, key_of(new)
            )
        if resource is PODS and old is None and node_of(new) and not self._store.get(NODES, node_of(new)):
            self._check_later(key_of(new))

    def _on_gone(self, resource: ResourceType, obj: Json) -> None:
        self._owners.discard(uid_of(obj))
        engine, index = self._inside.engine, self._inside.index
        for kind, key in index.owned.get(uid_of(obj), ()):
            engine.wake(OWNERS, f"{kind.plural}:{key}")
        for reference in obj["metadata"].get("ownerReferences") or []:
            owner_key = f"{namespace_of(obj)}/{reference['name']}"
            engine.wake(OWNERS, f"{reference['kind'].lower()}s:{owner_key}")
        if resource is NODES:
            for key in index.pods_by_node.get(name_of(obj), ()):
                self._check_later(key)
        if resource.namespaced:
            namespace = self._store.get(NAMESPACES, namespace_of(obj))
            if namespace and is_terminating(namespace):
                engine.wake(NAMESPACE, namespace_of(obj))

    def _check_later(self, pod: str) -> None:
        later = self._inside.engine.clock() + self._inside.settings.vanished_node_seconds
        self._inside.engine.wake_at(later, PODGC, pod)

    # owners

    def _collect(self, item: str) -> None:
        plural, _, key = item.partition(":")
        resource = BY_PLURAL.get(plural)
        obj = self._store.get(resource, key) if resource else None
        if resource is None or obj is None:
            return
        with self._store.batch():
            if is_terminating(obj):
                self._let_go(resource, obj)
            elif self._is_ownerless(obj):
                delete_object(self._store, resource, obj, "Background", None)

    def _is_ownerless(self, obj: Json) -> bool:
        uids = owner_uids(obj)
        return bool(uids) and not any(uid in self._owners for uid in uids)

    def _let_go(self, resource: ResourceType, obj: Json) -> None:
        """Finish a foreground or orphaning deletion."""
        dependents = list(self._inside.index.owned.get(uid_of(obj), ()))
        if ORPHAN in finalizers_of(obj):
            for kind, key in dependents:
                self._orphan(kind, key, uid_of(obj))
            obj = self._store.update(resource, without_finalizer(obj, ORPHAN))
        if FOREGROUND in finalizers_of(obj):
            if not dependents:
                self._store.update(resource, without_finalizer(obj, FOREGROUND))
            for kind, key in dependents:
                dependent = self._store.get(kind, key)
                if dependent and not is_terminating(dependent):
                    delete_object(self._store, kind, dependent, "Background", None)

    def _orphan(self, resource: ResourceType, key: str, owner: str) -> None:
        if obj := self._store.get(resource, key):
            left = [ref for ref in obj["metadata"]["ownerReferences"] if ref["uid"] != owner]
            self._store.update(resource, with_meta(obj, ownerReferences=left))

    # pods

    def _collect_pod(self, key: str) -> None:
        """Pods of a node that doesn't exist, and deleted ones that never had any: nobody will ever report on them."""
        pod = self._store.get(PODS, key)
        if pod is None or self._store.get(NODES, node_of(pod)) or (not node_of(pod) and not is_terminating(pod)):
            return
        now = self._inside.engine.clock()
        with self._store.batch():
            if not is_terminal_pod(pod):
                if node_of(pod):
                    pod = disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists", now)
                pod = {**pod, "status": {**pod["status"], "phase": "Failed"}}
                pod = self._store.update(PODS, pod)
            delete_object(self._store, PODS, pod, "Background", 0)

    def _collect_old(self, _key: str) -> None:
        self._drop_old_events()
        self._drop_finished_pods()
        self._inside.engine.wake_at(self._inside.engine.clock() + self._inside.settings.sweep_seconds, OLD)

    def _drop_old_events(self) -> None:
        settings, now = self._inside.settings, self._inside.engine.clock()
        surplus = self._store.count(EVENTS) - settings.max_events
        old = []
        for at, (key, entry) in enumerate(self._store.by_age(EVENTS)):
            if at >= surplus and now - _last_seen(entry.obj) < settings.event_ttl_seconds:
                break
            old.append(key)
        with self._store.batch():
            for key in old:
                self._store.remove(EVENTS, key)

    def _drop_finished_pods(self) -> None:
        phases = [(entry.facts.fields["status.phase"], entry) for _, entry in self._store.by_age(PODS)]
        ended = [entry for phase, entry in phases if phase in {"Succeeded", "Failed"}]
        surplus = len(ended) - self._inside.settings.max_terminated_pods
        if surplus <= 0:
            return
        finished = [pod for pod in (entry.obj for entry in ended) if not is_terminating(pod)]
        evicted_first = sorted(finished, key=lambda pod: (pod["status"].get("reason") != "Evicted", _created(pod)))
        for pod in evicted_first[:surplus]:
            delete_object(self._store, PODS, pod, "Background", 0)

    # namespaces

    def _empty(self, name: str) -> None:
        namespace = self._store.get(NAMESPACES, name)
        if namespace is None or not is_terminating(namespace):
            return
        # Pods go first, so that nothing that they depend on goes before them.
        if self._delete_all(name, [PODS]):
            return
        if not self._delete_all(name, [resource for resource in ALL if resource.namespaced and resource is not PODS]):
            self._store.update(NAMESPACES, {**namespace, "spec": {}})

    def _delete_all(self, namespace: str, resources: list[ResourceType]) -> int:
        """How many objects are still there."""
        left = 0
        for resource in resources:
            for key in self._store.keys(resource):
                if split_key(key)[0] == namespace:
                    left += self._delete_content(resource, key)
        return left

    def _delete_content(self, resource: ResourceType, key: str) -> int:
        obj = self._store.get(resource, key)
        if obj is None:
            return 0
        if is_terminating(obj):
            return 1
        return 0 if delete_object(self._store, resource, obj, "Background", None).gone else 1


def _last_seen(event: Json) -> float:
    return parse_stamp(event.get("lastTimestamp") or event["metadata"]["creationTimestamp"])


def _created(pod: Json) -> str:
    return str(pod["metadata"]["creationTimestamp"])
