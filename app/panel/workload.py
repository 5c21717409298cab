"""The page of one workload, and what may be asked of it there and in the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.cancel_workload import cancel_workload
from app.commands.context import CommandContext, noting_refusals
from app.commands.delete_workload import delete_workload
from app.commands.prioritize_workload import prioritize_workload
from app.commands.restore_workload import restore_workload
from app.commands.resume_workload import resume_workload
from app.commands.retry_workload import retry_workload
from app.commands.suspend_workload import suspend_workload
from app.domain.actions import Action
from app.domain.errors import ConflictError, ForbiddenError, InvalidInputError
from app.domain.people import Principal, unknown_workload
from app.domain.workload import Workload
from app.panel import frames, guards, urls
from app.panel.contexts import Notice, RowFragment, WorkloadFragment, WorkloadPage
from app.panel.curves import read_curves
from app.panel.desk import Desk
from app.panel.form import read_priority
from app.panel.guards import Manager
from app.panel.htmx import Htmx
from app.panel.log import read_log
from app.panel.news import load_view
from app.panel.rendering import html
from app.panel.wording import sentence
from app.panel.workload_views import WorkloadView
from app.store import reads

_COMMANDS = {
    Action.CANCEL: cancel_workload,
    Action.SUSPEND: suspend_workload,
    Action.RESUME: resume_workload,
    Action.DELETE: delete_workload,
    Action.RESTORE: restore_workload,
}
_MOVES_BETWEEN_LISTS = frozenset({Action.DELETE, Action.RESTORE})


@dataclass(frozen=True)
class WorkloadPages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        manager = await guards.manage(self.desk, request)
        return await self._page(manager, request)

    async def act(self, action: Action, request: Request) -> Response:
        """Do it and lead back; what is refused is said on the workload's page, or for htmx beside it."""
        commands, target, name = self.desk.commands, str(request.path_params["id"]), f"{action}_workload"
        manager, form = await guards.act(self.desk, request, name, target)
        async with noting_refusals(commands, manager.principal, name, manager.slug, target):
            workload = await _find(manager, request)
        is_fragment = Htmx.of(request).wants_fragment
        try:
            done = await _ask(commands, manager.principal, action, workload.id, form)
        except (ConflictError, ForbiddenError, InvalidInputError) as error:
            notice = Notice(_why_not(error), is_problem=True)
            if is_fragment:
                return await self._fragment(manager, request, form, notice)
            return await self._page(manager, request, notice, HTTPStatus.CONFLICT)
        if is_fragment:
            is_gone = action in _MOVES_BETWEEN_LISTS
            return await self._fragment(manager, request, form, _notice(manager.slug, action, done), is_gone=is_gone)
        return RedirectResponse(_way_back(manager.slug, request, form, done), HTTPStatus.SEE_OTHER)

    async def _page(
        self, manager: Manager, request: Request, notice: Notice | None = None, status: int = HTTPStatus.OK
    ) -> Response:
        workload, view = await _find(manager, request), await _view(self.desk, manager, request)
        context = WorkloadPage(
            frame=await frames.frame(workload.spec.name, manager.session, manager.slug, "workload"),
            now=self.desk.commands.clock.now(),
            view=view,
            form_token=manager.session.form_token,
            curves=await read_curves(self.desk, manager.slug, workload, request),
            log=await read_log(self.desk.logs, manager.slug, workload, request),
            live_url=urls.workload_live(manager.slug, workload.id),
            list_url=urls.workloads(manager.slug),
            notice=notice,
        )
        return html(context, status)

    async def _fragment(
        self, manager: Manager, request: Request, form: dict[str, str], notice: Notice | None, *, is_gone: bool = False
    ) -> Response:
        """The row, or the workload's part of its page, as it is then."""
        view, now = await _view(self.desk, manager, request), self.desk.commands.clock.now()
        if not _is_from_list(form):
            return html(WorkloadFragment(now, view, manager.session.form_token, notice))
        return html(RowFragment(now, view.row, manager.session.form_token, notice, is_gone))


async def _ask(
    commands: CommandContext, principal: Principal, action: Action, workload_id: UUID, form: Mapping[str, str]
) -> Workload:
    """The workload as it is then; of a retry the new one. The same form sent twice makes one."""
    if action is Action.RETRY:
        return (await retry_workload(commands, principal, workload_id, form.get("requestKey") or None)).workload
    if action is Action.PRIORITIZE:
        return await prioritize_workload(commands, principal, workload_id, read_priority(form.get("priority", "")))
    return await _COMMANDS[action](commands, principal, workload_id)


def _why_not(error: ConflictError | ForbiddenError | InvalidInputError) -> str:
    """Of a retry's request, what is wrong without the fields' names: nobody filled in a form."""
    problems = error.problems if isinstance(error, InvalidInputError) else ()
    return sentence("; ".join(problem.message for problem in problems) or error.message)


def _notice(slug: str, action: Action, done: Workload) -> Notice | None:
    """Where what was done is not to be seen in the row itself."""
    words = {
        Action.RETRY: "Submitted again as",
        Action.DELETE: "Deleted; it can be restored:",
        Action.RESTORE: "Back in the list:",
    }
    return Notice(words[action], done.spec.name, urls.workload(slug, done.id)) if action in words else None


def _is_from_list(form: dict[str, str]) -> bool:
    return form.get("from") == "list"


def _way_back(slug: str, request: Request, form: dict[str, str], done: Workload) -> str:
    """To the list as it was filtered, or to the workload's page; after a retry to the new one's."""
    is_new = done.id != request.path_params["id"]
    if is_new or not _is_from_list(form):
        return urls.workload(slug, done.id)
    came_from, listed = URL(request.headers.get("referer", "")), urls.workloads(slug)
    return f"{listed}?{came_from.query}" if came_from.path == listed and came_from.query else listed


async def _find(manager: Manager, request: Request) -> Workload:
    """Of this organization only, whatever else the person may see."""
    workload_id: UUID = request.path_params["id"]
    workload = await reads.find_workload(manager.organization.id, workload_id)
    if workload is None:
        raise unknown_workload(workload_id)
    return workload


async def _view(desk: Desk, manager: Manager, request: Request) -> WorkloadView:
    workload_id: UUID = request.path_params["id"]
    whose, names_clusters = (manager.slug, manager.organization.id), desk.board.names_clusters
    view = await load_view(*whose, workload_id, desk.forecaster, names_clusters=names_clusters)
    if view is None:
        raise unknown_workload(workload_id)
    return view
