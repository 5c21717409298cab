"""Fixtures: a world with a clock of its own, and the same served over HTTP on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from kubernetes.aio import client, config

from app.simcluster.api.context import Context
from app.simcluster.fleet import DEFAULT_FLEET
from app.simcluster.server import Running, running
from app.simcluster.settings import Settings
from tests.simcluster.world import World

QUICK = Settings(
    run_seconds=0.1, pull_seconds=0.01, start_seconds=0, term_seconds=0.02, finish_seconds=0, bookmark_seconds=0.1
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@dataclass(frozen=True)
class Served:
    """One running simulation with the official client and a plain one."""

    running: Running
    batch: client.BatchV1Api
    core: client.CoreV1Api
    http: aiohttp.ClientSession

    @property
    def context(self) -> Context:
        return self.running.context


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with running(tmp_path / "data", settings=QUICK, fleet=DEFAULT_FLEET) as cluster:
        await config.load_kube_config(str(cluster.kubeconfig))
        headers = {"Authorization": f"Bearer {cluster.token}"}
        async with (
            client.ApiClient() as api,
            aiohttp.ClientSession(cluster.url, headers=headers) as http,
        ):
            yield Served(cluster, client.BatchV1Api(api), client.CoreV1Api(api), http)
