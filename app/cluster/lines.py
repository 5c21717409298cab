"""A byte stream as lines. Used for watches, whose lines may be longer than the HTTP library's own reader takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from app.cluster.port import GoneError

MAX_LINE = 16 * 1024 * 1024  # objects end near 1.5 MiB in etcd; anything like this is no event


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Whole lines that aren't empty, without their ends. A last line without an end was cut off and is left out."""
    begun: list[bytes] = []  # pieces of a line whose end has not come: joined once, however many there are
    size = 0
    async for chunk in chunks:
        head, *more = chunk.split(b"\n")
        begun.append(head)
        size += len(head)
        if size > MAX_LINE:
            raise GoneError(f"a watch sent a line of more than {MAX_LINE} bytes")
        if more:
            for line in (b"".join(begun), *more[:-1]):
                if line.strip():
                    yield line
            begun, size = [more[-1]], len(more[-1])
