"""An organization's projects: where everybody lands, and where those are led who may not see more. Who manages them
sets their quotas here.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.context import noting_refusals, open_gpu_workloads
from app.commands.manage import quota_warning, set_project_quota
from app.domain.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError, PreconditionFailedError
from app.domain.people import Permission, may
from app.panel import frames, guards, urls
from app.panel.contexts import ProjectsPage
from app.panel.desk import Desk
from app.panel.guards import Visitor
from app.panel.project_views import ProjectsView, projects_view
from app.panel.rendering import html
from app.store import people, reads

_LONGEST_NUMBER = 9  # digits


@dataclass(frozen=True)
class ProjectPages:
    desk: Desk

    async def organization(self, request: Request) -> Response:
        visitor = await guards.visit(self.desk, request)
        return RedirectResponse(urls.projects(visitor.slug), 303)

    async def index(self, request: Request) -> Response:
        visitor = await guards.visit(self.desk, request)
        refusal = await _why_refused(visitor) if request.query_params.get("reason") else ""
        return await _page(visitor, refusal=refusal)

    async def set_quota(self, request: Request) -> Response:
        commands, project_id = self.desk.commands, request.path_params["id"]
        action, target = "set_project_quota", str(project_id)
        visitor, form = await guards.change(self.desk, request, action, target, Permission.MANAGE_PROJECTS)
        async with noting_refusals(commands, visitor.principal, action, visitor.slug, target):
            project = (await people.projects_by_id([project_id])).get(project_id)
            if project is None or project.organization_id != visitor.organization.id:
                raise NotFoundError(f"there is no project {project_id} that you may see")
        try:
            wanted = (_gpus(form, "guaranteedGpus"), _gpus(form, "maxGpus"))
            version = _gpus(form, "version") or 0
            await set_project_quota(commands, visitor.principal, project_id, wanted, version)
        except ConflictError as error:
            return await _page(visitor, notice=error.message, status=HTTPStatus.CONFLICT)
        except InvalidInputError as error:
            words = "; ".join(f"{_LABELS.get(it.field, it.field)} {it.message}" for it in error.problems)
            return await _page(visitor, notice=f"{project.name}: {words}", status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return RedirectResponse(urls.projects(visitor.slug), HTTPStatus.SEE_OTHER)


_LABELS = {"guaranteedGpus": "what is guaranteed", "maxGpus": "the maximum"}


async def _page(visitor: Visitor, *, refusal: str = "", notice: str = "", status: int = HTTPStatus.OK) -> Response:
    frame = await frames.frame("Projects", visitor.session, visitor.slug, "projects")
    return html(ProjectsPage(frame, refusal, await _view(visitor), visitor.session.form_token, notice), status)


async def _view(visitor: Visitor) -> ProjectsView:
    principal, organization = visitor.principal, visitor.organization
    projects = await people.projects_of(organization.id)
    used = None
    if may(principal, organization, Permission.READ_WORKLOADS):
        used = await reads.gpus_in_use([project.id for project in projects])
    may_change = may(principal, organization, Permission.MANAGE_PROJECTS)
    warning = await quota_warning(organization.id) if may_change else ""
    return projects_view(visitor.slug, projects, used, warning, may_change=may_change)


def _gpus(form: dict[str, str], name: str) -> int | None:
    """What was typed; None where nothing was. Raises InvalidInputError for what is no number."""
    text = form.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise InvalidInputError.of(name, f"must be a whole number, or empty for none; it is {text[:20]!r}")
    return int(text)


async def _why_refused(visitor: Visitor) -> str:
    """The reason as it is now, in the words of the rule itself; nothing once it has gone away."""
    try:
        await open_gpu_workloads(visitor.principal, visitor.slug, Permission.WRITE_WORKLOADS)
    except (ForbiddenError, PreconditionFailedError) as error:
        return error.message
    return ""
