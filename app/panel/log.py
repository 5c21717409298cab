"""The log of a workload as a fragment, asked for again while more may come; of the attempt that is asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.domain.people import unknown_workload
from app.domain.states import Phase, Status
from app.domain.workload import Attempt, Workload
from app.panel import guards, urls
from app.panel.contexts import Choice, LogFragment, LogView
from app.panel.desk import Desk
from app.panel.rendering import html
from app.panel.wording import plain_text
from app.reconcile.logs import LogReader, LogText, Most
from app.store import reads

MOST_SHOWN = 64 * 1024  # bytes


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
        view = await read_log(self.desk.logs, manager.slug, workload, request)
        if view.is_followed and request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(LogFragment(view))


async def read_log(reader: LogReader, slug: str, workload: Workload, request: Request) -> LogView:
    """The log of the attempt that the address names, else of the last one."""
    attempts = await reads.attempts_of([workload.id])
    asked = request.query_params.get("attempt", "")
    named = next((attempt for attempt in attempts if str(attempt.number) == asked), None)
    attempt = named or (attempts[-1] if attempts else None)
    log = await reader.read(workload, attempt, Most(MOST_SHOWN))
    return _view(slug, workload, attempts, log, asked if named else "")


def _view(slug: str, workload: Workload, attempts: list[Attempt], log: LogText, named: str) -> LogView:
    text = plain_text(log.text)
    digest = hashlib.sha256(f"{log.attempt} {text}{log.why_none}".encode()).hexdigest()[:16]
    return LogView(
        text=text,
        was_cut=log.was_cut,
        why_none=log.why_none,
        digest=digest,
        is_followed=is_followed(workload, log.attempt),
        attempts=_choices(slug, workload, attempts, log.attempt),
        url=urls.log(slug, workload.id, attempt=named),
        follow_url=urls.log(slug, workload.id, attempt=named, have=digest),
    )


def _choices(slug: str, workload: Workload, attempts: list[Attempt], chosen: int | None) -> tuple[Choice, ...]:
    """A link for each attempt, where there are several."""
    if len(attempts) < 2:  # noqa: PLR2004
        return ()
    page = urls.workload(slug, workload.id)
    return tuple(
        Choice(
            f"Attempt {attempt.number}",
            urls.with_query(page, attempt=str(attempt.number)) + "#log",
            attempt.number == chosen,
        )
        for attempt in attempts
    )


def is_followed(workload: Workload, attempt: int | None) -> bool:
    """Whether more may come: while it executes, and while it is being stopped."""
    return attempt == workload.attempt and (workload.status is Status.RUNNING or workload.phase is Phase.STOPPING)
