"""One app over two clusters: each does its work; one that stops holds up nothing of the other, and is found again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import PortSettings, open_port
from app.demo.seed import ensure_people
from app.store.database import opened
from tests.e2e.product import CANCEL, START_SECONDS, WORKLOAD, Product, administrator, told_to_exit

pytestmark = pytest.mark.timeout(400)
LOST_AFTER = 10
NOTICED = 90.0  # seconds: lost, and found again
SHOWN = "id status phase reason message exitCode cluster server attempts { cluster server exitCode }"


@dataclass
class Simulated:
    """A simulated cluster as a process; its state, address and token stay over a kill."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return Path(json.loads((self.folder / "ready.json").read_text())["kubeconfig"])

    async def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "app.simcluster", "--data", str(self.folder), "--ready-file", str(ready)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: ASYNC220 — a moment
        async with asyncio.timeout(START_SECONDS):
            while not ready.exists():
                assert self.process.poll() is None, (self.folder / "log").read_text()
                await asyncio.sleep(0.05)

    async def exit(self, workload_id: str, code: int) -> None:
        """See Product.exit."""
        async with administrator(self.kubeconfig) as cluster:
            await told_to_exit(cluster, workload_id, code)

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """Also one that is suspended."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class Fleet(Product):
    """`gpuyard serve` over the simulated clusters `berlin` and `munich`, whose servers have the same names."""

    clusters: dict[str, Simulated] = field(default_factory=dict)

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.data / 'gpuyard.db'}"

    async def prepare(self) -> None:
        self.data.mkdir()
        for name in ("berlin", "munich"):
            cluster = self.clusters[name] = Simulated(self.data / name)
            await cluster.start()
            port = open_port(ConnectionSettings(cluster.kubeconfig), PortSettings("gpuyard"))
            await port.create_namespace()
            await port.close()
        async with opened(self.database_url):
            self.facts = await ensure_people(self.data, datetime.now(UTC))

    async def serve(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")}
        named = ",".join(f"{name}={cluster.kubeconfig}" for name, cluster in self.clusters.items())
        environment |= {
            "GPUYARD_DATABASE_URL": self.database_url,
            "GPUYARD_CLUSTERS": named,
            "GPUYARD_CLUSTER_LOST_AFTER": str(LOST_AFTER),
            "GPUYARD_INVENTORY": "cluster",  # no agent runs here
            "GPUYARD_PORT": "0",
        }
        path = self.data.parent / f"{self.data.name}.log"
        path.write_text("")
        with path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: ASYNC220 — a moment, and nobody else is waiting
                [sys.executable, "-m", "app", "serve"], stdout=log, stderr=log, env=environment
            )
        async with asyncio.timeout(START_SECONDS):
            while "GPUYard serves " not in self.log():
                assert self._process.poll() is None, self.log()
                await asyncio.sleep(0.05)
        url = self.log().partition("GPUYard serves ")[2].split()[0]
        self.facts |= {"url": url, "graphql": f"{url}/graphql"}

    async def workload(self, workload_id: str) -> dict[str, Any]:
        answer = await self.ask(WORKLOAD % SHOWN, {"org": "demo", "id": workload_id})
        workload: dict[str, Any] = answer["data"]["organization"]["workload"]
        return workload

    async def started(self, **wanted: Any) -> dict[str, Any]:
        """A workload that runs, with the cluster that it runs in."""
        workload = await self.submit("id", **wanted)
        return await self.until(workload["id"], phase="RUNNING")

    async def until_ready(self, status: str) -> dict[str, Any]:
        body: dict[str, Any] = {}
        async with asyncio.timeout(NOTICED), httpx2.AsyncClient(trust_env=False, timeout=20) as client:
            while body.get("status") != status:
                await asyncio.sleep(0.1)
                body = (await client.get(f"{self.facts['url']}/readyz")).json()
        return body

    async def until_told(self, workload_id: str, words: str) -> dict[str, Any]:
        seen: dict[str, Any] = {"message": ""}
        async with asyncio.timeout(NOTICED):
            while words not in seen["message"]:
                await asyncio.sleep(0.1)
                seen = await self.workload(workload_id)
        return seen

    async def until_on_record(self) -> None:
        """The servers of both clusters."""
        async with asyncio.timeout(NOTICED):
            while True:
                answer = await self.ask('{ organization(slug: "demo") { servers { cluster } } }')
                if {it["cluster"] for it in (answer["data"]["organization"] or {}).get("servers", [])} == {
                    *self.clusters
                }:
                    return
                await asyncio.sleep(0.1)

    def end(self) -> None:
        super().end()
        for cluster in self.clusters.values():
            cluster.kill()


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Fleet]:
    fleet = Fleet(folder / "data")
    try:
        await fleet.prepare()
        await fleet.serve()
        await fleet.until_ready("ok")
        await fleet.until_on_record()
        yield fleet
    finally:
        fleet.end()


async def hang(cluster: Simulated) -> None:
    cluster.signal(signal.SIGSTOP)


async def go_on(cluster: Simulated) -> None:
    cluster.signal(signal.SIGCONT)


async def die(cluster: Simulated) -> None:
    cluster.kill()


async def live_again(cluster: Simulated) -> None:
    await cluster.start()


Act = Callable[[Simulated], Awaitable[None]]


@pytest.mark.parametrize(("stop", "bring_back"), [(hang, go_on), (die, live_again)], ids=["hangs", "is killed"])
async def test_a_lost_cluster_holds_up_no_other_and_is_found_again(tmp_path: Path, stop: Act, bring_back: Act):
    async with serving(tmp_path) as fleet:
        ends = await fleet.started(gpuCount=8, envVars={"SIM_SECONDS": 600})
        cancelled = await fleet.started(gpuCount=4, envVars={"SIM_SECONDS": 600})
        elsewhere = await fleet.started(gpuCount=8, envVars={"SIM_SECONDS": 600})
        assert [it["cluster"] for it in (ends, cancelled, elsewhere)] == ["berlin", "berlin", "munich"]
        await stop(fleet.clusters["berlin"])
        lost = await fleet.until(ends["id"], phase="UNKNOWN", seconds=NOTICED)
        assert (lost["status"], lost["reason"]) == ("RUNNING", "CLUSTER_UNREACHABLE")
        assert re.fullmatch(
            r"the cluster berlin has not answered since 20..-..-.. ..:..:.. UTC; what .* there is unknown",
            lost["message"],
        )
        ready = await fleet.until_ready("degraded")
        assert (ready["clusters"]["munich"]["status"], ready["clusters"]["berlin"]["status"]) == ("ok", "not ready")

        meanwhile = await fleet.submit("id", gpuCount=2, envVars={"SIM_SECONDS": 0.2})
        assert (await fleet.until(meanwhile["id"], status="COMPLETED"))["cluster"] == "munich"
        waiting = await fleet.submit("id", gpuCount=8, envVars={"SIM_SECONDS": 0.2})
        await fleet.until_told(
            waiting["id"], "; 3 more servers large enough are in cluster berlin, which does not answer"
        )
        await fleet.ask(CANCEL % "id", {"id": cancelled["id"]})
        held = await fleet.until_told(
            cancelled["id"], "it is to be stopped, but the cluster berlin has not answered since"
        )
        assert (held["status"], held["phase"]) == ("RUNNING", "STOPPING")

        await bring_back(fleet.clusters["berlin"])
        await fleet.clusters["berlin"].exit(ends["id"], code=3)
        ended = await fleet.until(ends["id"], status="COMPLETED", seconds=NOTICED)
        assert (ended["exitCode"], len(ended["attempts"])) == (3, 1)
        await fleet.until(cancelled["id"], status="CANCELLED", seconds=NOTICED)
        assert (await fleet.until(waiting["id"], status="COMPLETED", seconds=NOTICED))["cluster"] == "berlin"
        assert (await fleet.workload(elsewhere["id"]))["phase"] == "RUNNING"
        await fleet.until_ready("ok")


async def test_a_start_with_a_cluster_down(tmp_path: Path):
    async with serving(tmp_path) as fleet:
        there = await fleet.started(gpuCount=8, envVars={"SIM_SECONDS": 600})
        assert there["cluster"] == "berlin"
        fleet.kill()
        fleet.clusters["berlin"].kill()
        await fleet.serve()
        soon = await fleet.submit("id", gpuCount=1, envVars={"SIM_SECONDS": 0.2})
        assert (await fleet.until(soon["id"], status="COMPLETED"))["cluster"] == "munich"
        lost = await fleet.until(there["id"], phase="UNKNOWN", seconds=NOTICED)
        assert "the cluster berlin has not answered since 20" in lost["message"]
        fleet.kill()
        await fleet.serve()  # once more, while it is shown as lost
        await fleet.until_ready("degraded")
        again = await fleet.workload(there["id"])
        assert (again["phase"], again["message"]) == ("UNKNOWN", lost["message"])
        await fleet.clusters["berlin"].start()
        await fleet.clusters["berlin"].exit(there["id"], code=4)
        ended = await fleet.until(there["id"], status="COMPLETED", seconds=NOTICED)
        assert (ended["exitCode"], ended["attempts"]) == (4, [{"cluster": "berlin", "server": "gpu-1", "exitCode": 4}])


async def test_a_cluster_that_is_no_longer_named(tmp_path: Path):
    async with serving(tmp_path) as fleet:
        there = await fleet.started(gpuCount=8, envVars={"SIM_SECONDS": 600})
        fleet.stop()
        berlin = fleet.clusters.pop("berlin")
        await fleet.serve()
        lost = await fleet.until(there["id"], phase="UNKNOWN", seconds=NOTICED)
        assert lost["status"] == "RUNNING"
        assert "the settings name no cluster berlin" in lost["message"]
        assert "once GPUYARD_CLUSTERS names it" in lost["message"]
        await berlin.exit(there["id"], code=0)
        fleet.stop()
        fleet.clusters["berlin"] = berlin
        await fleet.serve()
        assert len((await fleet.until(there["id"], status="COMPLETED"))["attempts"]) == 1
