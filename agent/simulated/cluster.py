"""The fleet of the simulated cluster: its nodes with their GPUs, and what its pods do with them, read over its API."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import yaml

from agent.report import Device, Holder
from agent.simulated.servers import FleetError, SimulatedGpu, SimulatedPod, SimulatedServer, Work, boot_of

Json = dict[str, Any]

_SECONDS = 10.0
# How the driver writes products that the cluster's labels write otherwise; what they draw, and how fast they are.
_PRODUCTS = {
    "NVIDIA-H100-80GB-HBM3": ("NVIDIA H100 80GB HBM3", 700, 1980),
    "NVIDIA-A100-SXM4-80GB": ("NVIDIA A100-SXM4-80GB", 400, 1410),
    "NVIDIA-A100-SXM4-40GB": ("NVIDIA A100-SXM4-40GB", 400, 1410),
    "NVIDIA-L40S": ("NVIDIA L40S", 350, 2520),
    "Tesla-T4": ("Tesla T4", 70, 1590),
}
_OTHER_WATTS, _OTHER_MEGAHERTZ = 300, 1700
# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
_UNITS = {"m": 1e-3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True, slots=True)
class _Use:
    """A running container with a device."""

    holder: Holder
    work: Work


class ClusterFleet:
    """Reads the whole cluster at each look: it is small."""

    def __init__(self, kubeconfig: Path) -> None:
        try:
            config = yaml.safe_load(kubeconfig.read_text())
            cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
            authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
            headers = {"Authorization": f"Bearer {user['token']}"}
            url = str(cluster["server"])
        except (OSError, ValueError, TypeError, LookupError, yaml.YAMLError) as error:
            raise FleetError(f"{kubeconfig} is no kubeconfig of a simulated cluster: {error!r}") from None
        trust = ssl.create_default_context(cadata=authority)
        self._client = httpx2.Client(base_url=url, headers=headers, verify=trust, timeout=_SECONDS, trust_env=False)

    def servers(self, _: datetime) -> list[SimulatedServer]:
        nodes = {node["metadata"]["name"]: node for node in self._get("/api/v1/nodes")["items"]}
        pods = self._get("/api/v1/pods")["items"]
        uses = {use.holder.device: use for use in _uses(pods)}
        states = self._get("/simcluster/nodes")["nodes"]
        return [
            _server(nodes[state["name"]], state, uses, [pod for pod in pods if _node_of(pod) == state["name"]])
            for state in states
            if state["gpus"] and not state["lost"] and state["name"] in nodes
        ]

    def close(self) -> None:
        self._client.close()

    def _get(self, path: str) -> Json:
        try:
            response = self._client.get(path)
            response.raise_for_status()
            found: Json = response.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise FleetError(f"the simulated cluster does not tell {path}: {error!r}") from None
        return found


def _uses(pods: list[Json]) -> Iterator[_Use]:
    for pod in pods:
        for status in (pod.get("status") or {}).get("containerStatuses") or []:
            running = (status.get("state") or {}).get("running")
            if running:
                yield from _container(pod["metadata"], status, datetime.fromisoformat(running["startedAt"]))


def _container(pod: Json, status: Json, since: datetime) -> Iterator[_Use]:
    for resource in status.get("allocatedResourcesStatus") or []:
        for each in resource.get("resources") or []:
            device, _, replica = each["resourceID"].partition("::")
            holder = Holder(device, pod["namespace"], pod["name"], pod["uid"], status["name"], bool(replica))
            yield _Use(holder, Work(f"{pod['uid']}/{device}", since))


def _node_of(pod: Json) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


def _running(pods: list[Json]) -> Iterator[SimulatedPod]:
    for pod in pods:
        states = [each.get("state") or {} for each in (pod.get("status") or {}).get("containerStatuses") or []]
        starts = [datetime.fromisoformat(it["running"]["startedAt"]) for it in states if it.get("running")]
        if starts:
            asked = [(each.get("resources") or {}).get("requests") or {} for each in pod["spec"]["containers"]]
            cores = sum(amount(str(each.get("cpu", "0"))) for each in asked)
            memory = sum(amount(str(each.get("memory", "0"))) for each in asked) / 2**20
            yield SimulatedPod(Work(pod["metadata"]["uid"], min(starts)), cores, memory)


def amount(quantity: str) -> float:
    """A number as Kubernetes writes it: "500m", "4", "16Gi"."""
    for unit, size in _UNITS.items():
        if quantity.endswith(unit):
            return float(quantity.removesuffix(unit)) * size
    return float(quantity)


def _server(node: Json, state: Json, uses: Mapping[str, _Use], pods: list[Json]) -> SimulatedServer:
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    gpus = tuple(
        _gpu(index, each["uuid"], labels, uses.get(each["uuid"]), is_healthy=each["healthy"])
        for index, each in enumerate(state["gpus"])
    )
    return SimulatedServer(
        name=state["name"],
        boot_id=boot_of(state["name"]),
        driver=labels.get("nvidia.com/cuda.driver-version.full", ""),
        cuda=labels.get("nvidia.com/cuda.runtime-version.full", ""),
        gpus=gpus,
        holders=tuple(uses[each["uuid"]].holder for each in state["gpus"] if each["uuid"] in uses),
        pods=tuple(_running(pods)),
    )


def _gpu(index: int, uuid: str, labels: Mapping[str, str], use: _Use | None, *, is_healthy: bool) -> SimulatedGpu:
    label = labels.get("nvidia.com/gpu.product", "")
    product, watts, megahertz = _PRODUCTS.get(label, (label, _OTHER_WATTS, _OTHER_MEGAHERTZ))
    memory = labels.get("nvidia.com/gpu.memory", "")
    major, minor = labels.get("nvidia.com/gpu.compute.major"), labels.get("nvidia.com/gpu.compute.minor")
    device = Device(
        uuid=uuid,
        index=index,
        pci_bus_id=f"00000000:{0x18 + 8 * index:02X}:00.0",
        product=product,
        memory_mib=int(memory) if memory.isdecimal() else None,
        architecture=labels.get("nvidia.com/gpu.family", "").replace("-", " ").title(),
        compute_capability=f"{major}.{minor}" if major and minor else "",
        mig_enabled=False if labels.get("nvidia.com/mig.capable") == "true" else None,
        persistence_mode=True,
        compute_mode="default",
    )
    return SimulatedGpu(device, watts, megahertz, is_healthy, use.work if use else None)
