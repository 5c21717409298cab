"""Open watches and followed logs: woken by changes, ended together at shutdown or when told to drop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stream:
    def __init__(self, seconds: float | None) -> None:
        self.event = asyncio.Event()
        self.ended = False
        self._until = None if seconds is None else time.monotonic() + seconds

    def end(self) -> None:
        self.ended = True
        self.event.set()

    def is_over(self) -> bool:
        return self.ended or (self._until is not None and time.monotonic() >= self._until)

    async def wait(self, seconds: float) -> None:
        """Until something happens, or at most so long."""
        left = seconds if self._until is None else min(seconds, self._until - time.monotonic())
        try:
            await asyncio.wait_for(self.event.wait(), max(0.0, left))
        except TimeoutError:
            return
        self.event.clear()


class Streams:
    def __init__(self) -> None:
        self._open: set[Stream] = set()
        self._closing = False

    @contextmanager
    def open(self, seconds: float | None = None) -> Iterator[Stream]:
        stream = Stream(seconds)
        stream.ended = self._closing
        self._open.add(stream)
        try:
            yield stream
        finally:
            self._open.discard(stream)

    def drop(self) -> int:
        """End the open ones, as a broken connection would."""
        count = len(self._open)
        for stream in self._open:
            stream.end()
        return count

    def close(self) -> None:
        self._closing = True
        self.drop()
