"""Security headers of every answer, as pure ASGI: a wrapper that reads bodies would break streams.

`Referrer-Policy` is `same-origin` and not `no-referrer`: with that one browsers send `Origin: null` from our own forms.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Pictures may be `data:`: Pico's own icons are, until our style sheet, which replaces them, has been read.
_POLICY = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_ALWAYS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_OVER_TLS = {"strict-transport-security": "max-age=31536000"}


class SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                secure(MutableHeaders(scope=message), scope["scheme"])
            await send(message)

        await self._app(scope, receive, send_with_headers)


def secure(headers: MutableHeaders, scheme: str) -> None:
    """Add what is missing. What says nothing of caching isn't to be kept: pages show an organization's affairs."""
    for name, value in {**_ALWAYS, **(_OVER_TLS if scheme == "https" else {})}.items():
        headers.setdefault(name, value)
    headers.setdefault("cache-control", "no-store")
