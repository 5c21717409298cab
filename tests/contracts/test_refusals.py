"""What a namespace's owner and strangers do to our Jobs and pods: quotas, removal, eviction, injected containers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.manifest import ManifestSettings, build_job
from app.cluster.port import JobSpec, UnavailableError
from app.cluster.transport import Request, Transport
from app.domain.observed import ObservedJob
from tests.contracts.workbench import UNTIL_STOPPED, Workbench, both, is_finished

QUOTA = "full"


@pytest.fixture
async def quotas(bench: Workbench, transport: Transport) -> AsyncIterator[str]:
    """Where quotas of the namespace are; the one that a test makes is gone afterwards."""
    path = f"/api/v1/namespaces/{bench.namespace}/resourcequotas"
    yield path
    await transport.call(Request("DELETE", f"{path}/{QUOTA}"))


async def limit(transport: Transport, quotas: str, **hard: str) -> None:
    """No quota controller is needed: what is allowed and used is written as it would."""
    names = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": QUOTA}, "spec": {"hard": names}}
    await transport.call(Request("POST", quotas, body=body))
    status = {"status": {"hard": names, "used": dict.fromkeys(names, "0")}}
    merge = "application/merge-patch+json"
    await transport.call(Request("PATCH", f"{quotas}/{QUOTA}/status", body=status, content_type=merge))
    await asyncio.sleep(1.5)  # the API server learns of a quota in its own time


async def test_a_quota_on_jobs_is_no_verdict_on_this_one(bench: Workbench, transport: Transport, quotas: str):
    await limit(transport, quotas, count__jobs_batch="0")
    with pytest.raises(UnavailableError, match=r"exceeded quota: full, requested: count/jobs\.batch=1") as caught:
        await bench.start(bench.spec())
    assert caught.value.status == 403


async def test_a_quota_on_gpus_lets_the_job_in_and_keeps_its_pod_out(
    bench: Workbench, transport: Transport, quotas: str
):
    await limit(transport, quotas, requests_nvidia_com__gpu="0")
    spec = bench.spec()
    await bench.start(spec)
    job, pod = await bench.until(spec.job_name, lambda seen: seen[0] and seen[0].obstacle)
    assert job
    assert (pod, job.failure) == (None, "")
    assert "is forbidden: exceeded quota: full, requested: requests.nvidia.com/gpu=1" in job.obstacle


async def test_a_namespace_that_is_being_removed_and_one_that_is_gone(bench: Workbench, transport: Transport):
    name = f"gpuyard-contract-{uuid4().hex[:8]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "finalizers": ["example.com/held"]}}
    path = f"/api/v1/namespaces/{name}"
    port = KubernetesPort(transport, PortSettings(name))
    with pytest.raises(UnavailableError, match=f'namespaces "{name}" not found'):
        await port.create_job(bench.spec())
    await transport.call(Request("POST", "/api/v1/namespaces", body=body))
    await transport.call(Request("DELETE", path))
    with pytest.raises(UnavailableError, match="because it is being terminated"):
        await port.create_job(bench.spec())
    patch = {"metadata": {"finalizers": None}}
    await transport.call(Request("PATCH", path, body=patch, content_type="application/merge-patch+json"))


async def test_an_eviction_is_a_disruption(bench: Workbench, transport: Transport):
    spec = bench.endless()
    _, pod = await bench.running(spec)
    metadata = {"name": pod.name, "namespace": pod.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    await transport.call(Request("POST", f"{pod_path(bench, pod.name)}/eviction", body=body))
    job, ended = both(await bench.until(spec.job_name, lambda seen: seen[0] and seen[0].failure))
    assert (job.failure, ended.disruption, ended.reason) == ("BackoffLimitExceeded", "EvictionByEvictionAPI", "")
    assert ended.terminated
    assert ended.terminated.exit_code == 143


async def test_a_forced_deletion_of_a_held_pod_waits_for_its_kubelet(bench: Workbench, transport: Transport):
    spec = bench.endless()
    _, pod = await bench.running(spec)
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    await transport.call(Request("DELETE", pod_path(bench, pod.name), body=options))
    _, ended = both(await bench.until(spec.job_name, lambda seen: seen[1] and is_finished(seen[1])))
    assert ended.terminated
    assert (ended.uid, ended.is_held, ended.terminated.exit_code) == (pod.uid, True, 143)


def pod_path(bench: Workbench, name: str) -> str:
    return f"/api/v1/namespaces/{bench.namespace}/pods/{name}"


def beside(name: str, image: str, script: str, seconds: float, code: int = 0, **more: Any) -> dict[str, Any]:
    """A container that somebody else puts into the pod, for real nodes and simulated ones."""
    simulated = {"SIM_SECONDS": str(seconds), "SIM_EXIT_CODE": str(code), "SIM_PULL_SECONDS": "0"}
    env = [{"name": key, "value": value} for key, value in simulated.items()]
    return {"name": name, "image": image, "command": ["sh", "-c", script], "env": env, **more}


async def start_with(
    bench: Workbench, transport: Transport, spec: JobSpec, **containers: list[dict[str, Any]]
) -> ObservedJob:
    manifest = build_job(spec, ManifestSettings(termination_grace_seconds=2))
    manifest["spec"]["template"]["spec"] |= containers
    await transport.call(Request("POST", f"/apis/batch/v1/namespaces/{bench.namespace}/jobs", body=manifest))
    return await bench.start(spec)  # it meets itself, and is cleaned up like any other


async def test_injected_containers_are_no_part_of_the_workload(bench: Workbench, transport: Transport):
    spec = bench.spec("sleep 1; exit 5", seconds=1, code=5)
    init = beside("agent-init", bench.image, "sleep 5", 5)
    mesh = beside("mesh", bench.image, UNTIL_STOPPED, 600, restartPolicy="Always")
    await start_with(bench, transport, spec, initContainers=[init, mesh])
    waiting = {"ContainerCreating", "PodInitializing"}
    _, starting = both(await bench.until(spec.job_name, lambda seen: seen[1] and seen[1].waiting_reason in waiting))
    assert (starting.terminated, starting.init_failure) == (None, "")
    job, ended = both(await bench.until(spec.job_name, lambda seen: seen[0] and seen[0].failure))
    assert ended.terminated
    assert (ended.phase, ended.terminated.exit_code, ended.init_failure) == ("Failed", 5, "")
    assert job.failure == "BackoffLimitExceeded"


async def test_an_init_container_that_fails_is_named(bench: Workbench, transport: Transport):
    spec = bench.spec()
    init = beside("agent-init", bench.image, "exit 7", 0, 7)
    await start_with(bench, transport, spec, initContainers=[init])
    _, ended = both(await bench.until(spec.job_name, lambda seen: seen[1] and is_finished(seen[1])))
    assert (ended.phase, ended.reason, ended.terminated, ended.running_since) == ("Failed", "", None, None)
    assert ended.init_failure.startswith("init container agent-init ended with exit code 7")
