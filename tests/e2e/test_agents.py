"""The demo's servers have an agent that tells of their GPUs; what a workload's GPUs do is known by their UUIDs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from app.simcluster.fleet import gpu_uuids
from tests.e2e.product import Product

GPUS = """
query($org: String!) { organization(slug: $org) { gpus {
  uuid server product health healthReason agent { freshness } holders { workload { id } }
} } }
"""
MEMORY = """
query($org: String!, $id: UUID!, $start: DateTime!, $end: DateTime!) { organization(slug: $org) { workload(id: $id) {
  metrics(types: [GPU_MEMORY_USED], start: $start, end: $end, numberOfSamples: 1) { gpu values { value } }
} } }
"""
Gpu = dict[str, Any]


async def gpus_of(product: Product) -> list[Gpu]:
    answer = await product.ask(GPUS, {"org": "demo"})
    assert "errors" not in answer, answer
    found: list[Gpu] = answer["data"]["organization"]["gpus"]
    return found


async def until(product: Product, wanted: Callable[[list[Gpu]], bool]) -> list[Gpu]:
    seen: list[Gpu] = []
    async with asyncio.timeout(60):
        while not wanted(seen := await gpus_of(product)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return seen


def are_all_fresh(gpus: list[Gpu]) -> bool:
    return len(gpus) == 30 and all(gpu["agent"]["freshness"] == "FRESH" for gpu in gpus)


async def test_a_workloads_gpus_are_seen_at_work(fresh_product: Product):
    fresh_product.environment["GPUYARD_AGENT_INTERVAL"] = "1"
    await fresh_product.start()
    told = await until(fresh_product, are_all_fresh)
    assert {gpu["uuid"] for gpu in told if gpu["server"] == "gpu-1"} == set(gpu_uuids("gpu-1", 8))
    assert [(gpu["server"], gpu["healthReason"]) for gpu in told if gpu["health"] == "FAILED"] == [("gpu-2", "LOST")]

    workload = await fresh_product.submit(gpuCount=2, envVars={"SIM_SECONDS": 600})
    uuids = set((await fresh_product.until(workload["id"], status="RUNNING"))["gpus"])
    assert len(uuids) == 2

    def are_held(gpus: list[Gpu]) -> bool:
        return {gpu["uuid"] for gpu in gpus if is_held_by(gpu, workload["id"])} == uuids

    await until(fresh_product, are_held)
    await until_at_work(fresh_product, workload["id"], uuids)


def is_held_by(gpu: Gpu, workload_id: str) -> bool:
    return [holder["workload"]["id"] for holder in gpu["holders"] if holder["workload"]] == [workload_id]


async def until_at_work(product: Product, workload_id: str, uuids: set[str]) -> None:
    """Each of its GPUs was seen with more memory in use than an idle one has."""
    start = datetime.now(UTC) - timedelta(minutes=5)
    span = {"start": start.isoformat(), "end": (start + timedelta(minutes=10)).isoformat()}
    async with asyncio.timeout(60):
        while True:
            answer = await product.ask(MEMORY, {"org": "demo", "id": workload_id, **span})
            metrics = answer["data"]["organization"]["workload"]["metrics"]
            if {metric["gpu"] for metric in metrics if is_above(metric, 1000)} >= uuids:
                return
            await asyncio.sleep(0.1)


def is_above(metric: dict[str, Any], mib: float) -> bool:
    return any((point["value"] or 0) > mib for point in metric["values"])
