"""The organization's servers: what each offers and what is free. The page asks for its table again while it is open."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from app.panel import frames, guards
from app.panel.contexts import ServersFragment, ServersPage
from app.panel.desk import Desk
from app.panel.htmx import Htmx
from app.panel.rendering import html
from app.panel.server_views import servers_view
from app.store import servers


@dataclass(frozen=True)
class ServerPages:
    desk: Desk

    async def index(self, request: Request) -> Response:
        asks_again = Htmx.of(request).wants_fragment
        manager = await guards.manage(self.desk, request, by_person=not asks_again)
        records = await servers.servers_of(manager.slug)
        view, now = servers_view(manager.slug, records, self.desk.board), self.desk.commands.clock.now()
        if asks_again:
            return html(ServersFragment(now, view))
        frame = await frames.frame("Servers", manager.session, manager.slug, "servers")
        return html(ServersPage(frame, now, view))
