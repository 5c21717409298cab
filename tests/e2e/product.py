"""The product as its users have it: `gpuyard demo` as a process, spoken to over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import yaml
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

START_SECONDS = 90.0  # only a machine that is very busy needs it
ENDED = {"Succeeded", "Failed"}  # phases of pods
SUBMIT = "mutation($input: SubmitWorkloadInput!) { submitWorkload(input: $input) { isNew workload { %s } } }"
CANCEL = "mutation($id: UUID!) { cancelWorkload(input: {id: $id}) { workload { %s } } }"
WORKLOAD = "query($org: String!, $id: UUID!) { organization(slug: $org) { workload(id: $id) { %s } } }"
FIELDS = """
  id jobName name status phase reason message succeeded exitCode signal imageReference server gpus
  createdAt startedAt completedAt
  attempts { number jobName server exitCode reason } events { cursor type status phase reason message }
"""
EVENTS = """
subscription($org: String!, $after: String) {
  workloadEvents(organization: $org, after: $after) { cursor workloadId type status phase reason message }
}
"""


def administrator(kubeconfig: Path) -> httpx2.AsyncClient:
    """Speaks to the simulated cluster with the credentials of its own kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    headers = {"authorization": f"Bearer {user['token']}"}
    return httpx2.AsyncClient(base_url=cluster["server"], headers=headers, verify=trust, trust_env=False, timeout=20)


async def pods(cluster: httpx2.AsyncClient, workload_id: str) -> list[dict[str, Any]]:
    """Of its first attempt, as the simulated cluster has them."""
    query = {"labelSelector": f"batch.kubernetes.io/job-name=gw-{UUID(workload_id).hex}-1"}
    items: list[dict[str, Any]] = (await cluster.get("/api/v1/pods", params=query)).json()["items"]
    return items


async def told_to_exit(cluster: httpx2.AsyncClient, workload_id: str, code: int) -> None:
    [pod] = await pods(cluster, workload_id)
    place = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    answer = await cluster.post(f"/simcluster/pods/{place}/exit", params={"code": code})
    assert answer.is_success, answer.text


@asynccontextmanager
async def started(data: Path) -> AsyncIterator[Product]:
    """A product on a fresh folder; nothing of it is left afterwards."""
    product = Product(data)
    try:
        await product.start()
        yield product
    finally:
        product.end()


