"""A scripted API server, and the adapter connected to it through a kubeconfig file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import stamina
import yaml

from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings, open_port
from tests.cluster.builders import NAMESPACE
from tests.cluster.scripted_api import ScriptedApi, scripted_api


def write_kubeconfig(path: Path, url: str, user: dict[str, object]) -> Path:
    names = {"cluster": "test", "user": "test"}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": names}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(autouse=True)
def no_waits() -> Iterator[None]:
    """Calls are repeated as in earnest, without the pauses."""
    with stamina.set_testing(True, attempts=3):
        yield


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with scripted_api() as server:
        yield server


@pytest.fixture
async def port(api: ScriptedApi, tmp_path: Path) -> AsyncIterator[KubernetesPort]:
    """Small pages, and short of patience with a silent watch."""
    async with connected(api, tmp_path, PortSettings(NAMESPACE, page_size=2, quiet_seconds=1.0)) as port:
        yield port


@pytest.fixture
async def patient_port(api: ScriptedApi, tmp_path: Path) -> AsyncIterator[KubernetesPort]:
    async with connected(api, tmp_path, PortSettings(NAMESPACE)) as port:
        yield port


@asynccontextmanager
async def connected(api: ScriptedApi, folder: Path, settings: PortSettings) -> AsyncIterator[KubernetesPort]:
    kubeconfig = write_kubeconfig(folder / "config", api.url, {"token": "sesame"})
    port = open_port(ConnectionSettings(kubeconfig), settings)
    yield port
    await port.close()
