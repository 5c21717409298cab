"""Live pages: one stream a page, which tells what changed until the page, the session or the server ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.auth import sessions
from app.auth.trust import Trust
from app.bus import LOOK_AGAIN_SECONDS
from app.commands.context import Access
from app.domain.errors import DomainError, UnauthenticatedError
from app.domain.people import Permission
from app.panel import guards, streams, wording
from app.panel.contexts import SignedOutMessage
from app.panel.desk import Desk
from app.panel.guards import Manager, RefusedError
from app.panel.listing import Listing
from app.panel.news import RowNews, WorkloadNews
from app.panel.rendering import render

TICK_SECONDS = 10.0
_LOOK_PAUSE = 0.1  # many changes at a time are told together
_REST = 9  # times as long as a look took: a search through very many may be slow


class News(Protocol):
    async def look(self) -> list[str]:
        """Messages about what changed since the last look."""
        ...


@dataclass(frozen=True)
class LivePages:
    desk: Desk

    async def workloads(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request, by_person=False)
        listing = Listing.parse(request.query_params)
        have = request.headers.get("last-event-id") or request.query_params.get("have", "")
        token = manager.session.form_token
        around = self.desk.commands.clock, self.desk.forecaster, self.desk.board.names_clusters
        news = RowNews(manager.slug, manager.organization.id, listing, have, token, *around)
        return streams.response(self._tell(manager, news))

    async def workload(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request, by_person=False)
        workload_id: UUID = request.path_params["id"]
        token = manager.session.form_token
        around = self.desk.commands.clock, self.desk.forecaster, self.desk.board.names_clusters
        news = WorkloadNews(manager.slug, manager.organization.id, workload_id, token, *around)
        return streams.response(self._tell(manager, news))

    async def _tell(self, manager: Manager, news: News) -> AsyncGenerator[str, None]:
        bus, clock = self.desk.commands.bus, self.desk.commands.clock
        trust = Trust(clock, lambda: self._open(manager))
        told_at = clock.monotonic()
        with bus.following(manager.organization.id) as signal, self.desk.streams.open(signal):
            yield self._tick()
            while not self.desk.streams.ending:
                try:
                    await trust.renew()
                except (RefusedError, DomainError):
                    yield streams.message(render(SignedOutMessage()), "") + streams.event(streams.BYE)
                    return
                began = clock.monotonic()
                messages = await news.look()
                pause = min(max(_LOOK_PAUSE, _REST * (clock.monotonic() - began)), LOOK_AGAIN_SECONDS)
                for message in messages:
                    yield message
                if clock.monotonic() - told_at >= TICK_SECONDS:
                    yield self._tick()
                    told_at = clock.monotonic()
                await asyncio.sleep(pause)
                await signal.wait(LOOK_AGAIN_SECONDS)
            yield streams.come_back()

    def _tick(self) -> str:
        return streams.event(streams.TICK, wording.iso(self.desk.commands.clock.now()))

    async def _open(self, manager: Manager) -> Access:
        """Raises once the session or the right to look has ended."""
        session = await sessions.resume(manager.session.secret, self.desk.commands.clock.now(), by_person=False)
        if session is None:
            raise UnauthenticatedError("the session has ended")
        return await guards.open_workloads(session, manager.slug, Permission.READ_WORKLOADS)
