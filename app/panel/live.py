"""Live pages: one stream a page, which tells what changed until the page, the session or the server ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.auth import TRUSTED_SECONDS, sessions
from app.bus import LOOK_AGAIN_SECONDS
from app.domain.errors import DomainError
from app.domain.people import Permission
from app.panel import guards, streams, wording
from app.panel.contexts import SignedOutMessage
from app.panel.desk import Desk
from app.panel.guards import Manager, RefusedError
from app.panel.listing import Listing
from app.panel.news import RowNews, WorkloadNews
from app.panel.rendering import render
from app.store import reads

TICK_SECONDS = 10.0
_LOOK_PAUSE = 0.1  # many changes at a time are told together
_LONGEST_CURSOR = 18


class News(Protocol):
    async def look(self) -> tuple[list[str], bool]:
        """Messages about what changed since the last look, and whether there is more to tell at once."""
        ...


@dataclass(frozen=True)
class LivePages:
    desk: Desk

    async def workloads(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request, by_person=False)
        organization_id = manager.organization.id
        cursor = _cursor(request)
        if cursor is None:
            cursor = await reads.last_event_sequence(organization_id)
        listing = Listing.parse(request.query_params)
        token = manager.session.form_token
        clock, names_clusters = self.desk.commands.clock, self.desk.board.names_clusters
        news = RowNews(manager.slug, organization_id, listing, cursor, token, clock, names_clusters)
        return streams.response(self._tell(manager, news))

    async def workload(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request, by_person=False)
        workload_id: UUID = request.path_params["id"]
        token = manager.session.form_token
        clock, names_clusters = self.desk.commands.clock, self.desk.board.names_clusters
        news = WorkloadNews(manager.slug, manager.organization.id, workload_id, token, clock, names_clusters)
        return streams.response(self._tell(manager, news))

    async def _tell(self, manager: Manager, news: News) -> AsyncGenerator[str, None]:
        bus, clock = self.desk.commands.bus, self.desk.commands.clock
        checked_at = told_at = clock.monotonic()
        with bus.following(manager.organization.id) as signal, self.desk.streams.open(signal):
            yield self._tick()
            while not self.desk.streams.ending:
                if clock.monotonic() - checked_at >= TRUSTED_SECONDS:
                    if not await self._may_still(manager):
                        yield streams.message(render(SignedOutMessage()), "") + streams.event(streams.BYE)
                        return
                    checked_at = clock.monotonic()
                messages, has_more = await news.look()
                for message in messages:
                    yield message
                if clock.monotonic() - told_at >= TICK_SECONDS:
                    yield self._tick()
                    told_at = clock.monotonic()
                if not has_more:
                    await asyncio.sleep(_LOOK_PAUSE)
                    await signal.wait(LOOK_AGAIN_SECONDS)
            yield streams.come_back()

    def _tick(self) -> str:
        return streams.event(streams.TICK, wording.iso(self.desk.commands.clock.now()))

    async def _may_still(self, manager: Manager) -> bool:
        session = await sessions.resume(manager.session.secret, self.desk.commands.clock.now(), by_person=False)
        if session is None:
            return False
        try:
            await guards.open_workloads(session, manager.slug, Permission.READ_WORKLOADS)
        except (RefusedError, DomainError):
            return False
        return True


def _cursor(request: Request) -> int | None:
    """Where to go on: after the last message that came through, else after what the page was made from."""
    text = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_CURSOR else None
