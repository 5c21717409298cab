"""How much of creating Jobs oneself is left when the whole product stands in front of the cluster.

Run `python -m bench.submit` (`--quick` for a glance). The same number of equal Jobs is created on equal simulated
clusters in three ways, 32 at a time: with the official client's own method, with the product's adapter alone, and by
submitting workloads over GraphQL to a running `gpuyard serve` that checks, stores, places and creates them. Each is
timed until the cluster has shown the last Job in a watch. The headlines are ratios of these rates from one run.
A second figure: the time from a pod's change in the cluster until a subscriber over WebSocket has the event.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvloop
from kubernetes.aio.client import ApiClient, BatchV1Api, Configuration
from kubernetes.aio.config import load_kube_config

from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings, open_port
from app.cluster.manifest import ManifestSettings, build_job
from app.cluster.port import EventKind, JobSpec, Kind
from app.domain.observed import ObservedPod
from app.domain.workload import job_name
from bench._product import NAMESPACE, ORGANIZATION, Service, events, in_parallel, service, simulated, submit_all

GPUS_PER_NODE = 8
ENVIRONMENT = {"MODEL_PATH": "/data/model", "BATCH_SIZE": "32"}
WANTED = {
    "image": "nvidia/cuda:12.2.0-base-ubuntu22.04",
    "gpuCount": 1,
    "envVars": [{"name": name, "value": value} for name, value in ENVIRONMENT.items()],
}


@dataclass(frozen=True)
class Running:
    folder: Path
    kubeconfig: Path
    port: KubernetesPort


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    jobs, rounds = (100, 1) if parser.parse_args().quick else (400, 3)
    uvloop.run(compare(jobs, rounds))


async def compare(jobs: int, rounds: int) -> None:
    official, direct, whole, latencies = [], [], [], []
    for _ in range(rounds):
        async with cluster(jobs) as running:
            official.append(await timed(running.port, jobs, lambda: create_officially(running, jobs)))
        async with cluster(jobs) as running:
            direct.append(await timed(running.port, jobs, lambda: create_directly(running.port, jobs)))
        async with cluster(jobs) as running, service(running.folder, running.kubeconfig) as served:
            whole.append(await timed(running.port, jobs, lambda: submit_all(served, jobs, WANTED)))
            latencies += await event_latencies(running.port, served)
        print(f"official client {official[-1]:6.0f}, our adapter {direct[-1]:6.0f}, whole app {whole[-1]:6.0f} Jobs/s")
    say_ratio("the official client's create_namespaced_job (aim: at least 0.50)", whole, official)
    say_ratio("our own adapter's create_job", whole, direct)
    ordered = sorted(latencies)
    middle, worst = statistics.median(ordered) * 1000, ordered[-1] * 1000
    print(f"pod change to subscriber: median {middle:.0f} ms, worst {worst:.0f} ms (aim: median at most 100 ms)")


def say_ratio(what: str, whole: list[float], other: list[float]) -> None:
    ratio = statistics.median(a / b for a, b in zip(whole, other, strict=True))
    print(f"whole submit path / {what}: median {ratio:.2f} of {len(whole)}")


@asynccontextmanager
async def cluster(jobs: int) -> AsyncIterator[Running]:
    """A simulated cluster of its own: what the other measurement left must not weigh on this one."""
    with tempfile.TemporaryDirectory() as folder:
        async with cluster_in(Path(folder), jobs) as running:
            yield running


@asynccontextmanager
async def cluster_in(folder: Path, jobs: int) -> AsyncIterator[Running]:
    nodes = [
        {"name": f"n{i:04}", "gpus": GPUS_PER_NODE, "product": "bench", "cpu": "256", "memory": "4Ti"}
        for i in range(2 * jobs // GPUS_PER_NODE + 4)
    ]
    async with simulated(folder, nodes, {"run_seconds": 3600}) as kubeconfig:
        port = open_port(ConnectionSettings(kubeconfig), PortSettings(NAMESPACE))
        try:
            await port.create_namespace()
            yield Running(folder, kubeconfig, port)
        finally:
            await port.close()


async def timed(port: KubernetesPort, jobs: int, work: Callable[[], Awaitable[None]]) -> float:
    """Jobs per second from the first request until the cluster has shown the last one."""
    listing = await port.list_all(Kind.JOBS)
    seen = asyncio.create_task(until_new_jobs(port, listing.resource_version, jobs))
    await asyncio.sleep(0.2)
    begun = time.perf_counter()
    await asyncio.gather(work(), asyncio.wait_for(seen, 120))
    return jobs / (time.perf_counter() - begun)


async def until_new_jobs(port: KubernetesPort, resource_version: str, jobs: int) -> None:
    names: set[str] = set()
    async for event in port.watch(Kind.JOBS, resource_version):
        if event.kind is EventKind.CHANGED and event.item is not None:
            names.add(event.item.name)
        if len(names) >= jobs:
            return


def spec_of(number: int) -> JobSpec:
    workload = uuid4()
    return JobSpec(
        job_name=job_name(workload, 1),
        workload_id=workload,
        attempt=1,
        organization=ORGANIZATION,
        image="nvidia/cuda:12.2.0-base-ubuntu22.04",
        cpu_millis=4000,
        memory_bytes=16 * 2**30,
        gpu_count=1,
        gpu_resource="nvidia.com/gpu",
        server=f"n{number // GPUS_PER_NODE:04}",
        run_limit_seconds=3600,
        start_limit_seconds=1800,
        env_vars=tuple(ENVIRONMENT.items()),
    )


async def create_directly(port: KubernetesPort, jobs: int) -> None:
    async def create(number: int) -> None:
        await port.create_job(spec_of(number))

    await in_parallel(jobs, create)


async def create_officially(running: Running, jobs: int) -> None:
    """As anybody would who has the official client: its typed method, the same manifests."""
    configuration = Configuration()
    await load_kube_config(str(running.kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
    async with ApiClient(configuration) as api:
        batch = BatchV1Api(api)

        async def create(number: int) -> None:
            manifest: Any = build_job(spec_of(number), ManifestSettings())
            await batch.create_namespaced_job(NAMESPACE, manifest)

        await in_parallel(jobs, create)


async def event_latencies(port: KubernetesPort, served: Service, jobs: int = 20) -> list[float]:
    """Seconds from a plain watch showing a pod's start to the subscriber's STARTED event, one workload at a time."""
    listing = await port.list_all(Kind.PODS)
    shown: dict[str, float] = {}
    told: dict[str, float] = {}
    watching = asyncio.create_task(note_pods(port, listing.resource_version, shown))
    following = asyncio.create_task(note_events(served, told))
    await asyncio.sleep(0.5)
    for number in range(jobs):
        await submit_all(served, 1, WANTED)
        async with asyncio.timeout(30):
            while len(told) <= number or len(shown) <= number:
                await asyncio.sleep(0.01)
    for task in (watching, following):
        task.cancel()
    await asyncio.gather(watching, following, return_exceptions=True)
    return [told[workload] - shown[workload] for workload in told]


async def note_pods(port: KubernetesPort, resource_version: str, shown: dict[str, float]) -> None:
    async for event in port.watch(Kind.PODS, resource_version):
        if isinstance(event.item, ObservedPod) and event.item.running_since and event.item.job_name:
            shown.setdefault(event.item.job_name.split("-")[1], time.perf_counter())


async def note_events(served: Service, told: dict[str, float]) -> None:
    async for type_, workload in events(served):
        if type_ == "STARTED":
            told.setdefault(workload, time.perf_counter())


if __name__ == "__main__":
    main()
