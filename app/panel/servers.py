"""The organization's servers: a map of their GPUs, what each offers, what is free, and a cordon. The page asks for
itself again while it is open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.context import noting_refusals
from app.commands.flag_server import cordon_server, uncordon_server
from app.domain.errors import ConflictError, InvalidInputError
from app.domain.people import Permission, may, unknown_server
from app.panel import frames, guards
from app.panel.contexts import ServersAnswer, ServersFragment, ServersPage
from app.panel.desk import Desk
from app.panel.fleet import Census, users_of
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.rendering import html
from app.panel.server_listing import ServerListing
from app.panel.server_views import Pool, ServersView, servers_view
from app.store import gpus, servers
from app.store.servers import ServerRecord

Change = Callable[[Manager, UUID, dict[str, str]], Awaitable[ServerRecord]]


@dataclass(frozen=True)
class ServerPages:
    desk: Desk

    async def index(self, request: Request) -> Response:
        asks_again = Htmx.of(request).wants_fragment
        manager = await guards.manage(self.desk, request, by_person=not asks_again)
        listing = ServerListing.parse(request.query_params)
        if not asks_again:
            return await self._page(manager, listing)
        view = await self._view(manager, listing)
        if request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(ServersFragment(self.desk.commands.clock.now(), view, manager.session.form_token))

    async def cordon(self, request: Request) -> Response:
        def change(manager: Manager, server_id: UUID, form: dict[str, str]) -> Awaitable[ServerRecord]:
            reason, version = form.get("reason", ""), _version(form)
            return cordon_server(self.desk.commands, manager.principal, server_id, reason, version)

        return await self._flag(request, "cordon_server", change)

    async def uncordon(self, request: Request) -> Response:
        def change(manager: Manager, server_id: UUID, form: dict[str, str]) -> Awaitable[ServerRecord]:
            return uncordon_server(self.desk.commands, manager.principal, server_id, _version(form))

        return await self._flag(request, "uncordon_server", change)

    async def _flag(self, request: Request, action: str, change: Change) -> Response:
        commands, server_id = self.desk.commands, request.path_params["id"]
        target, listing = str(server_id), ServerListing.parse(request.query_params)
        manager, form = await guards.act(self.desk, request, action, target, Permission.MANAGE_SERVERS)
        async with noting_refusals(commands, manager.principal, action, manager.slug, target):
            await _find(manager, server_id)
        notice, status = "", HTTPStatus.OK
        try:
            await change(manager, server_id, form)
        except ConflictError as error:
            notice, status = error.message, HTTPStatus.CONFLICT
        except InvalidInputError as error:
            notice, status = error.message, HTTPStatus.UNPROCESSABLE_ENTITY
        if Htmx.of(request).wants_fragment:
            now, token = commands.clock.now(), manager.session.form_token
            return html(ServersAnswer(now, await self._view(manager, listing), token, notice), status)
        if notice:
            return await self._page(manager, listing, notice, status)
        return RedirectResponse(listing.url(manager.slug), HTTPStatus.SEE_OTHER)

    async def _page(
        self, manager: Manager, listing: ServerListing, notice: str = "", status: int = HTTPStatus.OK
    ) -> Response:
        frame = await frames.frame("Servers", manager.session, manager.slug, "servers")
        now, token = self.desk.commands.clock.now(), manager.session.form_token
        return html(ServersPage(frame, now, await self._view(manager, listing), token, notice), status)

    async def _view(self, manager: Manager, listing: ServerListing) -> ServersView:
        board, slug = self.desk.board, manager.slug
        records = await servers.servers_of(slug)
        await board.inventory.refresh()
        census = await Census.take(manager.organization.id, [it.id for it in records])
        pool = Pool.of(slug, listing, records, board, census)
        shown = await gpus.gpus_of([it.record.id for it in pool.shown()])
        users = await users_of(slug, manager.organization.id, [it.id for it in shown])
        may_flag = may(manager.principal, manager.organization, Permission.MANAGE_SERVERS)
        return servers_view(pool, shown, users, names_clusters=board.names_clusters, may_flag=may_flag)


async def _find(manager: Manager, server_id: UUID) -> ServerRecord:
    """Of this organization only, whatever else the person may see."""
    record = await servers.find_server(server_id)
    if record is None or record.organization_slug != manager.slug:
        raise unknown_server(server_id)
    return record


def _version(form: dict[str, str]) -> int | None:
    """The one that the person saw."""
    text = form.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004