@dataclass
class Product:
    """One demo on one data folder. `start` after `kill` is the same installation again."""

    data: Path
    port: int = 0  # 0: a free one at each start
    environment: dict[str, str] = field(default_factory=dict)  # settings that the demo leaves to it
    ready_file: Path = field(init=False)
    facts: dict[str, Any] = field(init=False, default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.ready_file = self.data.parent / f"{self.data.name}.json"

    async def start(self) -> None:
        self.ready_file.unlink(missing_ok=True)
        command = ["demo", "--port", str(self.port), "--data", str(self.data), "--ready-file", str(self.ready_file)]
        with (self.data.parent / f"{self.data.name}.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: ASYNC220 — a moment, and nobody else is waiting
                [sys.executable, "-m", "app", *command], stdout=log, stderr=log, env={**os.environ, **self.environment}
            )
        async with asyncio.timeout(START_SECONDS):
            while not self.ready_file.exists():
                assert self._process.poll() is None, self.log()
                await asyncio.sleep(0.05)
        self.facts = json.loads(self.ready_file.read_text())

    async def start_again(self) -> None:
        """Where it was before, so that those who were connected find it."""
        self.port = urlsplit(self.facts["url"]).port or 0
        await self.start()

    def log(self) -> str:
        return (self.data.parent / f"{self.data.name}.log").read_text()

    def kill(self) -> None:
        """As the kernel would, without a chance to say goodbye."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def end(self) -> None:
        """Leave nothing behind, whatever state a test left it in."""
        if self._process is not None and self._process.poll() is None:
            self.stop()
        ready = self.data / "cluster" / "ready.json"
        if ready.exists():
            pid = json.loads(ready.read_text())["pid"]
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    async def ask(
        self, query: str, variables: dict[str, Any] | None = None, *, credential: str = "token"
    ) -> dict[str, Any]:
        """The whole answer, errors included."""
        headers = {"authorization": f"Bearer {self.facts[credential]}"}
        async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
            body = {"query": query, "variables": variables or {}}
            answer: dict[str, Any] = (await client.post(self.facts["graphql"], json=body, headers=headers)).json()
        return answer

    async def submit(self, fields: str = FIELDS, **wanted: Any) -> dict[str, Any]:
        wanted = {"organization": "demo", "image": "busybox:1.36", "gpuCount": 1, **wanted}
        if isinstance(wanted.get("envVars"), dict):
            wanted["envVars"] = [{"name": name, "value": str(value)} for name, value in wanted["envVars"].items()]
        answer = await self.ask(SUBMIT % fields, {"input": wanted})
        assert "errors" not in answer, answer
        workload: dict[str, Any] = answer["data"]["submitWorkload"]["workload"]
        return workload

    async def cancel(self, workload_id: str) -> None:
        answer = await self.ask(CANCEL % "id", {"id": workload_id})
        assert "errors" not in answer, answer

    def administrator(self) -> httpx2.AsyncClient:
        """Of the simulated cluster."""
        return administrator(Path(self.facts["kubeconfig"]))

    async def exit(self, workload_id: str, code: int = 0) -> None:
        """The container of its first attempt, which runs, ends now with the code. The app may be down."""
        async with self.administrator() as cluster:
            await told_to_exit(cluster, workload_id, code)
        await self.until_over(workload_id)

    async def until_over(self, workload_id: str) -> None:
        """In the cluster: the pod of its first attempt has ended, and may be gone."""
        async with asyncio.timeout(60), self.administrator() as cluster:
            while not {pod["status"]["phase"] for pod in await pods(cluster, workload_id)} <= ENDED:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def until_started(self, workload_id: str) -> dict[str, Any]:
        """It has begun to run, and may have ended."""
        async with asyncio.timeout(60):
            while (seen := await self.workload(workload_id))["startedAt"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return seen

    async def workload(self, workload_id: str) -> dict[str, Any]:
        answer = await self.ask(WORKLOAD % FIELDS, {"org": "demo", "id": workload_id})
        workload: dict[str, Any] = answer["data"]["organization"]["workload"]
        return workload

    async def until(
        self, workload_id: str, *, status: str = "", phase: str = "", reason: str = "", seconds: float = 60
    ) -> dict[str, Any]:
        """The workload once it has the status, phase, reason: one that it doesn't leave by itself."""
        wanted = {"status": status, "phase": phase, "reason": reason}
        seen: dict[str, Any] = {}
        try:
            async with asyncio.timeout(seconds):
                while not seen or any(value and seen[name] != value for name, value in wanted.items()):
                    await asyncio.sleep(0.05)
                    seen = await self.workload(workload_id)
        except TimeoutError:
            raise AssertionError(f"never became {wanted}: {seen}\n{self.log()[-3000:]}") from None
        return seen

    async def until_event(self, workload_id: str, kind: str) -> dict[str, Any]:
        """The first event of this type in its record, which keeps also what passes in a moment."""
        async with asyncio.timeout(60):
            while True:
                for event in (await self.workload(workload_id))["events"]:
                    if event["type"] == kind:
                        found: dict[str, Any] = event
                        return found
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def events(
        self, after: str | None = None, credential: str = "token"
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """The organization's events over graphql-transport-ws."""
        protocol = Subprotocol("graphql-transport-ws")
        async with connect(self.facts["ws"], subprotocols=[protocol], proxy=None) as socket:
            payload = {"authorization": f"Bearer {self.facts[credential]}"}
            await socket.send(json.dumps({"type": "connection_init", "payload": payload}))
            assert json.loads(await socket.recv())["type"] == "connection_ack"
            subscribe = {"query": EVENTS, "variables": {"org": "demo", "after": after}}
            await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": subscribe}))

            async def read() -> AsyncIterator[dict[str, Any]]:
                async for text in socket:
                    message = json.loads(text)
                    assert message["type"] == "next", message
                    yield message["payload"]["data"]["workloadEvents"]

            yield read()
