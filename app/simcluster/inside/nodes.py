"""Nodes over time: heartbeats and leases, being lost and coming back, bad devices, and eviction by NoExecute taints."""

from __future__ import annotations

from dataclasses import replace

from app.simcluster.inside import kubelet as kubelets
from app.simcluster.inside.context import Inside
from app.simcluster.inside.deletion import delete_pod, disrupted
from app.simcluster.inside.nodestate import TABLE, NodeState, observed_node
from app.simcluster.inside.scheduling import tolerates
from app.simcluster.meta import (
    Json,
    has_condition,
    is_terminal_pod,
    is_terminating,
    key_of,
    micro_stamp,
    name_of,
    node_of,
    parse_stamp,
    put_condition,
    stamp,
    with_status,
)
from app.simcluster.resources import LEASES, NODES, PODS

NAME = "nodes"
EVICT = "taint-eviction"
LEASE = "node-lease"
_LEASE_NAMESPACE = "kube-node-lease"


class Nodes:
    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        inside.engine.handle(NAME, self._sync)
        inside.engine.handle(EVICT, self._evict)
        inside.engine.handle(LEASE, self._renew)
        inside.store.subscribe(NODES, self._on_node)
        inside.store.subscribe(PODS, self._on_pod)
        for node in inside.store.objects(NODES):
            self._on_node(None, node)
        inside.engine.wake(LEASE)

    # what somebody may do to a node from outside

    def lose(self, name: str, back_seconds: float | None = None) -> None:
        now = self._inside.engine.clock()
        back_at = None if back_seconds is None else now + back_seconds
        self._change(name, lost_since=now, back_at=back_at)

    def bring_back(self, name: str) -> None:
        self._change(name, lost_since=None, back_at=None)

    def set_device(self, name: str, device: str, *, healthy: bool) -> None:
        state = NodeState.of(self._inside.store, name).with_health(device, healthy=healthy)
        state.save(self._inside.store, name)
        self._wake(name)

    def _change(self, name: str, *, lost_since: float | None, back_at: float | None) -> None:
        state = NodeState.of(self._inside.store, name)
        replace(state, lost_since=lost_since, back_at=back_at).save(self._inside.store, name)
        self._wake(name)

    def _wake(self, name: str) -> None:
        self._inside.engine.wake(NAME, name)
        for key in self._inside.index.pods_by_node.get(name, ()):
            self._inside.engine.wake(kubelets.NAME, key)

    # the loop

    def _on_node(self, old: Json | None, new: Json | None) -> None:
        name = name_of(new or old or {})
        self._inside.engine.wake(NAME, name)
        if new and (old is None or old["spec"].get("taints") != new["spec"].get("taints")):
            for key in self._inside.index.pods_by_node.get(name, ()):
                self._inside.engine.wake(EVICT, key)
        if new and old is None:
            for key in self._inside.index.pods_by_node.get(name, ()):
                self._inside.engine.wake(kubelets.NAME, key)

    def _on_pod(self, old: Json | None, new: Json | None) -> None:
        if new and node_of(new) and (old is None or not node_of(old)):
            self._inside.engine.wake(EVICT, key_of(new))

    def _sync(self, name: str) -> None:
        inside, now = self._inside, self._inside.engine.clock()
        node = inside.store.get(NODES, name)
        if node is None:
            inside.store.forget(TABLE, name)
            return
        if is_terminating(node):
            return
        state = NodeState.of(inside.store, name)
        if state.back_at is not None and now >= state.back_at:
            self.bring_back(name)
            return
        self._tell(node, observed_node(node, state, now, inside.settings))
        for when in self._times(state, now):
            inside.engine.wake_at(when, NAME, name)

    def _times(self, state: NodeState, now: float) -> list[float]:
        if state.lost_since is None:
            return [now + self._inside.settings.heartbeat_seconds]
        noticed = state.lost_since + self._inside.settings.node_grace_seconds
        return [when for when in (noticed, state.back_at) if when is not None and when > now]

    def _tell(self, old: Json, new: Json) -> None:
        inside = self._inside
        with inside.store.batch():
            new = inside.store.update(NODES, new)
            was, ready = has_condition(old, "Ready"), has_condition(new, "Ready")
            if ready and not was:
                words = f"Node {name_of(new)} status is now: NodeReady"
                inside.events.normal(new, "NodeReady", words, "kubelet")
            elif was and not ready:
                words = f"Node {name_of(new)} status is now: NodeNotReady"
                inside.events.normal(new, "NodeNotReady", words, "node-controller")
                self._mark_pods_not_ready(name_of(new))

    def _mark_pods_not_ready(self, name: str) -> None:
        now = self._inside.engine.clock()
        for key in list(self._inside.index.active_by_node.get(name, ())):
            pod = self._inside.store.get(PODS, key)
            if pod is None or not has_condition(pod, "Ready"):
                continue
            generation = pod["metadata"].get("generation", 1)
            condition = {"type": "Ready", "observedGeneration": generation, "status": "False", "lastProbeTime": None}
            condition = {**condition, "lastTransitionTime": stamp(now)}
            conditions = put_condition(pod["status"]["conditions"], condition)
            self._inside.store.update(PODS, with_status(pod, conditions=conditions))

    # eviction by taint

    def _evict(self, key: str) -> None:
        pod = self._inside.store.get(PODS, key)
        if pod is None or is_terminal_pod(pod) or is_terminating(pod):
            return
        node = self._inside.store.get(NODES, node_of(pod))
        when = eviction_time(pod, node) if node else None
        now = self._inside.engine.clock()
        if when is None:
            return
        if when > now:
            self._inside.engine.wake_at(when, EVICT, key)
            return
        message = "Taint manager: deleting due to NoExecute taint"
        with self._inside.store.batch():
            words = f"Marking for deletion Pod {key}"
            self._inside.events.normal(pod, "TaintManagerEviction", words, "taint-eviction-controller")
            pod = self._inside.store.update(PODS, disrupted(pod, "DeletionByTaintManager", message, now))
            delete_pod(self._inside.store, pod, None)

    # leases

    def _renew(self, _key: str) -> None:
        inside, now = self._inside, self._inside.engine.clock()
        with inside.store.batch():
            for node in inside.store.objects(NODES):
                if NodeState.of(inside.store, name_of(node)).lost_since is None:
                    self._renew_one(node, now)
        inside.engine.wake_at(now + inside.settings.lease_seconds, LEASE)

    def _renew_one(self, node: Json, now: float) -> None:
        name = name_of(node)
        old = self._inside.store.get(LEASES, f"{_LEASE_NAMESPACE}/{name}")
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micro_stamp(now)}
        if old:
            self._inside.store.update(LEASES, {**old, "spec": spec})
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        metadata = {"name": name, "namespace": _LEASE_NAMESPACE, "ownerReferences": [owner]}
        self._inside.store.create(LEASES, {"metadata": metadata, "spec": spec})


def eviction_time(pod: Json, node: Json) -> float | None:
    """When the node's NoExecute taints drive the pod out; None: they don't."""
    times = [
        when
        for taint in node["spec"].get("taints") or []
        if taint["effect"] == "NoExecute"
        for when in [_tolerated_until(pod["spec"].get("tolerations") or [], taint)]
        if when is not None
    ]
    return min(times, default=None)


def _tolerated_until(tolerations: list[Json], taint: Json) -> float | None:
    added = parse_stamp(taint["timeAdded"]) if taint.get("timeAdded") else 0.0
    matching = [item for item in tolerations if tolerates([item], taint)]
    if not matching:
        return added
    limits = [float(item["tolerationSeconds"]) for item in matching if item.get("tolerationSeconds") is not None]
    return added + min(limits) if limits else None
