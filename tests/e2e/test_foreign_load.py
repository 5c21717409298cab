"""Servers and strangers that change while workloads wait: nothing is placed where there is no room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.site import MERGE, Json, Site, opened_site

pytestmark = pytest.mark.asyncio(loop_scope="session")

FLEET = [
    {"name": "busy", "gpus": 4},
    {"name": "sick", "gpus": 2},
    {"name": "shut", "gpus": 1, "cordoned": True},
    {"name": "kept", "gpus": 1, "taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]},
    {"name": "lost", "gpus": 1},
]
SETTINGS = {"node_grace_seconds": 0.5, "toleration_seconds": 60, "vanished_node_seconds": 0.5}
ENDLESS = {"SIM_SECONDS": 600}


def stranger(name: str, on: str, gpus: int, init_gpus: int = 0) -> Json:
    """Put on its node by its owner, past every scheduler."""
    main = {"name": "main", "image": "notebook:1", "env": [{"name": "SIM_SECONDS", "value": "600"}], **limits(gpus)}
    spec: Json = {"nodeName": on, "containers": [main]}
    if init_gpus:
        warm_up = {"name": "warm-up", "image": "notebook:1", "env": [{"name": "SIM_SECONDS", "value": "0"}]}
        spec["initContainers"] = [{**warm_up, **limits(init_gpus)}]
    return {"metadata": {"name": name}, "spec": spec}


def limits(gpus: int) -> Json:
    return {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with opened_site(tmp_path_factory.mktemp("foreign"), FLEET, SETTINGS) as site:
        for pod in (stranger("trainer", "busy", 1, init_gpus=3), stranger("pair", "sick", 2)):
            await site.call("POST", "/api/v1/namespaces/default/pods", pod)
        sick = await site.call("GET", "/simcluster/nodes/sick")
        await site.call("POST", f"/simcluster/nodes/sick/gpu-unhealthy/{sick['gpus'][0]['uuid']}")
        await site.call("POST", "/simcluster/nodes/lost/lost")
        await shown(site, "sick", gpusFree=0, gpusHealthy=1)
        await shown(site, "lost", usable=False)
        yield site


SERVERS = '{ organization(slug: "demo") { servers { name usable gpuCount gpusHealthy gpusFree } } }'


async def shown(site: Site, name: str, **facts: Any) -> None:
    """The product says so of the server."""
    found: Json = {}
    async with asyncio.timeout(60):
        while not found or any(found[key] != value for key, value in facts.items()):
            await asyncio.sleep(0.1)
            servers = (await site.product.ask(SERVERS))["data"]["organization"]["servers"]
            found = next((server for server in servers if server["name"] == name), {})


async def placed(site: Site, workload: Json) -> str:
    running = await site.product.until(workload["id"], status="RUNNING")
    server: str = running["server"]
    return server


async def still_waits(site: Site, workload: Json) -> str:
    """A second after it was planned, and everything again; why, in its own words."""
    await site.product.until(workload["id"], reason="WAITING_FOR_GPUS")
    await asyncio.sleep(1)
    seen = await site.product.workload(workload["id"])
    assert (seen["status"], seen["phase"], seen["attempts"]) == ("PENDING", "QUEUED", [])
    message: str = seen["message"]
    return message


async def test_only_what_is_free_is_given_and_what_comes_free_is_taken(site: Site):
    """The init container that once wanted three GPUs keeps three of the four until its pod ends."""
    first, second, third, fourth = [
        await site.product.submit(envVars=ENDLESS, gpuCount=count) for count in (1, 1, 1, 3)
    ]
    assert await placed(site, first) == "busy"
    assert (await still_waits(site, second)).startswith("needs 1 GPU; none is free on a server that qualifies")
    await site.call("PATCH", "/api/v1/nodes/shut", {"spec": {"unschedulable": False}}, MERGE)
    assert await placed(site, second) == "shut"
    await still_waits(site, third)
    await site.call("PATCH", "/api/v1/nodes/kept", {"spec": {"taints": None}}, MERGE)
    assert await placed(site, third) == "kept"
    await still_waits(site, fourth)
    await site.call("DELETE", "/api/v1/namespaces/default/pods/trainer")
    assert await placed(site, fourth) == "busy"


async def test_a_server_comes_goes_and_comes_again_smaller(site: Site):
    waiting = [await site.product.submit(envVars=ENDLESS, gpuCount=2) for _ in range(2)]
    await still_waits(site, waiting[0])
    await site.call("POST", "/api/v1/nodes", new_node("fresh", 2))
    assert await placed(site, waiting[0]) == "fresh"
    await still_waits(site, waiting[1])
    await site.call("DELETE", "/api/v1/nodes/fresh")
    ended = await site.product.until(waiting[0]["id"], status="FAILED")
    assert ended["reason"] == "NODE_LOST"
    await site.call("POST", "/api/v1/nodes", new_node("fresh", 1))
    await shown(site, "fresh", gpuCount=1, gpusFree=1)
    await still_waits(site, waiting[1])
    single = await site.product.submit(envVars=ENDLESS)
    assert await placed(site, single) == "fresh"


async def test_an_over_committed_server_breaks_nothing(site: Site):
    """Two GPUs are held on it, and one is well: the stranger's pod goes on, and nobody is sent there."""
    pod = await site.call("GET", "/api/v1/namespaces/default/pods/pair")
    assert pod["status"]["phase"] == "Running"
    await shown(site, "sick", gpuCount=2, gpusHealthy=1, gpusFree=0)
    pods = await site.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=sick")
    assert [item["metadata"]["name"] for item in pods["items"]] == ["pair"]


def new_node(name: str, gpus: int) -> Json:
    return {"metadata": {"name": name}, "status": {"capacity": {"nvidia.com/gpu": str(gpus)}}}
