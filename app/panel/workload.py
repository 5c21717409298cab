"""The page of one workload, and its cancel button."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.cancel_workload import cancel_workload
from app.commands.context import noting_refusals
from app.domain.errors import ConflictError
from app.domain.people import unknown_workload
from app.domain.workload import Workload
from app.panel import frames, guards, urls
from app.panel.contexts import Context, RowFragment, WorkloadFragment, WorkloadPage
from app.panel.desk import Desk
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.log import read_log
from app.panel.news import load_view
from app.panel.rendering import html
from app.panel.workload_views import WorkloadView
from app.store import reads

_ENDED = "ended"
_NOTICES = {_ENDED: "It had ended before it could be cancelled."}


@dataclass(frozen=True)
class WorkloadPages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request)
        workload, view = await _find(manager, request), await _view(self.desk, manager, request)
        context = WorkloadPage(
            frame=await frames.frame(workload.spec.name, manager.session, manager.slug, "workload"),
            now=self.desk.commands.clock.now(),
            view=view,
            form_token=manager.session.form_token,
            log=await read_log(self.desk.logs, manager.slug, workload, request),
            live_url=urls.workload_live(manager.slug, workload.id),
            list_url=urls.workloads(manager.slug),
            notice=_NOTICES.get(request.query_params.get("notice", ""), ""),
        )
        return html(context)

    async def cancel(self, request: Request) -> Response:
        commands, target = self.desk.commands, str(request.path_params["id"])
        manager, form = await guards.act(self.desk, request, "cancel_workload", target)
        async with noting_refusals(commands, manager.principal, "cancel_workload", manager.slug, target):
            workload = await _find(manager, request)
        notice, code = "", ""
        try:
            await cancel_workload(commands, manager.principal, workload.id)
        except ConflictError as error:
            notice, code = error.message, _ENDED
        is_list = form.get("from") == "list"
        if Htmx.of(request).wants_fragment:
            return html(await self._fragment(manager, request, notice, is_list=is_list))
        page = urls.workload(manager.slug, workload.id)
        location = urls.workloads(manager.slug) if is_list and not code else urls.with_query(page, notice=code)
        return RedirectResponse(location, HTTPStatus.SEE_OTHER)

    async def _fragment(self, manager: Manager, request: Request, notice: str, *, is_list: bool) -> Context:
        view = await _view(self.desk, manager, request)
        now, token = self.desk.commands.clock.now(), manager.session.form_token
        if is_list:
            return RowFragment(now, view.row, token, notice)
        return WorkloadFragment(now, view, token, notice)


async def _find(manager: Manager, request: Request) -> Workload:
    """Of this organization only, whatever else the person may see."""
    workload_id: UUID = request.path_params["id"]
    workload = await reads.find_workload(manager.organization.id, workload_id)
    if workload is None:
        raise unknown_workload(workload_id)
    return workload


async def _view(desk: Desk, manager: Manager, request: Request) -> WorkloadView:
    workload_id: UUID = request.path_params["id"]
    names_clusters = desk.board.names_clusters
    view = await load_view(manager.slug, manager.organization.id, workload_id, names_clusters=names_clusters)
    if view is None:
        raise unknown_workload(workload_id)
    return view
