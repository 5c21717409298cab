"""A browser's end of a stream: messages as hx-sse reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from tests.panel.world import Panel

_PATIENCE = 60.0  # only a machine that is very busy needs it


@dataclass(frozen=True)
class Message:
    data: str
    event: str = ""
    id: str = ""
    retry: str = ""


@dataclass
class Stream:
    response: httpx2.Response
    _messages: AsyncIterator[Message]

    async def next(self) -> Message:
        async with asyncio.timeout(_PATIENCE):
            return await anext(self._messages)

    async def swapped(self) -> Message:
        """The next message that changes the page."""
        while (message := await self.next()).event:
            pass
        return message

    async def rest(self) -> list[Message]:
        """Everything until the server ends the stream."""
        async with asyncio.timeout(_PATIENCE):
            return [message async for message in self._messages]


@asynccontextmanager
async def reading(panel: Panel, served: str, path: str, who: str = "admin", **headers: str) -> AsyncIterator[Stream]:
    cookies = {"gpuyard_session": await panel.secret(who)}
    async with (
        httpx2.AsyncClient(base_url=served, cookies=cookies, trust_env=False, timeout=_PATIENCE) as client,
        client.stream("GET", path, headers={"accept": "text/event-stream", **headers}) as response,
    ):
        yield Stream(response, _parse(response))


async def _parse(response: httpx2.Response) -> AsyncIterator[Message]:
    fields: dict[str, list[str]] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields.setdefault(name, []).append(value)
            continue
        last = {name: values[-1] for name, values in fields.items()}
        yield Message("\n".join(fields.get("data", [])), *(last.get(n, "") for n in ("event", "id", "retry")))
        fields = {}
