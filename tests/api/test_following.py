"""workloadStatus, servers and filtered workloadEvents; cursors that lead nowhere; readers that are many or slow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from app.graphql.cursors import event_cursor
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.schema import schema
from app.store import servers
from tests.api.conftest import served
from tests.api.talk import TRANSPORT_WS, acknowledged, answer_to, following, hear, init, say, subscribe
from tests.api.world import CANCEL, EVENTS, Api
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import a_stored_workload

STATUS = "subscription($id: UUID!) { workloadStatus(id: $id) { id status phase message } }"
SERVERS = "subscription($org: String!) { servers(organization: $org) { name gpuCount } }"
FILTERED = """
subscription($org: String!, $after: String, $filterBy: [String!]) {
  workloadEvents(organization: $org, after: $after, filterBy: $filterBy) { workloadId type }
}
"""


async def write(api: Api, count: int = 1) -> None:
    acme = api.organizations["acme"]
    for _ in range(count):
        await a_stored_workload(acme)
    api.services.commands.bus.wake_events(acme.id)


def beginning(api: Api) -> str:
    return event_cursor(api.organizations["acme"].id, 0)


async def test_a_workloads_status_is_told_now_and_at_each_change_until_it_has_ended(api: Api, ws_url: str):
    workload = await api.submit()
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(STATUS, id=workload["id"]))
        first = (await hear(opened))["payload"]["data"]["workloadStatus"]
        await write(api, 3)  # others' events are none of its
        await api.data(CANCEL, {"id": workload["id"]})
        second = (await hear(opened))["payload"]["data"]["workloadStatus"]
        assert (await hear(opened))["type"] == "complete"
    assert [first["status"], second["status"]] == ["PENDING", "CANCELLED"]


async def test_a_strangers_workload_is_not_followed(api: Api, ws_url: str):
    workload = await a_stored_workload(api.organizations["other"])
    _, payload = await answer_to(ws_url, STATUS, id=str(workload.id))
    assert payload["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    _, payload = await answer_to(ws_url, STATUS, who="member", id=(await api.submit())["id"])
    assert payload["errors"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_servers_are_told_now_and_when_they_changed(api: Api, ws_url: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(SERVERS, org="acme"))
        first = (await hear(opened))["payload"]["data"]["servers"]
        known = [(node("gpu-1", 8), "acme"), (node("gpu-2", 2), "acme"), (node("gpu-3", 4), "acme")]
        await servers.record_nodes("default", known, START)
        second = (await hear(opened))["payload"]["data"]["servers"]
    assert [server["name"] for server in first] == ["gpu-1", "gpu-2"]
    assert [server["name"] for server in second] == ["gpu-1", "gpu-2", "gpu-3"]


async def test_only_events_for_which_all_conditions_hold(api: Api, ws_url: str):
    await write(api, 3)
    workload = await api.submit()
    await api.data(CANCEL, {"id": workload["id"]})
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(FILTERED, org="acme", after=beginning(api), filterBy=["type==ENDED"]))
        event = (await hear(opened))["payload"]["data"]["workloadEvents"]
    assert event == {"workloadId": workload["id"], "type": "ENDED"}
    _, payload = await answer_to(ws_url, FILTERED, org="acme", filterBy=["type=ENDED"])
    assert payload["errors"][0]["extensions"]["fields"][0]["field"] == "filterBy[0]"


async def test_a_cursor_from_the_future_asks_for_a_new_beginning(api: Api, ws_url: str):
    await write(api, 2)
    acme = api.organizations["acme"].id
    _, payload = await answer_to(ws_url, EVENTS, org="acme", after=event_cursor(acme, 999))
    extensions = payload["errors"][0]["extensions"]
    assert extensions["code"] == "RESYNC_REQUIRED"
    async with following(ws_url, extensions["cursor"]) as events:
        workload = await api.submit()
        assert (await anext(events))["workloadId"] == workload["id"]


async def test_a_cursor_of_another_organization_is_refused(api: Api, ws_url: str):
    other = event_cursor(api.organizations["other"].id, 0)
    _, payload = await answer_to(ws_url, EVENTS, org="acme", after=other)
    assert "from another organization's events" in payload["errors"][0]["message"]


async def test_many_followers_at_one_place_cost_few_reads(api: Api, ws_url: str):
    statements: list[str] = []

    class Counter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            statements.append(record.getMessage())

    handler, logger = Counter(), logging.getLogger("tortoise.db_client")
    ready = asyncio.Semaphore(0)

    async def follow() -> dict[str, Any]:
        async with following(ws_url, beginning(api)) as events:
            await anext(events)
            ready.release()
            return await anext(events)

    await write(api)
    followers = [asyncio.create_task(follow()) for _ in range(60)]
    for _ in followers:
        await ready.acquire()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        await write(api)
        told = await asyncio.gather(*followers)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert len({event["cursor"] for event in told}) == 1
    assert len([words for words in statements if 'FROM "events"' in words and "sequence" in words]) < 15


async def test_a_reader_that_takes_nothing_is_dropped_and_can_go_on(api: Api):
    with capture_logs() as logged:
        await _dropped(api, logged)


async def _dropped(api: Api, logged: Sequence[Mapping[str, Any]]) -> None:
    web = GraphQLEndpoint(schema, api.services, slow_seconds=0.3)
    await write(api, 400)
    many_words = " ".join(f"m{number}: message" for number in range(100))
    query = EVENTS.replace("workloadId", f"workloadId {many_words}")
    async with served(web) as url:
        opened = await connect(url, subprotocols=[Subprotocol(TRANSPORT_WS)], proxy=None, max_queue=1, compression=None)
        await say(opened, init())
        assert await hear(opened) == {"type": "connection_ack"}
        await say(opened, subscribe(query, org="acme", after=beginning(api)))
        last = (await hear(opened))["payload"]["data"]["workloadEvents"]["cursor"]
        with suppress(ConnectionClosed):  # dropped already
            for number in range(15):
                await say(opened, subscribe(query, f"also {number}", org="acme", after=beginning(api)))
        opened.transport.pause_reading()
        async with asyncio.timeout(60):
            while not any(entry["event"] == "a slow reader is dropped" for entry in logged):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        opened.transport.abort()
        async with following(url, last) as events:
            assert await anext(events)
