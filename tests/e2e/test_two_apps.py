"""Two apps on one database by mistake: one works, the other serves, says so, and follows when the first is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from app.clock import SystemClock
from app.demo.seed import ensure_people
from app.store.database import opened
from tests.e2e.product import CANCEL, START_SECONDS, Product

NOTICED = 25.0  # seconds within which a wish written by the other process shows an effect; a full look comes every 60
FOLLOWED = 60.0


@dataclass
class Second(Product):
    """`gpuyard serve` on the database and the cluster of a demo, which is `facts`' own."""

    async def serve(self, first: Product, database_url: str = "") -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUYARD_")}
        environment |= {
            "GPUYARD_DATABASE_URL": database_url or f"sqlite:///{first.data / 'gpuyard.db'}",
            "GPUYARD_KUBECONFIG": first.facts["kubeconfig"],
            "GPUYARD_INVENTORY": "cluster",  # the demo's agent ends with the demo
            "GPUYARD_PORT": "0",
        }
        log = self.data.parent / f"{self.data.name}.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: ASYNC220 — a moment, and nobody else is waiting
                [sys.executable, "-m", "app", "serve"], stdout=output, stderr=output, env=environment
            )
        async with asyncio.timeout(START_SECONDS):
            while "GPUYard serves " not in log.read_text():
                assert self._process.poll() is None, self.log()
                await asyncio.sleep(0.05)
        url = self.log().partition("GPUYard serves ")[2].split()[0]
        self.facts = {**first.facts, "url": url, "graphql": f"{url}/graphql"}


@asynccontextmanager
async def two(first: Product, folder: Path) -> AsyncIterator[Second]:
    await first.start()
    second = Second(folder / "second")
    try:
        await second.serve(first)
        yield second
    finally:
        second.end()


async def readiness(product: Product) -> dict[str, Any]:
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
        body: dict[str, Any] = (await client.get(f"{product.facts['url']}/readyz")).json()
    return body


async def until_ready(product: Product, *, works_here: bool) -> dict[str, Any]:
    async with asyncio.timeout(FOLLOWED):
        while True:
            ready = await readiness(product)
            if ready["status"] == "ok" and ready["works_here"] is works_here and (works_here or ready["note"]):
                return ready
            await asyncio.sleep(0.1)


async def test_the_second_serves_and_says_that_the_first_works(fresh_product: Product, tmp_path: Path):
    async with two(fresh_product, tmp_path) as second:
        assert (await readiness(fresh_product))["works_here"] is True
        ready = await until_ready(second, works_here=False)
        assert fresh_product._process is not None
        assert "its loops run there" in ready["note"]
        assert f"process {fresh_product._process.pid} on" in ready["note"]
        asked = time.monotonic()
        workload = await second.submit(envVars={"SIM_SECONDS": 600})
        await fresh_product.until(workload["id"], status="RUNNING", seconds=NOTICED)
        await second.ask(CANCEL % "id", {"id": workload["id"]})
        await second.until(workload["id"], status="CANCELLED", seconds=NOTICED)
        assert time.monotonic() - asked < 2 * NOTICED
        assert second.log().count("another process works on this database") == 1


async def test_the_second_follows_a_killed_first(fresh_product: Product, tmp_path: Path):
    async with two(fresh_product, tmp_path) as second:
        short = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
        long = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
        for workload in (short, long):
            await fresh_product.until(workload["id"], status="RUNNING")
        await fresh_product.ask(CANCEL % "id", {"id": long["id"]})
        fresh_product.kill()
        await fresh_product.exit(short["id"], code=5)
        fresh = await second.submit(envVars={"SIM_SECONDS": 0.2})
        assert (await until_ready(second, works_here=True))["note"] is None
        assert (await second.until(short["id"], status="COMPLETED"))["exitCode"] == 5
        await second.until(long["id"], status="CANCELLED")
        ended = await second.until(fresh["id"], status="COMPLETED")
        assert len(ended["attempts"]) == 1
        await fresh_product.start_again()  # now it is the first that stands by
        await until_ready(fresh_product, works_here=False)


async def test_on_postgres_the_other_follows_a_killed_one(fresh_product: Product, tmp_path: Path, postgres_copy: str):
    """The cluster and the people are a demo's; its app is gone."""
    await fresh_product.start()
    fresh_product.kill()
    async with opened(postgres_copy):
        await ensure_people(fresh_product.data, SystemClock().now())
    one, two = Second(tmp_path / "one"), Second(tmp_path / "two")
    try:
        await one.serve(fresh_product, postgres_copy)
        await until_ready(one, works_here=True)
        await two.serve(fresh_product, postgres_copy)
        await until_ready(two, works_here=False)
        workload = await two.submit(envVars={"SIM_SECONDS": 600})
        await one.until(workload["id"], status="RUNNING", seconds=NOTICED)
        one.kill()
        await two.exit(workload["id"], code=5)
        await until_ready(two, works_here=True)
        ended = await two.until(workload["id"], status="COMPLETED")
        assert (ended["exitCode"], len(ended["attempts"])) == (5, 1)
    finally:
        one.end()
        two.end()


async def test_a_suspended_first_and_its_return_start_nothing_twice(fresh_product: Product, tmp_path: Path):
    """SQLite's lock stays with a suspended process: nobody follows it, and it goes on where it was."""
    async with two(fresh_product, tmp_path) as second:
        assert fresh_product._process is not None
        fresh_product._process.send_signal(signal.SIGSTOP)
        try:
            workload = await second.submit(envVars={"SIM_SECONDS": 0.2})
            await asyncio.sleep(2)
            assert (await second.workload(workload["id"]))["status"] == "PENDING"
        finally:
            fresh_product._process.send_signal(signal.SIGCONT)
        assert len((await second.until(workload["id"], status="COMPLETED"))["attempts"]) == 1
