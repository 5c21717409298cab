"""One suite for every cluster: the simulated one by default, a real one with `--kubeconfig PATH`.

A container's behaviour is written twice in each spec: as a shell command for a real node, and as SIM_* variables for a
simulated one. Neither minds the other's. Everything happens in a namespace of its own, which is removed afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from app.cluster.connection import Connection, ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.manifest import ManifestSettings
from app.cluster.port import Kind, RefusedError
from app.cluster.transport import Request, Transport
from app.domain.observed import ObservedNode
from tests.contracts.workbench import Workbench

# Bookmarks come every minute on a real cluster, and before a watch's end; nobody wants to wait for the former.
SIMULATION = {"settings": {"bookmark_seconds": 1.0, "term_seconds": 0.05, "retry_seconds": 0.5}}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contracts")
    group.addoption("--kubeconfig", type=Path, default=None, help="a real cluster instead of the simulated one")
    group.addoption("--gpu-node", default=None, help="the node to run on (default: the first one with GPUs)")
    group.addoption("--gpu-image", default="busybox:1.36", help="an image with a shell that the node has or can pull")


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    given: Path | None = request.config.getoption("kubeconfig", None)
    if given:
        yield given
        return
    folder = tmp_path_factory.mktemp("simcluster")
    (folder / "config.json").write_text(json.dumps(SIMULATION))
    ready = folder / "ready.json"
    options = ["--data", str(folder / "data"), "--config", str(folder / "config.json"), "--ready-file", str(ready)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "app.simcluster", *options], stdout=log, stderr=log)
        try:
            yield Path(_wait_for(ready, process, folder / "log")["kubeconfig"])
        finally:
            process.terminate()
            process.wait(60)


def _wait_for(ready: Path, process: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    ends = time.monotonic() + 90
    while time.monotonic() < ends and process.poll() is None:
        if ready.exists() and (content := ready.read_text()):
            found: dict[str, str] = json.loads(content)
            return found
        time.sleep(0.05)
    pytest.fail(f"the simulated cluster did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def namespace(kubeconfig: Path) -> Iterator[str]:
    name = f"gpuyard-contract-{uuid4().hex[:8]}"
    asyncio.run(_make_namespace(kubeconfig, name))
    yield name
    asyncio.run(_remove_namespace(kubeconfig, name))


async def _make_namespace(kubeconfig: Path, name: str) -> None:
    async with _transport(kubeconfig) as transport:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await transport.call(Request("POST", "/api/v1/namespaces", body=body))
        with contextlib.suppress(RefusedError):  # the simulated cluster has no service accounts, and needs none
            await transport.call(Request("GET", "/api/v1/serviceaccounts", {"limit": 1}))
            await _service_account(transport, name)


async def _service_account(transport: Transport, namespace: str) -> None:
    """A real cluster refuses pods until it has made this one, a moment after the namespace."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    async with asyncio.timeout(60):
        while not (await transport.call(Request("GET", path)))["items"]:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.1)


async def _remove_namespace(kubeconfig: Path, name: str) -> None:
    async with _transport(kubeconfig) as transport:
        await transport.call(Request("DELETE", f"/api/v1/namespaces/{name}"))


@asynccontextmanager
async def _transport(kubeconfig: Path) -> AsyncIterator[Transport]:
    transport = Transport(Connection(ConnectionSettings(kubeconfig)))
    try:
        yield transport
    finally:
        await transport.close()


@pytest.fixture
async def transport(kubeconfig: Path) -> AsyncIterator[Transport]:
    async with _transport(kubeconfig) as opened:
        yield opened


@pytest.fixture
async def port(kubeconfig: Path, namespace: str) -> AsyncIterator[KubernetesPort]:
    """Pages of two, watches of five seconds, two seconds from SIGTERM to SIGKILL."""
    manifest = ManifestSettings(termination_grace_seconds=2)
    settings = PortSettings(namespace, manifest=manifest, page_size=2, watch_seconds=5)
    async with _transport(kubeconfig) as transport:
        yield KubernetesPort(transport, settings)


@pytest.fixture
async def patient_port(kubeconfig: Path, namespace: str) -> AsyncIterator[KubernetesPort]:
    """With the settings of every day."""
    async with _transport(kubeconfig) as transport:
        yield KubernetesPort(transport, PortSettings(namespace))


@pytest.fixture
async def node(port: KubernetesPort, request: pytest.FixtureRequest) -> ObservedNode:
    wanted: str | None = request.config.getoption("gpu_node", None)
    nodes = [n for n in (await port.list_all(Kind.NODES)).items if isinstance(n, ObservedNode)]
    usable = [n for n in nodes if n.allocatable_gpus and n.is_ready and not n.is_cordoned]
    return next(n for n in usable if n.name == wanted or wanted is None)


@pytest.fixture
async def bench(
    port: KubernetesPort, transport: Transport, node: ObservedNode, namespace: str, request: pytest.FixtureRequest
) -> AsyncIterator[Workbench]:
    option = request.config.getoption
    is_simulated, image = option("kubeconfig", None) is None, option("gpu_image", "busybox:1.36")
    workbench = Workbench(port, transport, namespace, node, image, is_simulated=is_simulated)
    yield workbench
    await workbench.clean_up()
