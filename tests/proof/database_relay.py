"""Between the app and PostgreSQL: it sees each commit before the app does.

Only what the server sends is read: `CommandComplete` names what a statement did, `ReadyForQuery` says whether a
transaction is still open. A commit is a return to idle after something was changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

_SSL_REQUEST = struct.pack("!II", 8, 80877103)
_HEAD = struct.Struct("!cI")
_CHANGES = (b"INSERT", b"UPDATE", b"DELETE")


async def _go_on(_: str) -> bool:
    return False


@dataclass
class DatabaseRelay:
    """`after_commit` is asked with what was written before the app hears of it; True: it never hears."""

    url: str
    after_commit: Callable[[str], Awaitable[bool]] = _go_on
    commits: list[str] = field(default_factory=list)
    _open: dict[asyncio.StreamWriter, asyncio.Event] = field(default_factory=dict)  # each with its end

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """The URL of the same database by way of this relay."""
        parts = urlsplit(self.url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 5432
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
        finally:
            server.close()
            for writer, has_ended in tuple(self._open.items()):
                writer.transport.abort()
                await has_ended.wait()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        has_ended = self._open[writer] = asyncio.Event()
        back, forth = await asyncio.open_connection(self._host, self._port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_until_closed(self._requests(reader, writer, forth), forth))
                group.create_task(_until_closed(self._answers(back, writer), writer))
        finally:
            forth.close()
            writer.close()
            del self._open[writer]
            has_ended.set()

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, forth: asyncio.StreamWriter
    ) -> None:
        first = await reader.readexactly(8)
        if first == _SSL_REQUEST:
            writer.write(b"N")
        else:
            forth.write(first)
        while chunk := await reader.read(65536):
            forth.write(chunk)
            await forth.drain()

    async def _answers(self, back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        changed: list[str] = []
        while True:
            head = await back.readexactly(_HEAD.size)
            kind, length = _HEAD.unpack(head)
            body = await back.readexactly(length - 4)
            if kind == b"C" and body.startswith(_CHANGES) and not body.endswith(b" 0\0"):
                changed.append(body[:6].decode())
            if kind == b"C" and body.startswith(b"ROLLBACK"):
                changed.clear()
            if kind == b"Z" and body == b"I" and changed:
                told, changed = "+".join(changed), []
                self.commits.append(told)
                if await self.after_commit(told):
                    return
            writer.write(head + body)
            await writer.drain()


async def _until_closed(pump: Awaitable[None], out: asyncio.StreamWriter) -> None:
    """An end on one side is an end on the other."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await pump
    out.close()
