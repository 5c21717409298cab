"""The log of a workload: as a fragment, asked for again while more may come, and as a file; of the attempt that the
address names, else of the last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.domain import log_words
from app.domain.errors import NotFoundError
from app.domain.log_lines import readable
from app.domain.people import unknown_workload
from app.domain.states import Phase, Status
from app.domain.workload import Attempt, Workload
from app.panel import guards, urls
from app.panel.contexts import Choice, LogFragment, LogView
from app.panel.desk import Desk
from app.panel.digests import digest_of
from app.panel.guards import Manager
from app.panel.rendering import html
from app.panel.wording import plain_text
from app.reconcile.logs import LogReader, LogText, LogUnavailableError, Most
from app.store import reads

MOST_SHOWN = 64 * 1024  # bytes
_FIRST_SECONDS = 10.0  # until the cluster has said whether there is one


@dataclass(frozen=True)
class LogPages:
    desk: Desk

    async def show(self, request: Request) -> Response:
        """204 while there is nothing new: the fragment on the page, which asks again, stays as it is."""
        manager = await guards.manage(self.desk, request, by_person=False)
        view = await read_log(self.desk.logs, manager.slug, await _find(manager, request), request)
        if view.is_followed and request.query_params.get("have") == view.digest:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html(LogFragment(view))

    async def download(self, request: Request) -> Response:
        """All of it as text, whatever a container wrote: a browser stores it and makes nothing of it."""
        manager = await guards.manage(self.desk, request)
        workload = await _find(manager, request)
        attempt = _chosen(await reads.attempts_of([workload.id]), request)
        if attempt is None:
            raise NotFoundError(log_words.NOT_STARTED)
        pieces = self.desk.logs.whole(attempt)
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                first = await anext(pieces)
        except (LogUnavailableError, TimeoutError) as error:
            raise NotFoundError(str(error) or log_words.unavailable("it did not answer in time")) from error
        name = f'attachment; filename="{attempt.job_name}.log"'
        headers = {"content-disposition": name, "cache-control": "no-store"}
        return StreamingResponse(_text(first, pieces), media_type="text/plain; charset=utf-8", headers=headers)


async def _text(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[str]:
    async with aclosing(rest):
        yield readable(first)
        async for piece in rest:
            yield readable(piece)


async def _find(manager: Manager, request: Request) -> Workload:
    workload_id: UUID = request.path_params["id"]
    workload = await reads.find_workload(manager.organization.id, workload_id)
    if workload is None:
        raise unknown_workload(workload_id)
    return workload


def _named(attempts: list[Attempt], request: Request) -> Attempt | None:
    asked = request.query_params.get("attempt", "")
    return next((attempt for attempt in attempts if str(attempt.number) == asked), None)


def _chosen(attempts: list[Attempt], request: Request) -> Attempt | None:
    return _named(attempts, request) or (attempts[-1] if attempts else None)


async def read_log(reader: LogReader, slug: str, workload: Workload, request: Request) -> LogView:
    attempts = await reads.attempts_of([workload.id])
    named = _named(attempts, request)
    log = await reader.read(workload, _chosen(attempts, request), Most(MOST_SHOWN))
    return _view(slug, workload, attempts, log, str(named.number) if named else "")


def _view(slug: str, workload: Workload, attempts: list[Attempt], log: LogText, named: str) -> LogView:
    text = plain_text(log.text)
    digest = digest_of((log.attempt, text, log.why_none))
    return LogView(
        text=text,
        was_cut=log.was_cut,
        why_none=log.why_none,
        digest=digest,
        is_followed=is_followed(workload, log.attempt),
        attempts=_choices(slug, workload, attempts, log.attempt),
        url=urls.log(slug, workload.id, attempt=named),
        download_url=urls.log_file(slug, workload.id, attempt=str(log.attempt)) if text else "",
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
