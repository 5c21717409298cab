"""What people type: `kubectl` itself against the simulation. Skipped, and said so, where there is no kubectl."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import Any

import pytest

from app.simcluster.resources import NODES
from tests.simcluster.conftest import Served
from tests.simcluster.test_http import until
from tests.simcluster.world import job_document

KUBECTL = shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="no kubectl on the PATH")


async def kubectl(served: Served, *arguments: str, code: int = 0) -> str:
    config = served.running.kubeconfig
    environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(config.parent)}
    pipes: dict[str, Any] = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    process = await asyncio.create_subprocess_exec(str(KUBECTL), *arguments, env=environment, **pipes)
    output, _ = await process.communicate()
    assert process.returncode == code, output.decode()
    return output.decode()


async def finished_job(served: Served, name: str = "a", **env: Any) -> None:
    await served.batch.create_namespaced_job("default", job_document(name, **env))

    async def done() -> object:
        return (await served.batch.read_namespaced_job(name, "default")).status.succeeded

    await until(done)


async def test_get_prints_tables(served: Served):
    await finished_job(served)
    nodes = (await kubectl(served, "get", "nodes", "-o", "wide")).splitlines()
    assert nodes[0].split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION", *WIDE]
    assert "Ready,SchedulingDisabled" in nodes[6]
    assert "Complete" in await kubectl(served, "get", "jobs")
    assert "Completed" in await kubectl(served, "get", "pods", "--all-namespaces")
    assert "SuccessfulCreate" in await kubectl(served, "get", "events")


WIDE = ["INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"]


async def test_describe(served: Served):
    await finished_job(served)
    job = await kubectl(served, "describe", "job", "a")
    assert "1 Succeeded / 0 Failed" in job
    assert "Job completed" in job
    assert "nvidia.com/gpu:  1" in await kubectl(served, "describe", "pods")
    assert "nvidia.com/gpu:     7" in await kubectl(served, "describe", "node", "gpu-2")


async def test_logs(served: Served):
    await finished_job(served, log_text="hello")
    assert await kubectl(served, "logs", "job/a") == "hello\n"
    assert await kubectl(served, "logs", "job/a", "--follow", "--tail=1") == "hello\n"


async def test_apply_and_delete(served: Served, tmp_path_factory: pytest.TempPathFactory):
    manifest = tmp_path_factory.mktemp("manifest") / "job.yaml"
    manifest.write_text(MANIFEST)
    assert "job.batch/m created" in await kubectl(served, "apply", "-f", str(manifest))
    assert "job.batch/m unchanged" in await kubectl(served, "apply", "-f", str(manifest))
    assert 'job.batch "m" deleted' in await kubectl(served, "delete", "job", "m")
    assert "No resources found" in await kubectl(served, "get", "pods")


MANIFEST = """\
apiVersion: batch/v1
kind: Job
metadata: {name: m}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "busybox:1.36", env: [{name: SIM_SECONDS, value: "60"}]}]
"""


async def test_nodes_are_cordoned_tainted_and_labelled(served: Served):
    await kubectl(served, "cordon", "gpu-1")
    await kubectl(served, "taint", "node", "gpu-1", "k=v:NoSchedule")
    await kubectl(served, "label", "node", "gpu-1", "pool=a")
    node = served.context.store.get(NODES, "gpu-1") or {}
    assert node["spec"]["unschedulable"] is True
    assert {taint["key"] for taint in node["spec"]["taints"]} == {"k", "node.kubernetes.io/unschedulable"}
    assert node["metadata"]["labels"]["pool"] == "a"
    await kubectl(served, "uncordon", "gpu-1")
    await kubectl(served, "taint", "node", "gpu-1", "k-")
    assert (served.context.store.get(NODES, "gpu-1") or {})["spec"] == {}


async def test_what_is_missing_is_said(served: Served):
    assert 'jobs.batch "nope" not found' in await kubectl(served, "get", "job", "nope", code=1)
