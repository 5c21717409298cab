"""MIG slices and shared GPUs, as two kinds of nodes offer them: workloads that ask for them run to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.site import Json, Site, opened_site

pytestmark = pytest.mark.asyncio(loop_scope="session")

A100 = "NVIDIA-A100-SXM4-80GB"
FLEET = [
    {"name": "mixed", "gpus": 1, "product": A100, "memory_mib": 81_920, "mig": {"1g.10gb": 2, "3g.40gb": 1}},
    {"name": "single", "product": A100, "memory_mib": 9728, "mig": {"2g.20gb": 3}, "mig_single": True},
    {"name": "shares", "gpus": 1, "product": "Tesla-T4", "memory_mib": 15_360, "replicas": 4},
    {"name": "plain", "gpus": 1, "product": "Tesla-T4", "memory_mib": 15_360, "replicas": 2, "rename_shared": False},
]
SHORT = {"SIM_SECONDS": 0.1}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with opened_site(tmp_path_factory.mktemp("slices"), FLEET, {}) as site:
        yield site


async def ended(site: Site, **wanted: Any) -> Json:
    """As it is once it has ended."""
    submitted = await site.product.submit("id", envVars=SHORT, **wanted)
    return await site.product.until(submitted["id"], status="COMPLETED")


RUNS = [
    ({"migProfile": "1g.10gb"}, 2, {"mixed"}, "MIG-"),
    ({"migProfile": "2g.20gb"}, 3, {"single"}, "MIG-"),
    ({"migProfile": "3g.40gb", "products": ["a100 80gb"], "memory": "40G"}, 1, {"mixed"}, "MIG-"),
    ({"shared": True}, 1, {"shares", "plain"}, "GPU-"),
    ({"products": ["A100"], "computeCapability": "8.0"}, 1, {"mixed"}, "GPU-"),
]


@pytest.mark.parametrize(("wanted", "count", "servers", "prefix"), RUNS, ids=[str(run[0]) for run in RUNS])
async def test_it_runs_on_what_it_asked_for(site: Site, wanted: Json, count: int, servers: set[str], prefix: str):
    workload = await ended(site, gpuCount=count, gpuRequirements=wanted)
    assert (workload["exitCode"], workload["server"] in servers) == (0, True)
    assert len(workload["gpus"]) == count
    assert all(gpu.startswith(prefix) and "::" not in gpu for gpu in workload["gpus"])


async def test_who_asks_for_what_nobody_has_waits_and_is_told_what_there_is(site: Site):
    submitted = await site.product.submit("id", gpuRequirements={"products": ["H100"]})
    shown = await site.product.until(submitted["id"], reason="NO_MATCHING_GPU")
    assert shown["message"] == f"needs 1 GPU of product H100; the only server with GPUs, mixed, has {A100}"
    await site.product.cancel(submitted["id"])


async def test_servers_show_what_they_offer_by_name(site: Site):
    query = '{ organization(slug: "demo") { servers { name gpuCount gpuResources { name total migProfile shared } } } }'
    found = (await site.product.ask(query))["data"]["organization"]["servers"]
    shown = {it["name"]: (it["gpuCount"], {r["name"]: r["total"] for r in it["gpuResources"]}) for it in found}
    assert shown == {
        "mixed": (1, {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-3g.40gb": 1}),
        "single": (0, {"nvidia.com/gpu": 3}),
        "shares": (0, {"nvidia.com/gpu.shared": 4}),
        "plain": (0, {"nvidia.com/gpu": 2}),
    }
