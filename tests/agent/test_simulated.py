"""Simulated servers: their curves, and the simulated cluster's GPUs with what its pods do on them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.look import Look
from agent.report import Device, DriverState, Health, HealthReason, Sample
from agent.simulated.cluster import ClusterFleet, amount
from agent.simulated.collector import FleetCollector
from agent.simulated.curves import pod_sample_of, sample_of
from agent.simulated.servers import FleetError, InventedFleet, SimulatedGpu, SimulatedPod, Work
from app.simcluster.fleet import NodeSpec, gpu_uuids
from app.simcluster.server import running
from app.simcluster.settings import Settings
from tests.agent.service import FakeService
from tests.clock import START, ManualClock
from tests.house.tree import ROOT
from tests.simcluster.conftest import trusting

H100 = Device("GPU-0", 0, product="NVIDIA H100 80GB HBM3", memory_mib=81559)


def gpu(work: Work | None = None) -> SimulatedGpu:
    return SimulatedGpu(H100, watts=700, megahertz=1980, work=work)


def curve(work: Work | None, minutes: int = 30) -> list[Sample]:
    return [sample_of(gpu(work), START + timedelta(seconds=15 * step)) for step in range(minutes * 4)]


def test_an_idle_gpu_does_nothing_and_still_lives() -> None:
    samples = curve(None)
    assert {sample.utilization for sample in samples} == {0}
    assert {sample.memory_used_mib for sample in samples} == {4}
    assert all(60 <= (sample.power_watts or 0) <= 80 for sample in samples)
    assert len({sample.power_watts for sample in samples}) > 10


def test_work_heats_a_gpu_within_what_it_can() -> None:
    for number in range(50):
        for sample in curve(Work(f"pod-{number}", START), minutes=10):
            assert sample.utilization is not None
            assert 0 <= sample.utilization <= 100
            assert 0 <= (sample.memory_used_mib or 0) <= 81559
            assert 60 <= (sample.power_watts or 0) <= 700
            assert 25 <= (sample.temperature or 0) <= 85
            assert 300 <= (sample.sm_clock_mhz or 0) <= 1980


def test_most_work_keeps_its_gpu_busy_and_some_idles() -> None:
    means = []
    for number in range(200):
        later = curve(Work(f"pod-{number}", START))[8:]
        means.append(sum(sample.utilization or 0 for sample in later) / len(later))
    assert sum(mean > 80 for mean in means) > 100
    assert 5 < sum(mean == 0 for mean in means) < 40


def test_the_same_moment_has_the_same_sample() -> None:
    work = Work("pod", START)
    assert curve(work) == curve(work)


class Node:
    def __init__(self) -> None:
        self.looks: list[Look] = []
        self.pod_uids: tuple[str, ...] = ()
        self.is_silent = True

    def tell(self, look: Look) -> None:
        self.looks.append(look)
        self.is_silent = False

    def hush(self) -> None:
        self.is_silent = True


class Nodes(dict[str, Node]):
    def node(self, name: str, _: str) -> Node:
        return self.setdefault(name, Node())


def test_so_many_servers_are_invented(clock: ManualClock) -> None:
    nodes = Nodes()
    clock.advance(300)
    FleetCollector(InventedFleet(3), clock, lambda: 15, nodes.node).look()
    assert sorted(nodes) == ["sim-1", "sim-2", "sim-3"]
    (look,) = nodes["sim-1"].looks
    assert (look.inventory.state, len(look.inventory.devices), len(look.samples)) == (DriverState.OK, 8, 8)
    busy = sum((sample.utilization or 0) > 0 for node in nodes.values() for sample in node.looks[0].samples)
    assert 6 <= busy <= 24


FLEET = (
    NodeSpec("gpu-1", 2, "NVIDIA-H100-80GB-HBM3", 81559),
    NodeSpec("gpu-2", 1, "Tesla-T4", 15360, driver="535.183.01", cuda="12.2", unhealthy=(0,)),
    NodeSpec("cpu-1"),
)


@dataclass(frozen=True)
class Served:
    kubeconfig: Path
    http: aiohttp.ClientSession


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    settings = Settings(pull_seconds=0, start_seconds=0)
    async with running(tmp_path / "cluster", settings=settings, fleet=FLEET) as cluster:
        headers = {"Authorization": f"Bearer {cluster.token}"}
        async with aiohttp.ClientSession(cluster.url, headers=headers, connector=trusting(cluster.ca)) as http:
            yield Served(cluster.kubeconfig, http)


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


@pytest.fixture
def collector(served: Served, clock: ManualClock, nodes: Nodes) -> Iterator[FleetCollector]:
    fleet = ClusterFleet(served.kubeconfig)
    yield FleetCollector(fleet, clock, lambda: 15, nodes.node)
    fleet.close()


async def looks(collector: FleetCollector, nodes: Nodes) -> dict[str, Look]:
    """Of those who spoke this time. The cluster under test runs in this thread's loop."""
    nodes.clear()
    await asyncio.to_thread(collector.look)
    return {name: node.looks[-1] for name, node in nodes.items()}


