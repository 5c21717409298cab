"""Speaking graphql-transport-ws, message by message."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from tests.api.world import EVENTS, secret

TRANSPORT_WS = "graphql-transport-ws"


@asynccontextmanager
async def socket(url: str, protocol: str = TRANSPORT_WS, origin: str | None = None) -> AsyncIterator[ClientConnection]:
    """Connected, and nothing said yet. The queue has no end: a client that reads no more would not see the close."""
    asked = Origin(origin) if origin else None
    async with connect(url, subprotocols=[Subprotocol(protocol)], origin=asked, proxy=None, max_queue=None) as opened:
        yield opened


async def say(to: ClientConnection, *messages: Any) -> None:
    """Text and bytes go as they are, everything else as JSON."""
    for message in messages:
        await to.send(message if isinstance(message, str | bytes) else json.dumps(message))


async def hear(from_: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(await from_.recv())
    return message


async def close_code(of: ClientConnection) -> int | None:
    """The code that the server closes with, whatever it says before."""
    try:
        while True:
            await of.recv()
    except ConnectionClosed:
        return of.close_code


def init(who: str = "admin") -> dict[str, Any]:
    return {"type": "connection_init", "payload": {"authorization": f"Bearer {secret(who)}"}}


def subscribe(query: str, operation: str = "1", **variables: Any) -> dict[str, Any]:
    return {"id": operation, "type": "subscribe", "payload": {"query": query, "variables": variables}}


@asynccontextmanager
async def acknowledged(url: str, who: str = "admin") -> AsyncIterator[ClientConnection]:
    async with socket(url) as opened:
        await say(opened, init(who))
        assert await hear(opened) == {"type": "connection_ack"}
        yield opened


@asynccontextmanager
async def following(
    url: str, after: str | None = None, *, is_abrupt: bool = False
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The events of `acme`, one after the other. An abrupt follower vanishes without a goodbye."""
    async with acknowledged(url) as opened:
        await say(opened, subscribe(EVENTS, org="acme", after=after))

        async def read() -> AsyncIterator[dict[str, Any]]:
            while True:
                message = await hear(opened)
                assert message["type"] == "next", message
                yield message["payload"]["data"]["workloadEvents"]

        yield read()
        if is_abrupt:
            opened.transport.abort()


async def answer_to(url: str, query: str, *, who: str = "admin", **variables: Any) -> tuple[str, Any]:
    """Type and payload of the first message that answers one operation."""
    async with acknowledged(url, who) as opened:
        await say(opened, subscribe(query, **variables))
        message = await hear(opened)
        return message["type"], message["payload"]
