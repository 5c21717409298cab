"""A cable between browser and product that can go dead without a word, as when a laptop sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Relay:
    """While `passing` is not set, nothing passes in either direction, and no connection is closed."""

    target: int
    url: str = ""
    passing: asyncio.Event = field(default_factory=asyncio.Event)

    def cut(self) -> None:
        self.passing.clear()

    def mend(self) -> None:
        self.passing.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        with suppress(OSError):  # whichever end closed first
            await asyncio.gather(self._pass(reader, there_writer), self._pass(there_reader, writer))

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self.passing.wait()
                sink.write(data)
                await sink.drain()
        finally:
            sink.close()


@asynccontextmanager
async def relayed(port: int) -> AsyncIterator[Relay]:
    relay = Relay(port)
    relay.mend()
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        relay.mend()
        server.close()