def pod(name: str, gpus: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox",
        "resources": {
            "limits": {"nvidia.com/gpu": str(gpus)},
            "requests": {"cpu": "4", "memory": "2Gi", "nvidia.com/gpu": str(gpus)},
        },
        "env": [{"name": "SIM_SECONDS", "value": "600"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


async def run_pod(http: aiohttp.ClientSession, name: str, gpus: int) -> dict[str, Any]:
    async with http.post("/api/v1/namespaces/default/pods", json=pod(name, gpus)) as response:
        assert response.status == 201
    while True:
        async with http.get(f"/api/v1/namespaces/default/pods/{name}") as response:
            found: dict[str, Any] = await response.json()
        if found["status"]["phase"] == "Running":
            return found
        await asyncio.sleep(0.01)


async def test_the_clusters_gpus_are_told_with_its_uuids(collector: FleetCollector, nodes: Nodes) -> None:
    found = await looks(collector, nodes)
    assert sorted(found) == ["gpu-1", "gpu-2"]
    inventory = found["gpu-1"].inventory
    assert (inventory.driver_version, inventory.cuda_version) == ("580.95.05", "13.0")
    assert tuple(device.uuid for device in inventory.devices) == gpu_uuids("gpu-1", 2)
    device = inventory.devices[0]
    assert (device.product, device.memory_mib, device.compute_capability) == ("NVIDIA H100 80GB HBM3", 81559, "9.0")
    assert device.health.health is Health.OK
    assert found["gpu-1"].holders == ()


async def test_a_pods_gpus_are_busy_and_held_by_it(
    collector: FleetCollector, nodes: Nodes, served: Served, clock: ManualClock
) -> None:
    running_pod = await run_pod(served.http, "train", 2)
    status = running_pod["status"]["containerStatuses"][0]
    clock.moment = datetime.fromisoformat(status["state"]["running"]["startedAt"]) + timedelta(minutes=1)
    look = (await looks(collector, nodes))["gpu-1"]
    assert look.holders is not None
    assert {holder.device for holder in look.holders} == set(gpu_uuids("gpu-1", 2))
    (holder,) = {(each.namespace, each.pod, each.pod_uid, each.container) for each in look.holders}
    assert holder == ("default", "train", running_pod["metadata"]["uid"], "main")
    assert all((sample.memory_used_mib or 0) > 20_000 for sample in look.samples)


async def test_what_a_pod_uses_is_told_where_it_is_asked_for(
    collector: FleetCollector, nodes: Nodes, served: Served, clock: ManualClock
) -> None:
    running_pod = await run_pod(served.http, "train", 1)
    status, uid = running_pod["status"]["containerStatuses"][0], running_pod["metadata"]["uid"]
    clock.moment = datetime.fromisoformat(status["state"]["running"]["startedAt"]) + timedelta(minutes=1)
    assert (await looks(collector, nodes))["gpu-1"].pod_samples == ()
    node = nodes["gpu-1"]
    node.pod_uids = (uid,)
    await asyncio.to_thread(collector.look)
    (sample,) = node.looks[-1].pod_samples
    assert (sample.pod_uid, sample.at) == (uid, clock.now())
    assert 0 < (sample.cpu_cores or 0) <= 4
    assert 0 < (sample.memory_mib or 0) <= 2048


def test_a_pod_uses_some_of_what_it_asked_for_and_never_more() -> None:
    for number in range(50):
        work = Work(f"pod-{number}", START)
        later = [START + timedelta(minutes=minute) for minute in range(0, 2000, 7)]
        samples = [pod_sample_of(SimulatedPod(work, 4, 1024), at) for at in later]
        assert all(0 <= (sample.cpu_cores or 0) <= 4 for sample in samples)
        assert all(0 <= (sample.memory_mib or 0) <= 1024 for sample in samples)
        assert len({sample.cpu_cores for sample in samples}) > 20


@pytest.mark.parametrize(
    ("quantity", "number"), [("500m", 0.5), ("4", 4), ("0", 0), ("16Gi", 16 * 2**30), ("1e3", 1000), ("2G", 2e9)]
)
def test_quantities(quantity: str, number: float) -> None:
    assert amount(quantity) == number


async def test_a_bad_device_is_lost_until_it_is_good_again(
    collector: FleetCollector, nodes: Nodes, served: Served
) -> None:
    look = (await looks(collector, nodes))["gpu-2"]
    (device,) = look.inventory.devices
    assert (device.health.health, device.health.reason) == (Health.FAILED, HealthReason.LOST)
    assert look.samples == ()
    async with served.http.post(f"/simcluster/nodes/gpu-2/gpu-healthy/{device.uuid}") as response:
        assert response.status == 200
    (device,) = (await looks(collector, nodes))["gpu-2"].inventory.devices
    assert device.health.health is Health.OK


async def test_a_lost_server_is_silent(collector: FleetCollector, nodes: Nodes, served: Served) -> None:
    await looks(collector, nodes)
    before = nodes["gpu-1"]
    async with served.http.post("/simcluster/nodes/gpu-1/lost"):
        assert list(await looks(collector, nodes)) == ["gpu-2"]
    assert (before.is_silent, nodes["gpu-2"].is_silent) == (True, False)
    async with served.http.post("/simcluster/nodes/gpu-1/back"):
        assert sorted(await looks(collector, nodes)) == ["gpu-1", "gpu-2"]


async def test_a_cluster_that_does_not_answer_is_silence(
    collector: FleetCollector, served: Served, nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    async with served.http.put("/simcluster/faults", json={"rate_500": 1}) as response:
        assert response.status == 200
    assert await looks(collector, nodes) == {}
    assert await looks(collector, nodes) == {}
    assert len(caplog.records) == 1
    assert "the simulated cluster does not tell /api/v1/nodes" in caplog.text


def test_another_file_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("clusters: []\n")
    with pytest.raises(FleetError, match="is no kubeconfig of a simulated cluster"):
        ClusterFleet(file)


def test_one_process_speaks_for_them_all(tmp_path: Path) -> None:
    desk = FakeService()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GPUYARD_URL": desk.url, "GPUYARD_AGENT_TOKEN": "secret"}
    command = [sys.executable, "-m", "agent", "run", "--simulated", "5"]
    process = subprocess.Popen(command, env={**environment, "GPUYARD_AGENT_INTERVAL": "1"}, cwd=tmp_path)
    try:
        desk.until(lambda _: {report["node"] for report in desk.reports} == {f"sim-{n}" for n in range(1, 6)})
        firsts = [report for report in desk.reports if report["sequence"] == 1]
        assert [len(first["samples"]) for first in firsts] == [8] * 5
        assert len({first["agentId"] for first in firsts}) == 5
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        desk.close()
