"""A workload's log from its beginning or from a place in it, live, over all attempts, to its end.

Each follower has its own connection to the cluster and its own place, so one that reads slowly holds up nobody: what it
does not take stays on the server. While an attempt runs the cluster is followed, and after a dropped connection
followed again from the place; what the cluster did not give by then comes from the log that is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from app.bus import LOOK_AGAIN_SECONDS, Bus, Signal
from app.cluster.port import ClusterError, LogRange
from app.domain.log_walk import LogWalk, Place
from app.domain.workload import Attempt, Workload
from app.reconcile.logs import LogReader, is_kept
from app.store import logs, reads

T = TypeVar("T")

MOST_PIECE = 21_000  # bytes: three times that where each one has to be replaced, and still below 64 KiB
_LEAST_PAUSE = 0.1  # seconds: much may happen to other workloads
_FIRST_PAUSE = 0.25  # seconds, doubled while nothing comes


@dataclass(frozen=True)
class LogChunk:
    """`gap`: something before this text could not be had. `place` is behind it. After `is_last` nothing comes."""

    place: Place
    text: bytes = b""
    gap: bool = False
    is_last: bool = False


async def follow(
    reader: LogReader, bus: Bus, workload: Workload, place: Place
) -> AsyncGenerator[LogChunk | None, None]:
    """Chunks, and None when nothing came for a while: whoever reads may look around then, and go."""
    with bus.following(workload.organization_id) as signal:
        async with aclosing(_Follower(reader, signal, workload.id, place).chunks()) as chunks:
            async for chunk in chunks:
                yield chunk


@dataclass
class _Follower:
    reader: LogReader
    signal: Signal
    workload_id: UUID
    place: Place
    _is_done: bool = False  # with the attempt of the place: all of it has been given out
    _pause: float = _FIRST_PAUSE

    async def chunks(self) -> AsyncGenerator[LogChunk | None, None]:
        while True:
            workload = await reads.load_workload(self.workload_id)
            attempt = await self._attempt()
            if attempt is None:
                if workload is None or workload.status.is_terminal:
                    yield LogChunk(self.place, is_last=True)
                    return
            else:
                async with aclosing(self._of_attempt(attempt)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                if self._is_done:
                    continue
            yield None
            await self._wait()

    async def _attempt(self) -> Attempt | None:
        """The one to read: that of the place, or the next one when it is done with."""
        attempts = await reads.attempts_of([self.workload_id])
        wanted = self.place.attempt + 1 if self._is_done or not self.place.attempt else self.place.attempt
        found = next((attempt for attempt in attempts if attempt.number == wanted), None)
        if found is not None and found.number != self.place.attempt:
            self.place, self._is_done = Place(found.number), False
        return found

    async def _wait(self) -> None:
        await asyncio.sleep(_LEAST_PAUSE)
        await self.signal.wait(self._pause)
        self._pause = min(2 * self._pause, LOOK_AGAIN_SECONDS)

    def _of_attempt(self, attempt: Attempt) -> AsyncGenerator[LogChunk | None, None]:
        return self._kept(attempt) if is_kept(attempt) else self._live(attempt)

    async def _kept(self, attempt: Attempt) -> AsyncGenerator[LogChunk | None, None]:
        kept = await logs.find_log(attempt.workload_id, attempt.number)
        self._is_done = True
        if kept is None or kept.why_none:
            if attempt.started_at is not None:
                yield LogChunk(self.place, gap=True)
            return
        walk, is_cut = LogWalk(self.place), kept.was_cut and not self.place.anchor
        walk.feed(kept.lines)
        for chunk in self._taken(walk, is_cut=is_cut, is_end=True):
            yield chunk
            await asyncio.sleep(0)  # a whole log takes a while to go through, and others wait

    async def _live(self, attempt: Attempt) -> AsyncGenerator[LogChunk | None, None]:
        try:
            pod = await self.reader.find_pod(attempt)
            if pod is None:
                return
            async with self.reader.stream() as may_stay:
                walk, part = LogWalk(self.place), LogRange(since=self.place.since, follow=may_stay)
                pieces = patiently(self.reader.port_of(attempt).read_log(pod, part), LOOK_AGAIN_SECONDS)
                async with aclosing(pieces):
                    async for piece in pieces:
                        if piece is None:
                            yield None
                            continue
                        walk.feed(piece)
                        for chunk in self._taken(walk):
                            yield chunk
        except ClusterError:
            return  # no container yet, no log any more, nobody who answers: seen anew after a pause

    def _taken(self, walk: LogWalk, *, is_cut: bool = False, is_end: bool = False) -> Iterator[LogChunk]:
        has_told = False
        while text := walk.take(MOST_PIECE, is_end=is_end):
            gap = not has_told and (is_cut or walk.has_gap)
            has_told = has_told or gap
            walk.has_gap = False
            self.place, self._pause = walk.place, _FIRST_PAUSE
            yield LogChunk(self.place, text, gap)


async def patiently(stream: AsyncGenerator[T, None], seconds: float) -> AsyncGenerator[T | None, None]:
    """The stream's items, and None whenever none came for so long. The stream is closed with this one."""
    async with aclosing(stream):
        while True:
            coming = asyncio.ensure_future(anext(stream))
            try:
                while not (await asyncio.wait({coming}, timeout=seconds))[0]:
                    yield None
                yield await coming
            except StopAsyncIteration:
                return
            finally:
                coming.cancel()
                await asyncio.wait({coming})
