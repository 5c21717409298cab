"""Killed at any moment and started again on the same data: nothing is lost, nothing is started twice."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import httpx2

from tests.e2e.product import CANCEL, Product

WORKLOADS = 6
KILLS = 5


async def test_kill_and_restart_loses_nothing_and_starts_nothing_twice(fresh_product: Product):
    await fresh_product.start()
    chance, submitted = random.Random(7), []  # noqa: S311 — the same moments at every run
    for round_ in range(KILLS):
        submitted += [await submit_or_be_killed(fresh_product, f"key-{round_}-{i}") for i in range(WORKLOADS)]
        await asyncio.sleep(chance.uniform(0.0, 0.8))
        fresh_product.kill()
        await fresh_product.start()
    ended = [await fresh_product.until(w["id"], status="COMPLETED") for w in submitted]
    for workload in ended:
        assert (workload["exitCode"], len(workload["attempts"])) == (4, 1), workload
        assert [e["type"] for e in workload["events"]].count("ENDED") == 1
    assert len({workload["id"] for workload in ended}) == KILLS * WORKLOADS


async def submit_or_be_killed(product: Product, key: str) -> dict[str, Any]:
    """With an idempotency key a submission may be repeated without fear."""
    wanted: dict[str, Any] = {"envVars": {"SIM_SECONDS": 0.7, "SIM_EXIT_CODE": 4}, "idempotencyKey": key}
    try:
        return await product.submit(**wanted)
    except httpx2.TransportError:
        await asyncio.sleep(0.2)
        return await product.submit(**wanted)


async def test_an_end_that_came_while_the_app_was_down_is_recorded(fresh_product: Product):
    await fresh_product.start()
    short = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
    await fresh_product.until(short["id"], status="RUNNING")
    doomed = await fresh_product.submit(envVars={"SIM_SECONDS": 600}, timeoutSeconds=3)
    await fresh_product.until_started(doomed["id"])
    fresh_product.kill()
    await fresh_product.exit(short["id"], code=9)
    await asyncio.sleep(3.5)
    await fresh_product.start()
    assert (await fresh_product.until(short["id"], status="COMPLETED"))["exitCode"] == 9
    assert (await fresh_product.until(doomed["id"], status="TIMEOUT"))["reason"] == "RUN_TIMEOUT"


async def test_a_cancel_survives_a_kill(fresh_product: Product):
    await fresh_product.start()
    workload = await fresh_product.submit(envVars={"SIM_SECONDS": 600})
    await fresh_product.until(workload["id"], status="RUNNING")
    await fresh_product.ask(CANCEL % "id", {"id": workload["id"]})
    fresh_product.kill()
    await fresh_product.start()
    await fresh_product.until(workload["id"], status="CANCELLED")


async def test_a_polite_stop_is_quick_and_clean(fresh_product: Product):
    await fresh_product.start()
    async with fresh_product.events():
        assert await asyncio.to_thread(fresh_product.stop) == 0
    assert "Traceback" not in fresh_product.log()
