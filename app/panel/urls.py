"""Addresses of the panel, all relative to the root. Slugs and ids need no quoting; what is typed is quoted."""

from __future__ import annotations

import re
from urllib.parse import urlencode
from uuid import UUID

HOME = "/"
LOGIN = "/login"
LOGOUT = "/logout"
STATIC = "/static"

_LONGEST_NEXT = 1000
# One slash and no second: `//host` and `/\host` are other hosts to a browser, which also drops tabs and newlines.
_LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


def with_query(path: str, **query: str) -> str:
    """Parameters without a value are left out."""
    given = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def login(after: str = "") -> str:
    target = safe_next(after)
    return with_query(LOGIN, next="" if target == HOME else target)


def safe_next(path: str) -> str:
    """The path if it leads to a page of ours, else the start page: whoever made the link must not choose the site."""
    is_ours = len(path) <= _LONGEST_NEXT and _LOCAL_PATH.fullmatch(path)
    return path if is_ours and not path.startswith((LOGIN, LOGOUT)) else HOME


def projects(slug: str, reason: str = "") -> str:
    return with_query(f"/orgs/{slug}/projects", reason=reason)


def workloads(slug: str, **query: str) -> str:
    return with_query(f"/orgs/{slug}/platform/gpu-workloads", **query)


def workloads_live(slug: str, **query: str) -> str:
    return with_query(f"{workloads(slug)}/live", **query)


def reference(slug: str) -> str:
    return f"{workloads(slug)}/reference"


def workload(slug: str, workload_id: UUID) -> str:
    return f"{workloads(slug)}/{workload_id}"


def cancel(slug: str, workload_id: UUID) -> str:
    return f"{workload(slug, workload_id)}/cancel"


def workload_live(slug: str, workload_id: UUID) -> str:
    return f"{workload(slug, workload_id)}/live"


def log(slug: str, workload_id: UUID, **query: str) -> str:
    return with_query(f"{workload(slug, workload_id)}/log", **query)


def servers(slug: str) -> str:
    return f"/orgs/{slug}/platform/servers"
