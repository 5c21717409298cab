"""The page of one workload, and its cancel button."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.cancel_workload import cancel_workload
from app.domain.errors import ConflictError, NotFoundError
from app.domain.people import Permission
from app.domain.workload import Workload
from app.panel import frames, guards, urls
from app.panel.contexts import Context, RowFragment, WorkloadFragment, WorkloadPage
from app.panel.desk import Desk
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.log import log_view
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
        workload, view = await _find(manager, request)
        context = WorkloadPage(
            frame=await frames.frame(workload.spec.name, manager.session, manager.slug, "workload"),
            now=self.desk.commands.clock.now(),
            view=view,
            form_token=manager.session.form_token,
            log=log_view(manager.slug, workload, await self.desk.logs.read(workload)),
            live_url=urls.workload_live(manager.slug, workload.id),
            list_url=urls.workloads(manager.slug),
            notice=_NOTICES.get(request.query_params.get("notice", ""), ""),
        )
        return html(context)

    async def cancel(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request, Permission.WRITE_WORKLOADS)
        form = await guards.read_form(request)
        guards.check_form(request, form, manager.session.secret)
        workload, _ = await _find(manager, request)
        notice, code = "", ""
        try:
            await cancel_workload(self.desk.commands, manager.principal, workload.id)
        except ConflictError as error:
            notice, code = error.message, _ENDED
        is_list = form.get("from") == "list"
        if Htmx.of(request).wants_fragment:
            return html(await self._fragment(manager, request, notice, is_list=is_list))
        page = urls.workload(manager.slug, workload.id)
        location = urls.workloads(manager.slug) if is_list and not code else urls.with_query(page, notice=code)
        return RedirectResponse(location, HTTPStatus.SEE_OTHER)

    async def _fragment(self, manager: Manager, request: Request, notice: str, *, is_list: bool) -> Context:
        _, view = await _find(manager, request)
        now, token = self.desk.commands.clock.now(), manager.session.form_token
        if is_list:
            return RowFragment(now, view.row, token, notice)
        return WorkloadFragment(now, view, token, notice)


async def _find(manager: Manager, request: Request) -> tuple[Workload, WorkloadView]:
    """Of this organization only, whatever else the person may see."""
    workload_id: UUID = request.path_params["id"]
    workload = await reads.find_workload(manager.organization.id, workload_id)
    view = await load_view(manager.slug, manager.organization.id, workload_id)
    if workload is None or view is None:
        raise NotFoundError(f"there is no workload {workload_id} that you may see")
    return workload, view
