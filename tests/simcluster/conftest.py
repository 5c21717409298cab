"""Fixtures: a world with a clock of its own, and the same served over HTTPS on loopback."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    batch: Any  # every field of the client's models may be None, which would drown what a test says
    core: Any
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
            aiohttp.ClientSession(cluster.url, headers=headers, connector=trusting(cluster.ca)) as http,
        ):
            yield Served(cluster, client.BatchV1Api(api), client.CoreV1Api(api), http)


def trusting(ca: Path) -> aiohttp.TCPConnector:
    """The cluster's own authority and no other."""
    return aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca))
