"""The kubelets of all simulated nodes: they take bound pods, run them on a timeline and report.

One object for all nodes, since a node's kubelet has no state but its pods' notes. A lost node is one whose
pods this module leaves alone until the node is back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from app.simcluster.inside import lifecycle
from app.simcluster.inside.admission import Refused, admit
from app.simcluster.inside.behaviour import FROM_OUTSIDE, Behaviour, Exit, Outcome, behaviour_of
from app.simcluster.inside.context import Inside
from app.simcluster.inside.deletion import delete_pod
from app.simcluster.inside.logs import LogScript
from app.simcluster.inside.nodestate import NodeState, address_of, devices_of
from app.simcluster.inside.podstatus import PodView, pod_status, rejected_status
from app.simcluster.inside.reports import report
from app.simcluster.inside.run import TABLE, PodRun
from app.simcluster.inside.timeline import ContainerState, Ended, plan_of
from app.simcluster.meta import Json, all_containers, is_terminal_pod, is_terminating, key_of, node_of, uid_of
from app.simcluster.quantity import amounts
from app.simcluster.resources import NODES, PODS

NAME = "kubelet"


class Kubelet:
    def __init__(self, inside: Inside, happen: Callable[[Outcome, Json, Behaviour], None]) -> None:
        self._inside = inside
        self._happen = happen
        self._held: dict[str, dict[str, str]] = {}  # node: device: uid of the pod that holds it
        self._behaviours: dict[str, dict[str, Behaviour]] = {}
        for uid, value in inside.store.notes(TABLE).items():
            self._hold(uid, PodRun.from_json(value))
        inside.engine.handle(NAME, self._sync)
        inside.store.subscribe(PODS, self._on_pod)
        for pod in inside.store.objects(PODS):
            self._on_pod(None, pod)

    def run_of(self, pod: Json) -> PodRun | None:
        value = self._inside.store.noted(TABLE, uid_of(pod))
        return PodRun.from_json(value) if value else None

    def behaviour(self, pod: Json, container: str) -> Behaviour:
        return self._behaviours_of(pod)[container]

    def exit(self, pod: Json, code: int) -> None:
        """The containers of a running pod write what is left of their logs and end, as though by themselves."""
        if run := self.run_of(pod):
            self._save(pod, replace(run, told=Exit(self._inside.engine.clock(), code)))
            self._behaviours.pop(uid_of(pod), None)
            self._inside.engine.wake(NAME, key_of(pod))

    def _on_pod(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            if old is not None:
                self._forget(uid_of(old))
            return
        if is_terminal_pod(new):
            self._release(uid_of(new))
        if node_of(new):
            self._inside.engine.wake(NAME, key_of(new))

    def _sync(self, key: str) -> None:
        inside = self._inside
        pod = inside.store.get(PODS, key)
        if pod is None or not node_of(pod):
            return
        node = inside.store.get(NODES, node_of(pod))
        if node is None or NodeState.of(inside.store, node_of(pod)).lost_since is not None:
            return
        with inside.store.batch():
            if is_terminal_pod(pod):
                self._finish_deletion(pod)
            elif run := self.run_of(pod) or self._admit(pod, node):
                self._advance(pod, node, run)

    def _admit(self, pod: Json, node: Json) -> PodRun | None:
        inside = self._inside
        allocatable = amounts(node["status"].get("allocatable") or {})
        requests = inside.index.requests(pod)
        others = inside.index.used[node_of(pod)]
        used = {name: amount - requests.get(name, 0) for name, amount in others.items()}
        answer = admit(pod, requests, allocatable, used, self._free(node), self._outcome(pod))
        now = inside.engine.clock()
        if isinstance(answer, Refused):
            status = rejected_status(pod, answer.reason, answer.message, now)
            inside.store.update(PODS, {**pod, "status": status})
            inside.events.warning(pod, answer.reason, answer.message, "kubelet")
            return None
        run = PodRun(key_of(pod), node_of(pod), now, answer.devices)
        self._save(pod, run)
        self._hold(uid_of(pod), run)
        return run

    def _advance(self, pod: Json, node: Json, run: PodRun) -> None:
        inside, now = self._inside, self._inside.engine.clock()
        run = self._fire(pod, run, now)
        step = lifecycle.advance(pod, run, self._behaviours_of(pod), now, inside.settings)
        if step.run != run:
            self._save(pod, step.run)
        current = inside.store.get(PODS, key_of(pod))
        if current is None or is_terminal_pod(current):
            return  # what happened from outside has ended it
        state = NodeState.of(inside.store, node_of(pod))
        healthy = frozenset(device for ids in state.healthy(node).values() for device in ids)
        resources = {device: name for name, ids in devices_of(node).items() for device in ids}
        words = self._last_words(pod, {**step.states, **step.inits})
        view = PodView(step.states, step.finished, healthy, resources, address_of(node_of(pod)), words, step.inits)
        new = {**current, "status": pod_status(current, step.run, view, now)}
        report(inside.events, current, new, step.run, self._behaviours_of(pod))
        inside.store.update(PODS, new)
        if step.next_at is not None:
            inside.engine.wake_at(step.next_at, NAME, key_of(pod))

    def _last_words(self, pod: Json, states: Mapping[str, ContainerState]) -> dict[str, str]:
        words: dict[str, str] = {}
        for container in all_containers(pod):
            state = states[container["name"]]
            asked = container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
            if asked and isinstance(state, Ended) and state.code and state.started:
                behaviour = self._behaviours_of(pod)[container["name"]]
                script = LogScript.of(behaviour, state.started, state.finished)
                words[container["name"]] = script.last_words(self._inside.engine.clock())
        return words

    def _fire(self, pod: Json, run: PodRun, now: float) -> PodRun:
        """Do what SIM_OUTCOME lets happen from outside, once, when the container has run its time."""
        name = next((n for n, b in self._behaviours_of(pod).items() if b.outcome in FROM_OUTSIDE), None)
        if name is None or run.fired:
            return run
        behaviour = self._behaviours_of(pod)[name]
        due = plan_of(behaviour, run.try_of(name).since, self._inside.settings).start + behaviour.seconds
        if now < due:
            self._inside.engine.wake_at(due, NAME, key_of(pod))
            return run
        run = lifecycle.stopped_by_kubelet(replace(run, fired=True), pod, behaviour.outcome, now)
        self._save(pod, run)
        self._happen(behaviour.outcome, pod, behaviour)
        return run

    def _finish_deletion(self, pod: Json) -> None:
        """The last word of a kubelet: the grace period is over, the object may go."""
        if is_terminating(pod) and pod["metadata"].get("deletionGracePeriodSeconds"):
            delete_pod(self._inside.store, pod, 0)

    def _free(self, node: Json) -> dict[str, list[str]]:
        """By resource name, the healthy devices that no active pod holds."""
        held = self._held.get(node["metadata"]["name"], {})
        state = NodeState.of(self._inside.store, node["metadata"]["name"])
        return {name: [it for it in ids if it not in held] for name, ids in state.healthy(node).items()}

    def _outcome(self, pod: Json) -> Outcome:
        behaviours = self._behaviours_of(pod)
        outcomes = [behaviours[container["name"]].outcome for container in pod["spec"]["containers"]]
        return next((outcome for outcome in outcomes if outcome is not Outcome.EXIT), Outcome.EXIT)

    def _behaviours_of(self, pod: Json) -> dict[str, Behaviour]:
        uid = uid_of(pod)
        if uid not in self._behaviours:
            settings = self._inside.settings
            read = {item["name"]: behaviour_of(item, settings) for item in all_containers(pod)}
            if (run := self.run_of(pod)) and run.told:
                own = [item["name"] for item in pod["spec"]["containers"]]
                read |= {name: replace(read[name], told=run.told) for name in own}
            self._behaviours[uid] = read
        return self._behaviours[uid]

    def _save(self, pod: Json, run: PodRun) -> None:
        self._inside.store.note(TABLE, uid_of(pod), run.to_json())

    def _hold(self, uid: str, run: PodRun) -> None:
        pod = self._inside.store.get(PODS, run.key)
        if pod is None or uid_of(pod) != uid or is_terminal_pod(pod):
            return
        for devices in run.devices.values():
            self._held.setdefault(run.node, {}).update(dict.fromkeys(devices, uid))

    def _release(self, uid: str) -> None:
        value = self._inside.store.noted(TABLE, uid)
        if value is None:
            return
        held = self._held.get(value["node"], {})
        for devices in value["devices"].values():
            for device in devices:
                if held.get(device) == uid:
                    del held[device]

    def _forget(self, uid: str) -> None:
        self._release(uid)
        self._behaviours.pop(uid, None)
        self._inside.store.forget(TABLE, uid)
