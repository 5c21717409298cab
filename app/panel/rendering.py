"""Contexts to text. One environment for the process: templates come from the package, escape everything, and fail on a
name that their context lacks.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import cache
from pathlib import Path
from uuid import uuid4

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from app.domain.wording import gpus
from app.panel import urls, wording
from app.panel.contexts import Context

STATIC_FOLDER = Path(__file__).parents[1] / "static"


def render(context: Context) -> str:
    values = {field.name: getattr(context, field.name) for field in fields(context)}
    return environment().get_template(context.template).render(values)


def html(context: Context, status: int = 200) -> HTMLResponse:
    return HTMLResponse(render(context), status)


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("app", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        ago=wording.ago,
        span=wording.span,
        exact=wording.exact,
        iso=wording.iso,
        clock_time=wording.clock_time,
        short_id=wording.short_id,
        sentence=wording.sentence,
        gpus=gpus,
    )
    made.globals.update(urls=urls, static=static_url, request_key=lambda: uuid4().hex)
    return made


@cache
def static_url(name: str) -> str:
    """With a digest of the file, so that browsers keep it for good and still get the next one."""
    digest = hashlib.sha256((STATIC_FOLDER / name).read_bytes()).hexdigest()[:12]
    return f"{urls.STATIC}/{name}?v={digest}"
