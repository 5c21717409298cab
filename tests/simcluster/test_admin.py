"""The simulation's own endpoints: faults that strike, and what may happen to nodes."""

from __future__ import annotations

import time

import pytest

from app.simcluster.faults import Faults
from app.simcluster.fleet import gpu_uuids
from app.simcluster.meta import Json
from tests.simcluster.conftest import Served
from tests.simcluster.test_http import until
from tests.simcluster.world import job_document

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


async def test_a_pod_that_runs_is_told_to_exit(served: Served):
    await served.batch.create_namespaced_job("default", job_document("a", seconds=600, log_lines=600))

    async def phase(wanted: str) -> Json | None:
        async with served.http.get("/api/v1/namespaces/default/pods") as response:
            pods = (await response.json())["items"]
        return pods[0] if pods and pods[0]["status"]["phase"] == wanted else None

    name = (await until(lambda: phase("Running")))["metadata"]["name"]
    path = f"/simcluster/pods/default/{name}/exit"
    async with served.http.get(f"/api/v1/namespaces/default/pods/{name}/log?follow=true") as log:
        assert await log.content.readline() == b"line 1 of 600\n"
        async with served.http.post(path, params={"code": "3"}) as response:
            assert (response.status, await response.json()) == (
                200,
                {"namespace": "default", "name": name, "code": 3},
            )
        assert (await log.content.read()).endswith(b"\nline 600 of 600\n")
    failed = await until(lambda: phase("Failed"))
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    async with served.http.post(path) as response:
        assert response.status == 409
        assert "only a pod that is Running can be told to exit, this one is Failed" in await response.text()


@pytest.mark.parametrize(
    ("path", "status"),
    [("nope/exit", 404), ("nope/leave", 404), ("nope/exit?code=256", 400), ("nope/exit?code=-1", 400)],
)
async def test_exits_that_are_refused(served: Served, path: str, status: int):
    async with served.http.post(f"/simcluster/pods/default/{path}") as response:
        assert response.status == status


async def test_status_counts(served: Served):
    async with served.http.get("/simcluster/status") as response:
        assert (await response.json())["objects"]["nodes"] == 6


def test_shares_of_faults_are_independent_of_each_other():
    faults = Faults(rate_429=0.5, rate_500=0.5)
    assert {faults.strike() for _ in range(200)} == {429, 500}
