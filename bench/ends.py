"""How long after a container's end it is on record, and how many Jobs a second go all the way through.

Run `python -m bench.ends` (`--quick` for a glance): on a simulated cluster, with `--kubeconfig PATH` on that one, in a
namespace of its own that is removed afterwards. Workloads of a fraction of a second are submitted, one GPU each, to a
`gpuyard serve` of its own, first few at a time, then all at once. Of the few, three moments are taken: the container's
end by the cluster's stamp (whole seconds, so half a second is taken off), when a plain watch shows that the pod is
over, and when a subscriber hears that it is recorded. Jobs a second, of all at once, are limited by the cluster too:
its GPUs, and how long it takes to start a container and clear it away.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import uvloop

from app.cluster.connection import Connection, ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.labels import workload_of
from app.cluster.port import Kind
from app.cluster.transport import Request, Transport
from app.domain.observed import ObservedPod
from bench._product import Service, events, service, simulated, submit_all

SECONDS = "0.3"
WANTED = {
    "image": "busybox:1.36",
    "gpuCount": 1,
    "command": ["sleep", SECONDS],
    "envVars": [{"name": "SIM_SECONDS", "value": SECONDS}],
}
SMALL = {"GPUYARD_CPU_PER_GPU": "10m", "GPUYARD_MEMORY_PER_GPU": "32Mi", "GPUYARD_JOB_RETENTION": "0"}
HALF_A_SECOND = 0.5  # a stamp's seconds are cut off
NODES = [{"name": f"n{i:02}", "gpus": 8, "product": "bench", "cpu": "256", "memory": "4Ti"} for i in range(16)]


@dataclass
class Moments:
    """By workload, of the wall clock. `ended` is the cluster's stamp."""

    ended: dict[str, float] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)
    recorded: dict[str, float] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kubeconfig", type=Path, help="a real cluster with at least one GPU free")
    parser.add_argument("--jobs", type=int, help="how many workloads (40, or 400 on the simulated cluster)")
    options = parser.parse_args()
    usual = 40 if options.kubeconfig else 400
    uvloop.run(measure(options.kubeconfig, options.jobs or (usual // 4 if options.quick else usual)))


async def measure(kubeconfig: Path | None, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kubeconfig:
            await measure_on(kubeconfig, folder, jobs, "real")
        else:
            async with simulated(folder, NODES, {}) as made:
                await measure_on(made, folder, jobs, "simulated")


async def measure_on(kubeconfig: Path, folder: Path, jobs: int, what: str) -> None:
    async with own_namespace(kubeconfig) as (namespace, port):
        settings = {**SMALL, "GPUYARD_NAMESPACE": namespace}
        async with service(folder, kubeconfig, settings) as served:
            few = max(10, jobs // 8 * 2)
            say_latencies((await run_all(served, port, few, at_once=2)).moments, what)
            result = await run_all(served, port, jobs)
            print(
                f"{what} cluster: {jobs} Jobs in {result.seconds:.1f} s, {jobs / result.seconds:.1f} Jobs/s all the way"
            )
            await until_nothing_is_held(port, namespace)


@asynccontextmanager
async def own_namespace(kubeconfig: Path) -> AsyncIterator[tuple[str, KubernetesPort]]:
    namespace = f"gpuyard-bench-{uuid4().hex[:8]}"
    transport = Transport(Connection(ConnectionSettings(kubeconfig)))
    port = KubernetesPort(transport, PortSettings(namespace))
    try:
        await port.create_namespace()
        yield namespace, port
    finally:
        await transport.call(Request("DELETE", f"/api/v1/namespaces/{namespace}", body={}))
        await port.close()


@dataclass(frozen=True)
class Result:
    moments: Moments
    seconds: float


async def run_all(served: Service, port: KubernetesPort, jobs: int, at_once: int = 0) -> Result:
    """Until every end is on record; submitted `at_once` or all together."""
    moments = Moments()
    listing = await port.list_all(Kind.PODS)
    noting = [
        asyncio.create_task(note_shown(port, listing.resource_version, moments)),
        asyncio.create_task(note_recorded(served, moments)),
    ]
    await asyncio.sleep(0.5)
    begun = time.time()
    for done in range(0, jobs, at_once or jobs):
        await submit_all(served, at_once or jobs, WANTED)
        async with asyncio.timeout(120 + jobs * 3):
            while len(moments.recorded) < min(jobs, done + (at_once or jobs)):
                await asyncio.sleep(0.02)
                for task in noting:
                    if task.done():
                        task.result()
    for task in noting:
        task.cancel()
    await asyncio.gather(*noting, return_exceptions=True)
    return Result(moments, max(moments.recorded.values()) - begun)


async def note_shown(port: KubernetesPort, resource_version: str, moments: Moments) -> None:
    async for event in port.watch(Kind.PODS, resource_version):
        pod = event.item
        if not isinstance(pod, ObservedPod) or pod.terminated is None or not pod.terminated.finished_at:
            continue
        if not pod.is_over:
            continue
        if workload := workload_of(pod.job_name):
            key = workload.replace("-", "")
            moments.shown.setdefault(key, time.time())
            moments.ended.setdefault(key, pod.terminated.finished_at.timestamp())


async def note_recorded(served: Service, moments: Moments) -> None:
    async for type_, workload in events(served):
        if type_ == "ENDED":
            moments.recorded.setdefault(workload, time.time())


async def until_nothing_is_held(port: KubernetesPort, namespace: str) -> None:
    """The namespace can go only when no pod of it waits for its finalizer."""
    async with asyncio.timeout(120):
        while True:
            pods = (await port.list_all(Kind.PODS)).items
            ours = [pod for pod in pods if isinstance(pod, ObservedPod) and pod.namespace == namespace]
            if not any(pod.is_held for pod in ours):
                return
            await asyncio.sleep(0.5)


def say_latencies(moments: Moments, what: str) -> None:
    since_shown = [at - moments.shown[key] for key, at in moments.recorded.items() if key in moments.shown]
    since_end = [
        at - moments.ended[key] - HALF_A_SECOND for key, at in moments.recorded.items() if key in moments.ended
    ]
    say_times(f"{what} cluster, pod shown as over to recorded", since_shown)
    say_times(f"{what} cluster, container's end to recorded", since_end)


def say_times(what: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{what}: median {statistics.median(ordered) * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms of {len(ordered)}")


if __name__ == "__main__":
    main()
