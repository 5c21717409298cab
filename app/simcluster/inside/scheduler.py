"""Binds pods to nodes. Pods that fit nowhere are tried again when a node or a pod frees something."""

from __future__ import annotations

from app.simcluster.inside.context import Inside
from app.simcluster.inside.engine import Engine
from app.simcluster.inside.events import SCHEDULER
from app.simcluster.inside.scheduling import ENOUGH, NodeView, Reasons, Request, choose, unschedulable_message
from app.simcluster.meta import (
    Json,
    condition_of,
    is_terminal_pod,
    is_terminating,
    key_of,
    name_of,
    node_of,
    put_condition,
    stamp,
    uid_of,
    with_status,
)
from app.simcluster.resources import NODES, PODS

NAME = "scheduler"


class Scheduler:
    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._engine: Engine = inside.engine
        self._nodes: dict[str, NodeView] = {}
        self._requests: dict[str, Request] = {}
        self._turn = 0  # where the next search of a big fleet begins
        self._waiting: set[str] = set()  # tried, and nothing has been freed since
        inside.engine.handle(NAME, self._schedule)
        inside.store.subscribe(NODES, self._on_node)
        inside.store.subscribe(PODS, self._on_pod)
        for node in inside.store.objects(NODES):
            self._on_node(None, node)
        self._engine.wake(NAME)

    def _on_node(self, old: Json | None, new: Json | None) -> None:
        name = name_of(new or old or {})
        view = NodeView.of(new) if new else None
        if view == self._nodes.get(name):
            return  # a heartbeat
        if view:
            self._nodes[name] = view
        else:
            self._nodes.pop(name, None)
        self._freed()

    def _on_pod(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            self._requests.pop(uid_of(old or {}), None)
            self._waiting.discard(key_of(old or {}))
        if new and not node_of(new) and not is_terminal_pod(new):
            self._engine.wake(NAME, key_of(new))
        if old and node_of(old) and not is_terminal_pod(old) and (new is None or is_terminal_pod(new)):
            self._freed()

    def _freed(self) -> None:
        if self._waiting:
            self._engine.wake_at(self._engine.clock() + self._inside.settings.reschedule_seconds, NAME)

    def _schedule(self, key: str) -> None:
        """One pod, or with no key all that wait."""
        if key:
            pod = self._inside.store.get(PODS, key)
            if pod and key not in self._waiting:
                self._try(pod, {})
            return
        pods = [self._inside.store.get(PODS, key) for key in self._inside.index.unbound]
        refused: dict[bytes, list[Reasons]] = {}
        for pod in sorted((pod for pod in pods if pod), key=_queue_order):
            self._try(pod, refused)

    def _try(self, pod: Json, refused: dict[bytes, list[Reasons]]) -> None:
        """`refused` remembers, within one pass, the shapes that fit nowhere."""
        if not _wants_node(pod):
            return
        request = self._request(pod)
        self._turn = (self._turn + ENOUGH) % (len(self._nodes) or 1)
        start = self._turn if len(self._nodes) > ENOUGH else 0
        answer = refused.get(request.shape) or choose(request, self._nodes, self._inside.index.used, start)
        if isinstance(answer, str):
            self._bind(pod, answer)
            return
        refused[request.shape] = answer
        self._waiting.add(key_of(pod))
        self._tell_unschedulable(pod, unschedulable_message(answer))

    def _bind(self, pod: Json, node: str) -> None:
        inside = self._inside
        self._waiting.discard(key_of(pod))
        self._requests.pop(uid_of(pod), None)
        with inside.store.batch():
            bound = inside.store.update(PODS, bound_pod(pod, node, inside.engine.clock()))
            words = f"Successfully assigned {key_of(pod)} to {node}"
            inside.events.normal(bound, "Scheduled", words, SCHEDULER)

    def _tell_unschedulable(self, pod: Json, message: str) -> None:
        old = condition_of(pod, "PodScheduled")
        if old and old.get("message") == message:
            return
        condition = {
            "type": "PodScheduled",
            "observedGeneration": pod["metadata"].get("generation", 1),
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": stamp(self._engine.clock()),
            "reason": "Unschedulable",
            "message": message,
        }
        conditions = put_condition((pod.get("status") or {}).get("conditions") or [], condition)
        with self._inside.store.batch():
            pod = self._inside.store.update(PODS, with_status(pod, conditions=conditions))
            self._inside.events.warning(pod, "FailedScheduling", message, SCHEDULER)

    def _request(self, pod: Json) -> Request:
        uid = uid_of(pod)
        if uid not in self._requests or is_terminating(pod):
            self._requests[uid] = Request.of(pod, self._inside.index.requests(pod))
        return self._requests[uid]


def bound_pod(pod: Json, node: str, now: float) -> Json:
    """The pod on its node, as the binding subresource leaves it."""
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
    conditions = put_condition((pod.get("status") or {}).get("conditions") or [], condition)
    pod = {**pod, "spec": {**pod["spec"], "nodeName": node}}
    return with_status(pod, conditions=conditions)


def _wants_node(pod: Json) -> bool:
    held = pod["spec"].get("schedulingGates")
    ours = pod["spec"].get("schedulerName", SCHEDULER) == SCHEDULER
    return ours and not (node_of(pod) or is_terminal_pod(pod) or is_terminating(pod) or held)


def _queue_order(pod: Json) -> tuple[int, str, str]:
    return -int(pod["spec"].get("priority") or 0), pod["metadata"]["creationTimestamp"], key_of(pod)
