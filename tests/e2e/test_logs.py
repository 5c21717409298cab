"""Logs of real processes: kept although nobody was there at the end, followed on although the app was killed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from app.cluster.connection import ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings, open_port
from tests.e2e.product import CANCEL, Product

LOG = """
query($id: UUID!) { organization(slug: "demo") { workload(id: $id) { log { text wasCut isComplete whyNone } } } }
"""
LOGS = "subscription($id: UUID!, $after: String) { workloadLogs(id: $id, after: $after) { text cursor gap isLast } }"
LONG = {"SIM_SECONDS": 300, "SIM_LOG_LINES": 900}  # and the last thousand lines are kept
ALL_LINES = "".join(f"line {i} of 900\n" for i in range(1, 901))


async def kept_log(product: Product, workload_id: str) -> dict[str, Any]:
    """Once nothing will be added to it."""
    async with asyncio.timeout(60):
        while True:
            answer = await product.ask(LOG, {"id": workload_id})
            log: dict[str, Any] = answer["data"]["organization"]["workload"]["log"]
            if log["isComplete"]:
                return log
            await asyncio.sleep(0.1)


@asynccontextmanager
async def cluster_of(product: Product) -> AsyncIterator[KubernetesPort]:
    """As somebody with kubectl has it; it runs on when the app is killed."""
    port = open_port(ConnectionSettings(product.data / "cluster" / "kubeconfig"), PortSettings("gpuyard"))
    try:
        yield port
    finally:
        await port.close()


async def test_an_end_and_a_deletion_while_the_app_was_down_lose_neither_code_nor_log(fresh_product: Product):
    await fresh_product.start()
    workload = await fresh_product.submit(envVars=LONG)
    await fresh_product.until(workload["id"], status="RUNNING")
    fresh_product.kill()
    await fresh_product.exit(workload["id"], code=9)
    async with cluster_of(fresh_product) as port:
        await asyncio.sleep(1.5)  # stamps are whole seconds: it has ended before somebody deletes it
        job, pod = await port.find(workload["jobName"])
        assert job is not None
        assert pod is not None
        await port.delete_job(job.name, job.uid)
        await fresh_product.start()
        assert (await fresh_product.until(workload["id"], status="COMPLETED"))["exitCode"] == 9
        log = await kept_log(fresh_product, workload["id"])
        assert (log["text"], log["wasCut"], log["whyNone"]) == (ALL_LINES, False, None)
        async with asyncio.timeout(60):
            while await port.find(workload["jobName"]) != (None, None):  # noqa: ASYNC110 — nothing holds it any more
                await asyncio.sleep(0.1)


async def test_a_cancelled_run_keeps_what_it_wrote(fresh_product: Product):
    """Its pod is deleted while it runs, and the server drops the log with the container."""
    await fresh_product.start()
    workload = await fresh_product.submit(envVars={"SIM_SECONDS": 600, "SIM_LOG_LINES": 6000})
    await fresh_product.until(workload["id"], status="RUNNING")
    await asyncio.sleep(1)
    await fresh_product.ask(CANCEL % "id", {"id": workload["id"]})
    await fresh_product.until(workload["id"], status="CANCELLED")
    log = await kept_log(fresh_product, workload["id"])
    lines = log["text"].splitlines()
    assert len(lines) > 5
    assert lines == [f"line {i} of 6000" for i in range(1, len(lines) + 1)]


async def test_a_follower_goes_on_where_it_was_over_a_kill(fresh_product: Product):
    await fresh_product.start()
    workload = await fresh_product.submit(envVars=LONG)
    first = [chunk async for chunk in followed(fresh_product, workload["id"], None, until="line 4 of 900")]
    fresh_product.kill()
    await fresh_product.start()
    rest: list[dict[str, Any]] = []
    async for chunk in followed(fresh_product, workload["id"], first[-1]["cursor"]):
        if not rest:
            await fresh_product.exit(workload["id"])
        rest.append(chunk)
    assert "".join(chunk["text"] for chunk in (*first, *rest)) == ALL_LINES
    assert rest[-1]["isLast"]
    assert not any(chunk["gap"] for chunk in (*first, *rest))


async def followed(
    product: Product, workload_id: str, after: str | None, until: str = ""
) -> AsyncIterator[dict[str, Any]]:
    """The pieces of the log, up to one that has the words in it, else to the last."""
    protocol = Subprotocol("graphql-transport-ws")
    async with asyncio.timeout(120), connect(product.facts["ws"], subprotocols=[protocol], proxy=None) as socket:
        payload = {"authorization": f"Bearer {product.facts['token']}"}
        await socket.send(json.dumps({"type": "connection_init", "payload": payload}))
        assert json.loads(await socket.recv())["type"] == "connection_ack"
        variables = {"id": workload_id, "after": after}
        await socket.send(
            json.dumps({"id": "1", "type": "subscribe", "payload": {"query": LOGS, "variables": variables}})
        )
        async for text in socket:
            message = json.loads(text)
            if message["type"] == "complete":
                return
            chunk = message["payload"]["data"]["workloadLogs"]
            yield chunk
            if until and until in chunk["text"]:
                return
