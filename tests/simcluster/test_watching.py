"""Watches over HTTP: order, selectors, bookmarks, tables, and the ways they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from app.simcluster.meta import Json, with_meta
from app.simcluster.resources import EVENTS, NODES
from tests.simcluster.conftest import Served
from tests.simcluster.world import job_document

EVENTS_PATH = "/api/v1/namespaces/default/events"


class Lines:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> Json | None:
        """The next event; None at the end of the stream."""
        line = await asyncio.wait_for(self._response.content.readline(), 60)
        found: Json | None = orjson.loads(line) if line else None
        return found

    async def types(self, count: int) -> list[str]:
        events = [await self.next() for _ in range(count)]
        return [event["type"] for event in events if event]


@asynccontextmanager
async def watching(served: Served, path: str, accept: str = "*/*", **query: Any) -> AsyncIterator[Lines]:
    parameters = {"watch": "1", **{name: str(value) for name, value in query.items()}}
    async with served.http.get(path, params=parameters, headers={"Accept": accept}) as response:
        assert response.status == 200
        yield Lines(response)


def make_event(served: Served, name: str, **labels: str) -> Json:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return served.context.store.create(EVENTS, {"metadata": metadata, "involvedObject": {}})


async def test_from_now_on(served: Served):
    store = served.context.store
    async with watching(served, EVENTS_PATH, resourceVersion=store.revision) as lines:
        made = make_event(served, "a")
        store.update(EVENTS, {**made, "count": 2})
        store.remove(EVENTS, "default/a")
        assert await lines.types(3) == ["ADDED", "MODIFIED", "DELETED"]


async def test_from_an_earlier_version(served: Served):
    before = served.context.store.revision
    make_event(served, "a")
    make_event(served, "b")
    async with watching(served, EVENTS_PATH, resourceVersion=before) as lines:
        names = [(await lines.next() or {})["object"]["metadata"]["name"] for _ in range(2)]
    assert names == ["a", "b"]


async def test_what_begins_and_stops_to_match(served: Served):
    store = served.context.store
    query: dict[str, Any] = {"labelSelector": "on=yes", "resourceVersion": store.revision}
    async with watching(served, EVENTS_PATH, **query) as lines:
        made = make_event(served, "a")
        made = store.update(EVENTS, with_meta(made, labels={"on": "yes"}))
        made = store.update(EVENTS, {**made, "count": 2})
        store.update(EVENTS, with_meta(made, labels={}))
        assert await lines.types(3) == ["ADDED", "MODIFIED", "DELETED"]


async def test_one_object_by_its_name(served: Served):
    async with watching(served, "/api/v1/nodes", fieldSelector="metadata.name=gpu-3", resourceVersion=0) as lines:
        first = await lines.next() or {}
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "gpu-3")


async def test_the_initial_events_end_with_a_bookmark(served: Served):
    query: dict[str, Any] = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with watching(served, "/api/v1/nodes", **query) as lines:
        assert await lines.types(6) == ["ADDED"] * 6
        mark = await lines.next() or {}
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_bookmarks_come_while_nothing_happens(served: Served):
    version = served.context.store.revision
    query: dict[str, Any] = {"resourceVersion": version, "allowWatchBookmarks": "true"}
    async with watching(served, "/api/v1/namespaces", **query) as lines:
        mark = await lines.next() or {}
    assert (mark["type"], mark["object"]["kind"]) == ("BOOKMARK", "Namespace")
    assert int(mark["object"]["metadata"]["resourceVersion"]) >= version


async def test_an_unknown_past_is_one_error_event(served: Served):
    served.context.store.expire_histories()
    async with watching(served, EVENTS_PATH, resourceVersion=1) as lines:
        error = await lines.next() or {}
        assert await lines.next() is None
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert error["object"]["message"].startswith("too old resource version: 1 (")


async def test_an_unknown_future_is_504(served: Served):
    async with served.http.get("/api/v1/pods?watch=1&resourceVersion=99999999") as response:
        assert response.status == 504


async def test_watches_can_be_dropped(served: Served):
    async with watching(served, "/api/v1/namespaces", resourceVersion=served.context.store.revision) as lines:
        served.context.streams.drop()
        assert await lines.next() is None


async def test_a_table_names_its_columns_once(served: Served):
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    async with watching(served, "/api/v1/nodes", accept, resourceVersion=0) as lines:
        first, second = await lines.next() or {}, await lines.next() or {}
    names = [column["name"] for column in first["object"]["columnDefinitions"]]
    assert names[:5] == ["Name", "Status", "Roles", "Age", "Version"]
    assert second["object"]["columnDefinitions"] is None
    assert first["object"]["rows"][0]["cells"][:3] == ["cpu-1", "Ready", "<none>"]


async def test_a_log_is_followed_to_its_end(served: Served):
    store = served.context.store
    async with watching(served, "/api/v1/pods", resourceVersion=store.revision) as lines:
        await served.batch.create_namespaced_job("default", job_document("a", seconds=0.4, log_lines=4))
        seen: Json = {"object": {"status": {}}}
        while seen["object"]["status"].get("phase") != "Running":
            seen = await lines.next() or {}
    path = f"/api/v1/namespaces/default/pods/{seen['object']['metadata']['name']}/log"
    async with served.http.get(path, params={"follow": "true"}) as response:
        assert (await response.text()).splitlines() == [f"line {number} of 4" for number in (1, 2, 3, 4)]
    async with served.http.get(path, params={"tailLines": "2", "limitBytes": "12"}) as response:
        assert await response.text() == "line 3 of 4\n"


async def test_watchers_leave_no_trace(served: Served):
    async with watching(served, "/api/v1/nodes", resourceVersion=0) as lines:
        await lines.types(6)
    async with asyncio.timeout(60):
        while served.context.store.history(NODES)._waiting:  # noqa: ASYNC110 — nothing tells of it
            await asyncio.sleep(0.01)
