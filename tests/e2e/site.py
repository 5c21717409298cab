"""The product on a simulated cluster with a fleet and times of the test's own, and an administrator's way to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.e2e.product import START_SECONDS, Product, administrator

Json = dict[str, Any]
MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Site:
    product: Product
    kubernetes: httpx2.AsyncClient

    async def call(self, method: str, path: str, body: object = None, media: str = "application/json") -> Json:
        """Of the Kubernetes API, or of the simulation's own endpoints."""
        content = None if body is None else json.dumps(body)
        answer = await self.kubernetes.request(method, path, content=content, headers={"content-type": media})
        assert answer.is_success, answer.text
        found: Json = answer.json()
        return found


@asynccontextmanager
async def opened_site(folder: Path, fleet: Sequence[Json], settings: Mapping[str, float]) -> AsyncIterator[Site]:
    product = Product(folder / "data", environment={"GPUYARD_RETRY_BASE": "1"})
    ready = folder / "data" / "cluster" / "ready.json"
    cluster = _start_cluster(ready, fleet, settings)
    try:
        async with asyncio.timeout(START_SECONDS):
            while not ready.exists():  # noqa: ASYNC110 — nothing tells of it
                await asyncio.sleep(0.05)
        await product.start()
        async with administrator(ready.parent / "kubeconfig") as client:
            yield Site(product, client)
    finally:
        cluster.kill()
        cluster.wait()
        product.end()


def _start_cluster(ready: Path, fleet: Sequence[Json], settings: Mapping[str, float]) -> subprocess.Popen[bytes]:
    """Where the demo finds it and takes it for its own."""
    folder = ready.parent
    folder.mkdir(parents=True)
    config = folder / "config.json"
    config.write_text(json.dumps({"fleet": list(fleet), "settings": dict(settings)}))
    options = ["--data", str(folder), "--config", str(config), "--ready-file", str(ready)]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([sys.executable, "-m", "app.simcluster", *options], stdout=log, stderr=log)
