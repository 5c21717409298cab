"""A whole installation made of processes: `gpuyard serve`, a relay in front of a simulated cluster, a database.

The app and the cluster can each be killed and started again where they were. The relay runs in the test's own loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from app.auth.secrets import hash_token, new_token
from app.commands import administer
from app.domain.people import Role
from app.store.database import opened
from tests.e2e.product import CANCEL, SUBMIT, WORKLOAD
from tests.proof.database_relay import DatabaseRelay
from tests.proof.relay import Relay

ORGANIZATION, NAMESPACE = "proof", "gpuyard"
START_SECONDS = 60.0
FLEET = [{"name": f"gpu-{i}", "gpus": 8, "product": "L40S", "cpu": "256", "memory": "4Ti"} for i in range(1, 9)]
QUICK = {"pull_seconds": 0.1, "retry_seconds": 0.5, "node_grace_seconds": 2.0, "vanished_node_seconds": 2.0}
FIELDS = """
  id status phase reason message succeeded exitCode signal
  attempts { number podName server exitCode reason } events { type status phase message }
"""
UNENDED = """query($org: String!) { organization(slug: $org) {
  workloads(first: 500, status: [PENDING, RUNNING]) { totalCount edges { node { id phase reason message } } }
} }"""
SERVERS = "query($org: String!) { organization(slug: $org) { servers { name gpusFree gpusHealthy } } }"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Process:
    """One of ours in a process of its own. `start` after `kill` finds what the last one left."""

    def __init__(self, name: str, folder: Path) -> None:
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command], stdout=log, stderr=log, env={**os.environ, **(environment or {})}
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """As the kernel would, without a chance to say goodbye."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(20)

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


@dataclass
class Installation:
    folder: Path
    database_url: str
    relay: Relay
    database: DatabaseRelay | None
    settings: dict[str, str]
    token: str = field(default_factory=new_token)
    port: int = field(default_factory=_free_port)
    kills: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.app = Process("app", self.folder)
        self.cluster = Process("cluster", self.folder)
        self._ready = self.folder / "ready.json"
        self.clients = httpx2.AsyncClient(trust_env=False, timeout=30)
        trust = ssl.create_default_context(cafile=self.relay.kubeconfig.parent / "ca.pem")
        self._to_cluster = httpx2.AsyncClient(trust_env=False, timeout=30, verify=trust)

    # processes

    async def start_app(self) -> None:
        environment = {
            "GPUYARD_DATABASE_URL": self.database_url,
            "GPUYARD_KUBECONFIG": str(self.folder / "kubeconfig"),
            "GPUYARD_NAMESPACE": NAMESPACE,
            "GPUYARD_INVENTORY": "cluster",  # no agent runs here
            "GPUYARD_PORT": str(self.port),
            "GPUYARD_JOB_RETENTION": "0",
            "GPUYARD_RETRY_BASE": "1",
            **self.settings,
        }
        self.app.start(["app", "serve"], environment)
        async with asyncio.timeout(START_SECONDS):
            while not await self._answers():
                assert self.app.is_running, self.app.last_words()
                await asyncio.sleep(0.1)

    async def _answers(self) -> bool:
        """Whether it answers, its servers on record, as they are from the first start on."""
        try:
            organization = (await self._ask(SERVERS))["data"]["organization"]
        except httpx2.TransportError:
            return False
        return organization is not None and len(organization["servers"]) == len(FLEET)

    def kill_app(self) -> None:
        self.kills["app"] += 1
        self.app.kill()

    async def start_cluster(self) -> None:
        self._ready.unlink(missing_ok=True)
        self.cluster.start(_cluster_command(self.folder))
        await _exists(self._ready, self.cluster)

    def kill_cluster(self) -> None:
        self.kills["cluster"] += 1
        self.cluster.kill()

    async def close(self) -> None:
        for process in (self.app, self.cluster):
            await asyncio.to_thread(process.stop)  # what it still has to write goes through this loop's relays
        await self.clients.aclose()
        await self._to_cluster.aclose()

    # the product

    async def _ask(self, query: str, **variables: Any) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self.token}"}
        body = {"query": query, "variables": {"org": ORGANIZATION, **variables}}
        address = f"http://127.0.0.1:{self.port}/graphql"
        answer: dict[str, Any] = (await self.clients.post(address, json=body, headers=headers)).json()
        return answer

    async def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The data of the answer; asked again while the app is dead, as everything asked here may be repeated."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                try:
                    answer = await self._ask(query, **variables)
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
                    continue
                assert "errors" not in answer, answer
                data: dict[str, Any] = answer["data"]
                return data

    async def submit(self, key: str, **wanted: Any) -> str:
        """The new workload's id. The idempotency key makes a repeat find the first one."""
        variables = [{"name": name, "value": str(value)} for name, value in wanted.pop("env", {}).items()]
        wanted = {"organization": ORGANIZATION, "image": "busybox:1.36", "envVars": variables, **wanted}
        answer = await self.ask(SUBMIT % "id", input={"gpuCount": 1, "idempotencyKey": key, **wanted})
        workload_id: str = answer["submitWorkload"]["workload"]["id"]
        return workload_id

    async def cancel(self, workload_id: str) -> None:
        try:
            await self.ask(CANCEL % "id", id=workload_id)
        except AssertionError as error:  # it has ended meanwhile
            if "CONFLICT" not in str(error):
                raise

    async def workload(self, workload_id: str) -> dict[str, Any]:
        workload: dict[str, Any] = (await self.ask(WORKLOAD % FIELDS, id=workload_id))["organization"]["workload"]
        return workload

    async def until_all_ended(self, seconds: float) -> None:
        unended: dict[str, Any] = {}
        until = time.monotonic() + seconds
        while unended.get("totalCount") != 0:
            assert time.monotonic() < until, f"not ended after {seconds} s: {unended}\n{self.app.last_words()}"
            await asyncio.sleep(0.3)
            unended = (await self.ask(UNENDED))["organization"]["workloads"]

    async def until_phase(self, workload_id: str, *phases: str, seconds: float = 30) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        until = time.monotonic() + seconds
        while seen.get("phase") not in phases:
            assert time.monotonic() < until, f"never became {phases}: {seen}\n{self.app.last_words()}"
            await asyncio.sleep(0.05)
            seen = await self.workload(workload_id)
        return seen

    async def servers(self) -> list[dict[str, Any]]:
        servers: list[dict[str, Any]] = (await self.ask(SERVERS))["organization"]["servers"]
        return servers

    # the truth

    async def cluster_asks(self, path: str, body: Any = None, method: str = "") -> Any:
        """The API server itself, past the relay; asked again while it is dead."""
        facts = json.loads((self.folder / "cluster" / "identity.json").read_text())
        url, headers = f"https://127.0.0.1:{facts['port']}{path}", {"authorization": f"Bearer {facts['token']}"}
        async with asyncio.timeout(START_SECONDS):
            while True:
                try:
                    verb = method or ("GET" if body is None else "POST")
                    answer = await self._to_cluster.request(verb, url, json=body, headers=headers)
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
                    continue
                if answer.is_success:
                    return answer.json()
                assert answer.status_code in (429, 500, 502), answer.text
                await asyncio.sleep(0.05)

    async def strike(self, **faults: float | bool) -> None:
        await self.cluster_asks("/simcluster/faults", faults, "PUT")

    async def objects(self, kind: str) -> list[dict[str, Any]]:
        group = "/apis/batch/v1" if kind == "jobs" else "/api/v1"
        items: list[dict[str, Any]] = (await self.cluster_asks(f"{group}/namespaces/{NAMESPACE}/{kind}"))["items"]
        return items

    async def executions(self) -> Counter[str]:
        """How many containers executed, by workload: each pod of ours runs one, and its kubelet says so."""
        events = await self.objects("events")
        pods = {event["involvedObject"]["name"] for event in events if event["reason"] == "Started"}
        return Counter(name.split("-")[1] for name in pods)


