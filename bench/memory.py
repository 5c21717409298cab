"""How much memory `gpuyard serve` takes with 10,000 live workloads, 1,000 servers of 8 GPUs and 20,000 foreign pods.

Run `python -m bench.memory` (`--quick` for a glance, `--trace` for where it goes). The service is a process of its own
on SQLite. Its cluster is made up here: an HTTP server with that many objects of a real cluster's size, where every Job
gets a running pod at once. Workloads are submitted over GraphQL until 10,000 are live, 8,000 running and 2,000
waiting; the figure is what the process occupies then (RSS), and at its worst on the way. Aim: at most 250 MiB.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import uvloop
import yaml
from aiohttp import web

from bench._product import SERVE, Service, service, submit_all

GPUS_PER_NODE = 8
AIM_MIB = 250
STARTED = "2026-11-30T12:00:00Z"
WANTED = {
    "image": "registry.example.org/team/training:2026-11-30",
    "gpuCount": 1,
    "timeoutSeconds": 86400,
    "envVars": [{"name": f"SETTING_{number}", "value": "value " * 4} for number in range(8)],
}
# As `python -m app serve`, and on SIGUSR1 it says where the memory was allocated.
TRACED = """
import runpy, signal, sys, tracemalloc
from pathlib import Path
def say(*_):
    shot = tracemalloc.take_snapshot()
    lines = [f"{s.size / 2**20:7.1f} MiB {s.count:8} {s.traceback[0].filename}" for s in shot.statistics("filename")]
    summary.write_text("\\n".join(lines[:30]))
