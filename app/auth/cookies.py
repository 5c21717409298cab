"""The panel's two cookies: the session's, and a visitor's before sign-in, which the sign-in form's token hangs on.

Behind TLS both are Secure and carry the `__Host-` prefix, so that no other host can plant one. On plain HTTP, which is
the demo on one's own machine, browsers refuse the prefix. Which of the two it is comes from the request's scheme, as
uvicorn tells it from the headers of trusted proxies.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from app.auth.sessions import ABSOLUTE_LIMIT

_HOST_PREFIX = "__Host-"


@dataclass(frozen=True)
class Cookie:
    name: str
    seconds: int

    def read(self, request: Request) -> str:
        """Its value, empty where there is none."""
        return request.cookies.get(self._name(request), "")

    def write(self, request: Request, response: Response, value: str) -> None:
        response.set_cookie(
            self._name(request),
            value,
            max_age=self.seconds,
            path="/",
            secure=is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def clear(self, request: Request, response: Response) -> None:
        response.delete_cookie(self._name(request), path="/", secure=is_secure(request), httponly=True, samesite="lax")

    def _name(self, request: Request) -> str:
        return _HOST_PREFIX + self.name if is_secure(request) else self.name


SESSION = Cookie("gpuyard_session", int(ABSOLUTE_LIMIT.total_seconds()))
VISITOR = Cookie("gpuyard_visitor", 3600)


def is_secure(request: Request) -> bool:
    return request.url.scheme in ("https", "wss")
