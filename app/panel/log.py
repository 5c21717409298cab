"""The log of a workload as a fragment, asked for again while more may come."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.domain.people import unknown_workload
from app.domain.workload import Workload
from app.panel import guards, urls
from app.panel.contexts import LogFragment, LogView
from app.panel.desk import Desk
from app.panel.log_reader import LogTail, is_followed
from app.panel.rendering import html
from app.store import reads


@dataclass(frozen=True)
class LogPages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        """204 while there is nothing new: the fragment on the page, which asks again, stays as it is."""
        manager = await guards.manage(self.desk, request, by_person=False)
        workload_id: UUID = request.path_params["id"]
        workload = await reads.find_workload(manager.organization.id, workload_id)
        if workload is None:
            raise unknown_workload(workload_id)
        view = log_view(manager.slug, workload, await self.desk.logs.read(workload))
        if view.is_followed and request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(LogFragment(view))


def log_view(slug: str, workload: Workload, tail: LogTail) -> LogView:
    return LogView(
        text=tail.text,
        was_cut=tail.was_cut,
        why_none=tail.why_none,
        digest=tail.digest,
        is_followed=is_followed(workload),
        url=urls.log(slug, workload.id),
        follow_url=urls.log(slug, workload.id, have=tail.digest),
    )
