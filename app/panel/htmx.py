"""htmx's request headers, typed. Of htmx 4: `HX-Trigger` is no request header any more, `HX-Request-Type` is new."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request


@dataclass(frozen=True)
class Htmx:
    """`wants_fragment` is False for a boosted or restored page: those are answered with the whole page."""

    is_htmx: bool
    wants_fragment: bool

    @classmethod
    def of(cls, request: Request) -> Htmx:
        is_htmx = request.headers.get("hx-request") == "true"
        return cls(is_htmx, is_htmx and request.headers.get("hx-request-type") != "full")
