"""The simulation's own endpoints: faults that strike, and what may happen to nodes."""

from __future__ import annotations

import time

import pytest

from app.simcluster.faults import Faults
from app.simcluster.fleet import gpu_uuids
from app.simcluster.meta import Json
from tests.simcluster.conftest import Served

FAULTS = "/simcluster/faults"


async def put(served: Served, **faults: object) -> None:
    async with served.http.put(FAULTS, json=faults) as response:
        assert response.status == 200


async def post(served: Served, path: str) -> tuple[int, Json]:
    async with served.http.post(f"/simcluster/nodes/{path}") as response:
        return response.status, await response.json() if response.content_type == "application/json" else {}


@pytest.mark.parametrize(
    ("fault", "code", "content"),
    [("rate_429", 429, "application/json"), ("rate_500", 500, "application/json"), ("non_json", 502, "text/html")],
)
async def test_requests_fail(served: Served, fault: str, code: int, content: str):
    await put(served, **{fault: 1})
    async with served.http.get("/api/v1/nodes") as response:
        assert (response.status, response.content_type) == (code, content)
        assert ("Retry-After" in response.headers) is (code == 429)
    await put(served, **{fault: 0})
    async with served.http.get("/api/v1/nodes") as response:
        assert response.status == 200


async def test_latency(served: Served):
    await put(served, latency_ms=50)
    began = time.monotonic()
    async with served.http.get("/api/v1/nodes"):
        assert time.monotonic() - began >= 0.05


async def test_unknown_faults_are_named(served: Served):
    async with served.http.put(FAULTS, json={"rate_418": 1}) as response:
        assert response.status == 400
        assert "unknown faults rate_418" in (await response.json())["message"]


async def test_open_watches_are_dropped_or_expired(served: Served):
    async with served.http.get("/api/v1/namespaces?watch=1&resourceVersion=0") as response:
        for _ in range(4):
            await response.content.readline()
        await put(served, expire_watches=True)
        assert b'"code":410' in await response.content.readline()
    async with served.http.get("/api/v1/namespaces?watch=1&resourceVersion=0") as response:
        for _ in range(4):
            await response.content.readline()
        await put(served, drop_watches=True)
        assert await response.content.readline() == b""


async def test_old_pages_expire_with_the_history(served: Served):
    async with served.http.get("/api/v1/nodes?limit=2") as response:
        token = (await response.json())["metadata"]["continue"]
    await put(served, expire_watches=True)
    async with served.http.get(f"/api/v1/nodes?limit=2&continue={token}") as response:
        assert (response.status, (await response.json())["reason"]) == (410, "Expired")


async def test_a_node_is_lost_and_back(served: Served):
    assert (await post(served, "gpu-1/lost"))[1]["lost"] is True
    assert (await post(served, "gpu-1/back"))[1]["lost"] is False
    assert (await post(served, "nope/lost"))[0] == 404
    assert (await post(served, "gpu-1/explode"))[0] == 404


async def test_a_device_turns_bad(served: Served):
    device = gpu_uuids("gpu-1", 8)[3]
    _, facts = await post(served, f"gpu-1/gpu-unhealthy/{device}")
    assert [item["uuid"] for item in facts["gpus"] if not item["healthy"]] == [device]
    _, facts = await post(served, f"gpu-1/gpu-healthy/{device}")
    assert all(item["healthy"] for item in facts["gpus"])


async def test_a_drained_node_is_cordoned(served: Served):
    await post(served, "gpu-1/drain")
    node = await served.core.read_node("gpu-1")
    assert node.spec.unschedulable


async def test_status_counts(served: Served):
    async with served.http.get("/simcluster/status") as response:
        assert (await response.json())["objects"]["nodes"] == 6


def test_shares_of_faults_are_independent_of_each_other():
    faults = Faults(rate_429=0.5, rate_500=0.5)
    assert {faults.strike() for _ in range(200)} == {429, 500}
