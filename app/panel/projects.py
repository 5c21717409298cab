"""An organization's projects: where everybody lands, and where those are led who may not see more."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.commands.context import open_gpu_workloads
from app.domain.errors import ForbiddenError, PreconditionFailedError
from app.domain.people import Permission
from app.panel import frames, guards, urls
from app.panel.contexts import ProjectsPage
from app.panel.desk import Desk
from app.panel.guards import Visitor
from app.panel.rendering import html
from app.store import people


@dataclass(frozen=True)
class ProjectPages:
    desk: Desk

    async def organization(self, request: Request) -> Response:
        visitor = await guards.visit(self.desk, request)
        return RedirectResponse(urls.projects(visitor.slug), 303)

    async def index(self, request: Request) -> Response:
        visitor = await guards.visit(self.desk, request)
        refusal = await _why_refused(visitor) if request.query_params.get("reason") else ""
        frame = await frames.frame("Projects", visitor.session, visitor.slug, "projects")
        return html(ProjectsPage(frame, refusal, tuple(await people.projects_of(visitor.organization.id))))


async def _why_refused(visitor: Visitor) -> str:
    """The reason as it is now, in the words of the rule itself; nothing once it has gone away."""
    try:
        await open_gpu_workloads(visitor.principal, visitor.slug, Permission.WRITE_WORKLOADS)
    except (ForbiddenError, PreconditionFailedError) as error:
        return error.message
    return ""
