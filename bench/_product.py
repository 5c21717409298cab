"""What the benches share: processes, a `gpuyard serve` of its own on a fresh SQLite file, and its clients."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from app.auth.secrets import hash_token, new_token
from app.commands import administer
from app.domain.people import Role
from app.store.database import opened

NAMESPACE, ORGANIZATION = "gpuyard", "bench"
CONCURRENCY = 32
MUTATION = "mutation($input: SubmitWorkloadInput!) { submitWorkload(input: $input) { workload { id jobName } } }"
EVENTS = 'subscription { workloadEvents(organization: "bench") { type workloadId } }'
SERVE = ("-m", "app", "serve")


@dataclass(frozen=True)
class Service:
    """`pid` is the process's, `token` an owner's."""

    url: str
    token: str
    pid: int

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


@contextmanager
def process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[int]:
    with log.open("wb") as output:
        child = subprocess.Popen(command, env={**os.environ, **environment}, stdout=output, stderr=output)
    try:
        yield child.pid
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(20)


@asynccontextmanager
async def simulated(folder: Path, nodes: list[dict[str, Any]], settings: dict[str, Any]) -> AsyncIterator[Path]:
    """A simulated cluster of its own; its kubeconfig."""
    config = folder / "config.json"
    config.write_text(json.dumps({"fleet": nodes, "settings": settings}))
    ready = folder / "cluster.json"
    command = ["app.simcluster", "--data", str(folder / "cluster"), "--config", str(config), "--ready-file", str(ready)]
    with process([sys.executable, "-m", *command], {}, folder / "cluster.log"):
        yield Path(json.loads(await content(ready))["kubeconfig"])


async def content(path: Path) -> str:
    async with asyncio.timeout(60):
        while not path.is_file():
            await asyncio.sleep(0.02)
    return path.read_text()


async def _nothing() -> None: ...


@asynccontextmanager
async def service(
    folder: Path,
    kubeconfig: Path,
    settings: dict[str, str] | None = None,
    python: tuple[str, ...] = SERVE,
    database: str = "",
    fill: Callable[[], Awaitable[None]] = _nothing,
) -> AsyncIterator[Service]:
    """Ready, with one organization. `settings` are further ones, `python` the interpreter's arguments.

    `database` is the URL of an empty one, of SQLite unless given; `fill` puts rows into it before the start.
    """
    database = database or f"sqlite:///{folder}/bench.db"
    token = new_token()
    async with opened(database):
        now = datetime.now(UTC)
        await administer.create_organization(ORGANIZATION, "", now)
        await administer.create_service_token(ORGANIZATION, Role.OWNER, hash_token(token), "bench", (), now)
        await fill()
    environment = {
        "GPUYARD_DATABASE_URL": database,
        "GPUYARD_KUBECONFIG": str(kubeconfig),
        "GPUYARD_NAMESPACE": NAMESPACE,
        "GPUYARD_INVENTORY": "cluster",  # no agent runs here
        "GPUYARD_PORT": "0",
        **(settings or {}),
    }
    log = folder / "serve.log"
    with process([sys.executable, *python], environment, log) as pid:
        started = Service(await address_in(log), token, pid)
        await _until_ready(started)
        yield started


async def address_in(log: Path, words: str = "GPUYard serves ") -> str:
    async with asyncio.timeout(60):
        while True:
            for line in log.read_text().splitlines():
                if line.startswith(words):
                    return line.split()[-1]
            await asyncio.sleep(0.05)


async def _until_ready(started: Service) -> None:
    """Ready, and the servers are on record."""
    query = {"query": '{ organization(slug: "bench") { servers { name } } }'}
    async with httpx2.AsyncClient(trust_env=False) as client, asyncio.timeout(120):
        while True:
            answer = await client.post(f"{started.url}/graphql", json=query, headers=started.headers)
            if "errors" not in answer.json():
                return
            await asyncio.sleep(0.1)


async def submit_all(to: Service, jobs: int, wanted: dict[str, Any]) -> None:
    """So many equal ones, some at a time. `wanted` is the input without the organization."""
    body = {"query": MUTATION, "variables": {"input": {"organization": ORGANIZATION, **wanted}}}
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:

        async def submit(_: int) -> None:
            answer = await client.post(f"{to.url}/graphql", json=body, headers=to.headers)
            if "errors" in answer.json():
                raise SystemExit(answer.text)

        await in_parallel(jobs, submit)


async def in_parallel(jobs: int, one: Callable[[int], Awaitable[None]]) -> None:
    limit = asyncio.Semaphore(CONCURRENCY)

    async def limited(number: int) -> None:
        async with limit:
            await one(number)

    await asyncio.gather(*(limited(number) for number in range(jobs)))


async def events(of: Service) -> AsyncIterator[tuple[str, str]]:
    """Type and workload (32 hexadecimal digits) of each event from now on, over WebSocket."""
    address = f"{of.url.replace('http', 'ws', 1)}/graphql"
    async with connect(address, subprotocols=[Subprotocol("graphql-transport-ws")], proxy=None) as socket:
        await socket.send(json.dumps({"type": "connection_init", "payload": of.headers}))
        await socket.recv()
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": EVENTS}}))
        async for message in socket:
            event = json.loads(message)["payload"]["data"]["workloadEvents"]
            yield event["type"], event["workloadId"].replace("-", "")
