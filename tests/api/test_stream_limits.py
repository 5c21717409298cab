"""How many subscriptions one caller may have open, and how long a socket may wait before it says whose it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, cast

import httpx2
import pytest
from starlette.types import Message
from strawberry.types import ExecutionResult

from app.graphql.context import RequestContext
from app.graphql.cursors import event_cursor
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.schema import schema
from app.graphql.streams import OpenStreams
from tests.api.conftest import served
from tests.api.talk import TRANSPORT_WS, acknowledged, hear, say, subscribe
from tests.api.world import EVENTS, Api, build_api, secret
from tests.clock import ManualClock

WORDS = "2 subscriptions are open already, which is as many as one caller may have; end some of them first"


@pytest.fixture
async def tight(api: Api) -> Api:
    """Of whom nobody may have more than two subscriptions, and with an event to tell."""
    await api.submit()
    return replace(api, services=replace(api.services, streams=OpenStreams(2)))


def variables(api: Api) -> dict[str, Any]:
    return {"org": "acme", "after": event_cursor(api.organizations["acme"].id, 0)}


@asynccontextmanager
async def streaming(api: Api, who: str, query: str = EVENTS) -> AsyncIterator[ExecutionResult]:
    """The first thing that a subscription tells, while it is open. However it is sent, it is carried out like this."""
    context = RequestContext(api.services, f"Bearer {secret(who)}")
    results = await schema.stream(query, variable_values=variables(api), context_value=context)
    try:
        yield cast("ExecutionResult", await anext(results))
    finally:
        await cast("AsyncGenerator[Any, None]", results).aclose()


def code_of(result: ExecutionResult) -> str | None:
    return str((result.errors[0].extensions or {})["code"]) if result.errors else None


async def test_a_person_has_so_many_streams_with_all_tokens(tight: Api):
    async with streaming(tight, "admin") as first, streaming(tight, "reader") as second:
        assert (code_of(first), code_of(second)) == (None, None)
        async with streaming(tight, "admin") as third, streaming(tight, "owner") as other:
            assert third.errors
            assert (third.errors[0].message, code_of(third), code_of(other)) == (WORDS, "RATE_LIMITED", None)


async def test_every_end_makes_room(tight: Api):
    for query in (EVENTS, "subscription { nothing }", EVENTS.replace("$org,", '"nowhere",'), EVENTS):
        async with streaming(tight, "admin", query):
            pass
    async with streaming(tight, "admin") as first, streaming(tight, "admin") as second:
        assert (code_of(first), code_of(second)) == (None, None)


async def test_a_stream_whose_reader_is_cancelled_makes_room(tight: Api):
    entered = asyncio.Event()

    async def follow() -> None:
        async with streaming(tight, "admin"):
            entered.set()
            await asyncio.Event().wait()

    for _ in range(3):
        task = asyncio.create_task(follow())
        await entered.wait()
        entered.clear()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    async with streaming(tight, "admin") as result:
        assert code_of(result) is None


async def test_queries_are_not_counted(tight: Api):
    async with streaming(tight, "admin"), streaming(tight, "admin"):
        assert await tight.data("{ viewer { name } }")


async def test_a_refused_stream_is_told_over_a_socket(tight: Api):
    async with served(GraphQLEndpoint(schema, tight.services)) as url, acknowledged(url) as opened:
        for number in range(2):
            await say(opened, subscribe(EVENTS, str(number), **variables(tight)))
            assert (await hear(opened))["id"] == str(number)
        await say(opened, subscribe(EVENTS, "one too many", **variables(tight)))
        told = await hear(opened)
        assert (told["id"], told["payload"]["errors"][0]["extensions"]) == ("one too many", {"code": "RATE_LIMITED"})


@asynccontextmanager
async def event_stream(client: httpx2.AsyncClient, api: Api, url: str) -> AsyncIterator[dict[str, Any]]:
    """The first answer of a stream of server-sent events, while it is open."""
    headers = {"authorization": f"Bearer {secret('admin')}", "accept": "text/event-stream"}
    body = {"query": EVENTS, "variables": variables(api)}
    async with client.stream("POST", url.replace("ws://", "http://"), json=body, headers=headers) as answer:
        lines = answer.aiter_lines()
        data = (line.removeprefix("data: ") async for line in lines if line.startswith("data: {"))
        yield json.loads(await anext(data))


async def test_streams_of_server_sent_events_are_counted_until_they_are_left(tight: Api):
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(GraphQLEndpoint(schema, tight.services)))
        client = await stack.enter_async_context(httpx2.AsyncClient(trust_env=False, timeout=60))
        async with event_stream(client, tight, url) as first, event_stream(client, tight, url) as second:
            told = await stack.enter_async_context(event_stream(client, tight, url))
            assert ("errors" in first, "errors" in second) == (False, False)
            assert told["errors"][0]["extensions"] == {"code": "RATE_LIMITED"}
        while "errors" in told:  # the server learns of an end a moment later
            told = await stack.enter_async_context(event_stream(client, tight, url))


@pytest.mark.looptime
async def test_a_socket_that_says_nothing_is_closed_after_ten_seconds():
    endpoint, loop = GraphQLEndpoint(schema, build_api(ManualClock()).services), asyncio.get_running_loop()
    sent: list[tuple[float, Message]] = []
    coming: asyncio.Queue[Message] = asyncio.Queue()
    began = loop.time()

    async def send(message: Message) -> None:
        sent.append((loop.time() - began, message))
        if message["type"] == "websocket.close":
            await coming.put({"type": "websocket.disconnect", "code": message["code"]})

    await coming.put({"type": "websocket.connect"})
    scope = {"type": "websocket", "path": "/graphql", "headers": [], "subprotocols": [TRANSPORT_WS]}
    await endpoint(scope, coming.get, send)
    at, message = sent[-1]
    assert (round(at), message["type"], message["code"]) == (10, "websocket.close", 4408)
