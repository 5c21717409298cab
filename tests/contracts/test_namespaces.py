"""A namespace of an organization: made with the first Job, marked, and its Jobs are followed like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.manifest import ManifestSettings
from app.cluster.port import Kind, NotSetUpError
from app.cluster.projection import Projection
from app.cluster.transport import Request, Transport
from app.domain.namespaces import Namespaces
from app.domain.observed import ObservedNode
from tests.contracts.workbench import Workbench, both, has_ended, is_finished

SETTINGS = ManifestSettings(termination_grace_seconds=2)


@pytest.fixture
async def own(transport: Transport, namespace: str) -> AsyncIterator[tuple[str, str]]:
    """A slug, and the name of its namespace; removed afterwards."""
    slug = f"c{uuid4().hex[:8]}"
    name = Namespaces(namespace, per_organization=True).of(slug)
    yield slug, name
    await transport.call(Request("DELETE", f"/api/v1/namespaces/{name}"))


@pytest.fixture
async def port(transport: Transport, namespace: str) -> KubernetesPort:
    return KubernetesPort(transport, PortSettings(namespace, per_organization=True, manifest=SETTINGS))


async def test_it_is_made_and_its_job_runs_there(
    port: KubernetesPort, transport: Transport, node: ObservedNode, namespace: str, own: tuple[str, str]
):
    slug, name = own
    bench = Workbench(port, transport, namespace, node, "busybox:1.36", name)
    spec = bench.spec("sleep 1", seconds=1, organization=slug, namespace=name)
    job = await port.create_job(spec)
    assert job.namespace == name
    made = await transport.call(Request("GET", f"/api/v1/namespaces/{name}"))
    assert (
        made["metadata"]["labels"].items()
        >= {
            "gpuyard.dev/organization": slug,
            "app.kubernetes.io/managed-by": "gpuyard",
            "pod-security.kubernetes.io/enforce": "baseline",
        }.items()
    )
    job, pod = both(await bench.until(spec.job_name, has_ended))
    assert (pod.namespace, job.is_complete, await port.find(spec.job_name)) == (name, True, (None, None))
    projection = Projection(namespace, everywhere=True)
    for kind in (Kind.JOBS, Kind.PODS):
        projection.replace(kind, (await port.list_all(kind)).items)
    assert projection.observe(spec.job_name, namespace=name) == (job, pod)
    assert projection.observe(spec.job_name) == (None, None)
    await port.delete_job(job.name, job.uid, name)
    await port.release_pod(pod)
    await bench.until(spec.job_name, lambda seen: seen[0] is None and (seen[1] is None or is_finished(seen[1])))
    assert await port.check([slug]) == ()


async def test_one_of_somebody_else_is_left_alone(
    port: KubernetesPort, transport: Transport, node: ObservedNode, namespace: str, own: tuple[str, str]
):
    slug, name = own
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await transport.call(Request("POST", "/api/v1/namespaces", body=body))
    spec = Workbench(port, transport, namespace, node, "busybox:1.36", name).spec(organization=slug, namespace=name)
    with pytest.raises(NotSetUpError, match=f"kubectl label namespace {name} gpuyard.dev/organization={slug}"):
        await port.create_job(spec)
    [missing] = await port.check([slug])
    assert f"kubectl label namespace {name}" in missing
