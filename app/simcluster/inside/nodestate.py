"""A simulated node's own state (lost or not, which devices are bad) and the Node document made of it. Pure but for
reading and writing the note."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import orjson

from app.simcluster.fleet import DEVICES_ANNOTATION, GPU_RESOURCE, GPUS_ANNOTATION, VERSION, gpu_uuids
from app.simcluster.meta import Json, name_of, put_condition, stamp, with_meta
from app.simcluster.settings import Settings
from app.simcluster.store import Store

TABLE = "nodes"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_DEFAULT_CAPACITY = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1Ti", "pods": "110"}
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


@dataclass(frozen=True, slots=True)
class NodeState:
    lost_since: float | None = None
    back_at: float | None = None
    unhealthy: tuple[str, ...] = ()

    @classmethod
    def of(cls, store: Store, name: str) -> NodeState:
        value = store.noted(TABLE, name) or {}
        return cls(**{**value, "unhealthy": tuple(value.get("unhealthy", ()))})

    def save(self, store: Store, name: str) -> None:
        store.note(TABLE, name, asdict(self))

    def healthy(self, node: Json) -> dict[str, list[str]]:
        """By resource name."""
        return {name: [it for it in ids if it not in self.unhealthy] for name, ids in devices_of(node).items()}

    def with_health(self, device: str, *, healthy: bool) -> NodeState:
        others = tuple(item for item in self.unhealthy if item != device)
        return replace(self, unhealthy=others if healthy else (*others, device))


def devices_of(node: Json) -> dict[str, tuple[str, ...]]:
    """The ids of its GPUs, slices and shares, by resource name."""
    notes = node["metadata"].get("annotations") or {}
    if told := notes.get(DEVICES_ANNOTATION):
        return _read(told)
    capacity = (node.get("status") or {}).get("capacity") or {}
    count = int(notes.get(GPUS_ANNOTATION) or capacity.get(GPU_RESOURCE, "0"))
    return {GPU_RESOURCE: gpu_uuids(name_of(node), count)} if count else {}


@lru_cache(maxsize=1024)
def _read(told: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(ids) for name, ids in orjson.loads(told).items()}


def observed_node(node: Json, state: NodeState, now: float, settings: Settings) -> Json:
    """The node as it should be: its kubelet's report, or what is concluded when there is none."""
    lost = state.lost_since is not None and now >= state.lost_since + settings.node_grace_seconds
    status = {**(node.get("status") or {})}
    if state.lost_since is None:
        status |= _report(node, state, now, settings)
    elif lost:
        status["conditions"] = _unknown(status.get("conditions") or [], now)
    node = with_meta(node, labels=_labels(node))
    return {**node, "spec": _spec(node, now, lost=lost), "status": status}


def _labels(node: Json) -> dict[str, str]:
    own = {"kubernetes.io/hostname": name_of(node), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {**own, **(node["metadata"].get("labels") or {})}


def _spec(node: Json, now: float, *, lost: bool) -> Json:
    spec = {**(node.get("spec") or {})}
    wanted = {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")} if lost else set()
    if spec.get("unschedulable"):
        wanted.add((UNSCHEDULABLE, "NoSchedule"))
    old: list[Json] = spec.get("taints") or []
    ours = {UNREACHABLE, UNSCHEDULABLE}
    kept = [item for item in old if item["key"] not in ours or (item["key"], item["effect"]) in wanted]
    there = {(item["key"], item["effect"]) for item in kept}
    new = [{"key": key, "effect": effect, "timeAdded": stamp(now)} for key, effect in sorted(wanted - there)]
    taints = [*kept, *new]
    return {name: value for name, value in {**spec, "taints": taints}.items() if value}


def _report(node: Json, state: NodeState, now: float, settings: Settings) -> Json:
    status = node.get("status") or {}
    capacity = {**_DEFAULT_CAPACITY, **(status.get("capacity") or {})}
    allocatable = {**capacity}
    for name, ids in devices_of(node).items():
        capacity[name] = str(len(ids))
        allocatable[name] = str(sum(1 for device in ids if device not in state.unhealthy))
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": _reported(status.get("conditions") or [], now, settings),
        "addresses": [
            {"type": "InternalIP", "address": address_of(name_of(node))},
            {"type": "Hostname", "address": name_of(node)},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _node_info(name_of(node)),
        "images": status.get("images", []),
    }


def _reported(old: list[Json], now: float, settings: Settings) -> list[Json]:
    """The heartbeat moves in steps, so that looking at a node again changes nothing."""
    beat = stamp(now - now % settings.heartbeat_seconds if settings.heartbeat_seconds >= 1 else now)
    conditions = old
    for kind, status, reason, message in _CONDITIONS:
        before = next((item for item in old if item["type"] == kind), None)
        if before and before["status"] == status and before["lastHeartbeatTime"] >= beat:
            continue
        condition = {"type": kind, "status": status, "lastHeartbeatTime": stamp(now)}
        facts = {"lastTransitionTime": stamp(now), "reason": reason, "message": message}
        conditions = put_condition(conditions, {**condition, **facts})
    return conditions


def _unknown(old: list[Json], now: float) -> list[Json]:
    return [
        item
        if item["status"] == "Unknown"
        else {
            **item,
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": stamp(now),
        }
        for item in old
    ]


def address_of(name: str) -> str:
    digest = hashlib.sha256(name.encode()).digest()
    return f"192.168.{digest[0]}.{digest[1]}"


def _node_info(name: str) -> Json:
    machine = hashlib.sha256(name.encode()).hexdigest()[:32]
    return {
        "machineID": machine,
        "systemUUID": machine,
        "bootID": f"{machine[:8]}-{machine[8:12]}-{machine[12:16]}-{machine[16:20]}-{machine[20:]}",
        "kernelVersion": "6.1.0-simulated",
        "osImage": "GPUYard simulated node",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kubeletVersion": VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
