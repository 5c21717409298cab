"""The events of an organization, read once and handed to all who follow them in this process."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from app.bus import LOOK_AGAIN_SECONDS, Bus, Signal
from app.domain.workload import Event
from app.store import reads

BATCH = 200
KEPT = 2 * BATCH  # at least so many of the newest: who is further behind reads for himself
_log = structlog.get_logger(__name__)


class Feed:
    """An organization's newest events. Waiting costs a reader no timer, and news no read of his own."""

    def __init__(self, organization_id: UUID, sequence: int) -> None:
        self._organization_id = organization_id
        self._before = sequence  # the number before the first that is kept
        self._kept: list[Event] = []  # without a gap
        self._news = asyncio.Event()
        self._has_ended = False

    @property
    def news(self) -> asyncio.Event:
        """Set at the next look, also one that finds nothing. Take it before `after`, so that none is missed."""
        return self._news

    async def after(self, sequence: int) -> Sequence[Event]:
        """Those behind the number, in order, at most BATCH. A number that is older than what is kept costs a read."""
        if self._has_ended:
            raise RuntimeError("the feed has ended")
        if sequence < self._before:
            return await reads.events_after(self._organization_id, sequence, BATCH)
        begin = bisect_right(self._kept, sequence, key=_sequence)
        return self._kept[begin : begin + BATCH]

    async def run(self, signal: Signal) -> None:
        """Look for more at each signal and once in a while, until cancelled."""
        while True:
            try:
                found = await self._look()
            except Exception as error:  # noqa: BLE001 — the loop's edge: logged, and tried again
                _log.warning("events can't be read", organization=str(self._organization_id), exc_info=error)
                found = 0
            if found < BATCH:
                await signal.wait(LOOK_AGAIN_SECONDS)

    async def _look(self) -> int:
        last = self._kept[-1].sequence if self._kept else self._before
        events = await reads.events_after(self._organization_id, last, BATCH)
        kept = [*self._kept, *events]
        if len(kept) > KEPT:
            self._before = kept[-KEPT - 1].sequence
        self._kept = kept[-KEPT:]
        self._wake()
        return len(events)

    def end(self) -> None:
        """Nobody looks any more: who waits for news, or asks, gets an error instead of waiting for ever."""
        self._has_ended = True
        self._wake()

    def _wake(self) -> None:
        self._news, looked = asyncio.Event(), self._news
        looked.set()


def _sequence(event: Event) -> int:
    return event.sequence


@dataclass
class _Followed:
    feed: Feed
    task: asyncio.Task[None]
    followers: int = 0


@dataclass
class Feeds:
    """By organization, for as long as anyone follows it."""

    bus: Bus
    _open: dict[UUID, _Followed] = field(default_factory=dict)

    @contextmanager
    def following(self, organization_id: UUID, sequence: int) -> Iterator[Feed]:
        """Its feed. `sequence` is the number of its last event so far."""
        followed = self._open.get(organization_id)
        if followed is None or followed.task.done():
            feed = Feed(organization_id, sequence)
            task = asyncio.create_task(self._run(feed, organization_id), name="events of an organization")
            followed = self._open[organization_id] = _Followed(feed, task)
        followed.followers += 1
        try:
            yield followed.feed
        finally:
            followed.followers -= 1
            if not followed.followers:
                followed.task.cancel()
                if self._open.get(organization_id) is followed:
                    del self._open[organization_id]

    async def _run(self, feed: Feed, organization_id: UUID) -> None:
        try:
            with self.bus.following(organization_id) as signal:
                await feed.run(signal)
        finally:
            feed.end()