summary = Path(sys.argv.pop())
tracemalloc.start()
signal.signal(signal.SIGUSR1, say)
sys.argv = ["gpuyard", "serve"]
runpy.run_module("app", run_name="__main__")
"""


@dataclass(frozen=True)
class Scale:
    nodes: int
    foreign: int
    live: int


FULL = Scale(nodes=1_000, foreign=20_000, live=10_000)
QUICK = Scale(nodes=50, foreign=1_000, live=500)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trace", action="store_true", help="where it goes, which takes memory itself")
    options = parser.parse_args()
    uvloop.run(measure(QUICK if options.quick else FULL, trace=options.trace))


async def measure(scale: Scale, *, trace: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        summary = folder / "summary"
        python = ("-c", TRACED, str(summary)) if trace else SERVE
        async with made_up(scale) as cluster, service(folder, kubeconfig_of(cluster, folder), python=python) as served:
            say("listed", served)
            begun = time.perf_counter()
            await submit_all(served, scale.live, WANTED)
            await until_steady(cluster, scale)
            seconds = time.perf_counter() - begun
            say(f"{scale.live} live", served)
            print(f"{len(cluster.jobs)} Jobs made, {scale.live / seconds:.0f} workloads/s")
            if trace:
                os.kill(served.pid, signal.SIGUSR1)
                await asyncio.sleep(30)
                print(summary.read_text())


def say(when: str, served: Service) -> None:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{served.pid}/status").read_text().splitlines())
    now, worst = (int(status[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    print(f"{when}: {now:.0f} MiB, at worst {worst:.0f} MiB (aim: at most {AIM_MIB} MiB)")


async def until_steady(cluster: MadeUp, scale: Scale) -> None:
    """All that fit have a Job, and each running pod has been given its limit."""
    wanted = min(scale.live, scale.nodes * GPUS_PER_NODE)
    async with asyncio.timeout(1200):
        while len(cluster.jobs) < wanted or len(cluster.limited) < wanted:
            await asyncio.sleep(0.2)
    await asyncio.sleep(5)


@dataclass
class MadeUp:
    """The cluster: raw objects by kind and name, and who watches each kind."""

    nodes: dict[str, bytes]
    pods: dict[str, bytes]
    jobs: dict[str, bytes] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)
    url: str = ""
    version: int = 1000
    watchers: defaultdict[str, set[asyncio.Queue[bytes]]] = field(default_factory=lambda: defaultdict(set))

    async def list_or_watch(self, kind: str, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(kind, request)
        objects = list(getattr(self, kind).values())
        if ours := request.query.get("labelSelector", "").partition("job-name=")[2]:
            objects = [raw for name, raw in self.pods.items() if name.startswith(ours)]
        first = int(request.query.get("continue", 0))
        last = first + int(request.query.get("limit", len(objects)))
        more = f'"{last}"' if last < len(objects) else '""'
        head = b'{"metadata":{"resourceVersion":"%d","continue":%s},"items":[' % (self.version, more.encode())
        return web.Response(body=head + b",".join(objects[first:last]) + b"]}", content_type="application/json")

    async def _watch(self, kind: str, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        news: asyncio.Queue[bytes] = asyncio.Queue()
        self.watchers[kind].add(news)
        end = time.monotonic() + int(request.query["timeoutSeconds"])
        try:
            while time.monotonic() < end:
                try:
                    async with asyncio.timeout(50):
                        await response.write(await news.get())
                except TimeoutError:
                    mark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}\n' % self.version
                    await response.write(mark)
        finally:
            self.watchers[kind].discard(news)
        return response

    def _tell(self, kind: str, word: str, raw: bytes) -> None:
        for news in self.watchers[kind]:
            news.put_nowait(b'{"type":"%s","object":%s}\n' % (word.encode(), raw))

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    async def create_job(self, request: web.Request) -> web.Response:
        job = await request.json()
        job["metadata"] |= {"uid": str(uuid4()), "resourceVersion": self._next(), "creationTimestamp": STARTED}
        name = job["metadata"]["name"]
        self.jobs[name] = orjson.dumps(job)
        self._tell("jobs", "ADDED", self.jobs[name])
        pod = running_pod(job, self._next())
        self.pods[f"{name}-abcde"] = orjson.dumps(pod)
        self._tell("pods", "ADDED", self.pods[f"{name}-abcde"])
        return web.json_response(body=self.jobs[name], status=201)

    async def get_job(self, request: web.Request) -> web.Response:
        return web.json_response(body=self.jobs[request.match_info["name"]])

    async def patch_pod(self, request: web.Request) -> web.Response:
        name, change = request.match_info["name"], await request.json()
        pod = orjson.loads(self.pods[name])
        pod["spec"] |= change.get("spec", {})
        pod["metadata"]["resourceVersion"] = self._next()
        self.pods[name] = orjson.dumps(pod)
        self.limited.add(name)
        self._tell("pods", "MODIFIED", self.pods[name])
        return web.json_response(body=self.pods[name])


@asynccontextmanager
async def made_up(scale: Scale) -> AsyncIterator[MadeUp]:
    nodes = {f"gpu-{number:04}": orjson.dumps(node(number)) for number in range(scale.nodes)}
    pods = {f"app-{number}": orjson.dumps(foreign_pod(number, scale.nodes)) for number in range(scale.foreign)}
    cluster = MadeUp(nodes, pods)
    application = web.Application()
    jobs = "/apis/batch/v1/namespaces/{namespace}/jobs"
    pods_of_one = "/api/v1/namespaces/{namespace}/pods"
    for path, kind in (("/api/v1/nodes", "nodes"), ("/api/v1/pods", "pods"), (jobs, "jobs"), (pods_of_one, "pods")):
        application.router.add_get(path, partial(cluster.list_or_watch, kind))
    application.router.add_post(jobs, cluster.create_job)
    application.router.add_get(jobs + "/{name}", cluster.get_job)
    application.router.add_patch(pods_of_one + "/{name}", cluster.patch_pod)
    application.router.add_get("/version", lambda _: _plain({}))
    application.router.add_get("/api/v1/namespaces/{namespace}", lambda _: _plain({}))
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    cluster.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield cluster
    finally:
        await runner.cleanup()


async def _plain(value: object) -> web.Response:
    return web.json_response(value)


def kubeconfig_of(cluster: MadeUp, folder: Path) -> Path:
    content = {
        "clusters": [{"name": "c", "cluster": {"server": cluster.url}}],
        "users": [{"name": "u", "user": {"token": "bench"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def node(number: int) -> dict[str, Any]:
    """With the images that a node lists, which are most of its size."""
    amounts = {"cpu": "256", "memory": "4Ti", "nvidia.com/gpu": str(GPUS_PER_NODE), "pods": "250"}
    labels = {f"feature.node.kubernetes.io/cpu-{n}": "true" for n in range(80)}
    labels |= {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    images = [{"names": [f"registry.example.org/i{n}@sha256:{'0' * 64}"], "sizeBytes": n} for n in range(50)]
    name = f"gpu-{number:04}"
    return {
        "metadata": {"name": name, "uid": str(uuid4()), "resourceVersion": "5", "labels": labels},
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}],
            "images": images,
        },
    }


def foreign_pod(number: int, nodes: int) -> dict[str, Any]:
    container = {"name": "app", "image": "nginx", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    owner = {"kind": "ReplicaSet", "name": f"app-{number // 10}", "uid": str(uuid4()), "controller": True}
    metadata = {
        "name": f"app-{number // 10}-{number}",
        "namespace": f"team-{number % 40}",
        "uid": str(uuid4()),
        "resourceVersion": "5",
        "labels": {"app.kubernetes.io/name": "app", "pod-template-hash": "5d4f8c7b9d"},
        "annotations": {"notes": "x" * 3000},
        "ownerReferences": [owner],
    }
    status = {"phase": "Running", "startTime": STARTED, "conditions": [{"type": "Ready", "status": "True"}] * 4}
    return {
        "metadata": metadata,
        "spec": {"nodeName": f"gpu-{number % nodes:04}", "containers": [container] * 2},
        "status": status,
    }


def running_pod(job: dict[str, Any], version: str) -> dict[str, Any]:
    """The Job's pod, on the node that it names, with its GPU."""
    template, name = job["spec"]["template"], job["metadata"]["name"]
    terms = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    [server] = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"]
    labels = {
        **template["metadata"]["labels"],
        "batch.kubernetes.io/job-name": name,
        "batch.kubernetes.io/controller-uid": job["metadata"]["uid"],
    }
    state = {"running": {"startedAt": STARTED}}
    device = {"name": "nvidia.com/gpu", "resources": [{"resourceID": f"GPU-{uuid4()}", "health": "Healthy"}]}
    container = {"name": "workload", "state": state, "allocatedResourcesStatus": [device]}
    return {
        "metadata": {
            **template["metadata"],
            "name": f"{name}-abcde",
            "namespace": job["metadata"].get("namespace", "gpuyard"),
            "uid": str(uuid4()),
            "resourceVersion": version,
            "labels": labels,
        },
        "spec": {**template["spec"], "nodeName": server},
        "status": {"phase": "Running", "startTime": STARTED, "containerStatuses": [container]},
    }


if __name__ == "__main__":
    main()
