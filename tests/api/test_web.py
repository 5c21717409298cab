"""Health, and the methods of the endpoint. The panel has tests of its own."""

from __future__ import annotations

from typing import Any

import pytest

from app.cluster.port import Kind
from tests.api.world import Api


async def get(api: Api, path: str) -> tuple[int, dict[str, Any]]:
    async with api.client(None) as client:
        answer = await client.get(path)
    return answer.status_code, answer.json()


async def test_the_process_is_live_although_nothing_is_known_of_the_cluster(api: Api):
    assert await get(api, "/healthz") == (200, {"status": "ok"})
    status, body = await get(api, "/readyz")
    assert (status, body["status"]) == (503, "not ready")
    assert set(body["loops"]) == {"schedule", "resync", "wishes", "purge", "samples"}
    assert set(body["clusters"]["default"]["watches"]) == {"nodes", "pods", "jobs"}
    assert set(body["clusters"]["default"]["loops"]) == {"contact", "check", "jobs", "logs", "nodes", "orphans"}


async def test_it_is_ready_once_every_kind_is_listed(api: Api):
    for kind in Kind:
        api.projection.health[kind].synced = True
    api.background.schedule.health.last_pass = api.clock.monotonic()
    api.clock.advance(2.5)
    status, body = await get(api, "/readyz")
    assert (status, body["status"]) == (200, "ok")
    assert body["loops"]["schedule"] == {"age": 2.5, "error": None}
    assert body["clusters"]["default"]["loops"]["jobs"] == {"age": None, "error": None}


async def test_a_watch_that_fails_is_told(api: Api):
    for kind in Kind:
        api.projection.health[kind].synced = True
    pods = api.projection.health[Kind.PODS]
    pods.failures, pods.last_error = 2, "connection refused"
    status, body = await get(api, "/readyz")
    assert status == 503
    assert body["clusters"]["default"]["watches"]["pods"] == {
        "synced": True,
        "age": None,
        "failures": 2,
        "error": "connection refused",
    }
    assert body["problems"] == ["cluster default: the watch of pods fails: connection refused"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_other_methods_are_refused(api: Api, method: str):
    async with api.client() as client:
        answer = await client.request(method, "/graphql")
    assert answer.status_code == 405
    assert {name.strip() for name in answer.headers["allow"].split(",")} >= {"GET", "POST"}
