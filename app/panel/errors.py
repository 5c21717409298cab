"""Refusals and failures as answers. Every one is a page of its own with a way back; for htmx a status with HX-Redirect
where the person has to go elsewhere. GraphQL and health keep their own plain answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast
from uuid import uuid4

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from app.domain.errors import ConflictError, DomainError, ForbiddenError, NotFoundError, PreconditionFailedError
from app.panel import frames, guards
from app.panel.contexts import ErrorPage, Frame
from app.panel.desk import Desk
from app.panel.headers import secure
from app.panel.htmx import Htmx
from app.panel.rendering import html

_log = structlog.get_logger(__name__)

_NO_PAGES = ("/graphql", "/healthz", "/readyz", "/static")
_STATUS: dict[type[DomainError], int] = {
    NotFoundError: 404,
    ForbiddenError: 403,
    ConflictError: 409,
    PreconditionFailedError: 409,
}
_WORDS = {
    404: "There is no such page, or it is not yours to see.",
    405: "This address does not take that kind of request.",
    413: "That was too large.",
}


@dataclass(frozen=True)
class Errors:
    desk: Desk

    def handlers(self) -> Mapping[Any, Any]:
        return {
            guards.RefusedError: self.refused,
            guards.ForeignRequestError: self.foreign,
            DomainError: self.domain,
            HTTPException: self.http,
            Exception: self.failed,
        }

    async def refused(self, request: Request, error: Exception) -> Response:
        refusal = cast("guards.RefusedError", error)
        wants_page = "text/event-stream" not in request.headers.get("accept", "") and not Htmx.of(request).is_htmx
        if wants_page:
            return RedirectResponse(refusal.location, HTTPStatus.SEE_OTHER)
        return PlainTextResponse("", refusal.status, {"hx-redirect": refusal.location})

    async def foreign(self, request: Request, error: Exception) -> Response:
        return await self._page(request, HTTPStatus.FORBIDDEN, str(error))

    async def domain(self, request: Request, error: Exception) -> Response:
        refusal = cast("DomainError", error)
        return await self._page(request, _STATUS.get(type(refusal), 400), refusal.message)

    async def http(self, request: Request, error: Exception) -> Response:
        refusal = cast("HTTPException", error)
        if request.url.path.startswith(_NO_PAGES):
            return PlainTextResponse(refusal.detail, refusal.status_code, refusal.headers)
        words = _WORDS.get(refusal.status_code, refusal.detail)
        return await self._page(request, refusal.status_code, words, refusal.headers)

    async def failed(self, request: Request, error: Exception) -> Response:
        """A defect of ours. Nothing is looked up for this page: what failed may be the database."""
        incident = uuid4().hex[:12]
        _log.error("request failed", incident=incident, path=request.url.path, exc_info=error)
        context = ErrorPage(
            Frame("Error"), 500, "Something went wrong", "The fault is ours, and it is logged.", incident
        )
        answer = html(context, HTTPStatus.INTERNAL_SERVER_ERROR)
        secure(answer.headers, request.url.scheme)  # this answer is made outside the middleware
        return answer

    async def _page(
        self, request: Request, status: int, message: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        session = await guards.find_session(self.desk, request, by_person=False)
        heading = HTTPStatus(status).phrase
        frame = await frames.frame(heading, session, request.path_params.get("org", ""))
        answer = html(ErrorPage(frame, status, heading, message, ""), status)
        answer.headers.update(headers or {})
        return answer