@asynccontextmanager
async def installed(folder: Path, database_url: str, *, seed: int = 0, **settings: str) -> AsyncIterator[Installation]:
    """Running, with an organization and servers on record. PostgreSQL is reached through a relay."""
    _write_config(folder)
    database = DatabaseRelay(database_url) if database_url.startswith(("postgres", "asyncpg")) else None
    first = Process("cluster", folder)
    async with AsyncExitStack() as stack:
        stack.callback(first.stop)
        first.start(_cluster_command(folder))
        await _exists(folder / "ready.json", first)
        relay = Relay(folder / "cluster" / "kubeconfig", seed)
        await stack.enter_async_context(relay.serving(folder / "kubeconfig"))
        url = await stack.enter_async_context(database.serving()) if database else database_url
        installation = Installation(folder, url, relay, database, settings)
        installation.cluster = first
        stack.push_async_callback(installation.close)
        await installation.cluster_asks("/api/v1/namespaces", _named("Namespace", NAMESPACE))
        await _add_people(database_url, installation.token)
        await installation.start_app()
        yield installation


def _write_config(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"fleet": FLEET, "settings": QUICK}))


def _cluster_command(folder: Path) -> list[str]:
    options = ["--data", folder / "cluster", "--config", folder / "config.json", "--ready-file", folder / "ready.json"]
    return ["app.simcluster", *map(str, options)]


def _named(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


async def _exists(path: Path, process: Process) -> None:
    async with asyncio.timeout(START_SECONDS):
        while not path.exists():  # noqa: ASYNC240 — a moment, and nobody else is waiting
            assert process.is_running, process.last_words()
            await asyncio.sleep(0.05)


async def _add_people(database_url: str, token: str) -> None:
    async with opened(database_url):
        now = datetime.now(UTC)
        await administer.create_organization(ORGANIZATION, "", now)
        await administer.create_service_token(ORGANIZATION, Role.OWNER, hash_token(token), "proof", (), now)
