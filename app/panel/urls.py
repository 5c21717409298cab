"""Addresses of the panel, all relative to the root. Slugs and ids need no quoting; what is typed is quoted."""

from __future__ import annotations

import re
from urllib.parse import urlencode
from uuid import UUID

from app.domain.actions import DEPRECATED, Action

HOME = "/"
LOGIN = "/login"
LOGOUT = "/logout"
STATIC = "/static"

# As routes read them.
ORGANIZATION = "/orgs/{org}"
PROJECTS = f"{ORGANIZATION}/projects"
QUOTA = PROJECTS + "/{id:uuid}/quota"
SERVERS = f"{ORGANIZATION}/platform/servers"
CORDON = SERVERS + "/{id:uuid}/cordon"
UNCORDON = SERVERS + "/{id:uuid}/uncordon"
USAGE = f"{ORGANIZATION}/platform/usage"
USAGE_FILE = f"{USAGE}.csv"
GPU = f"{ORGANIZATION}/platform/gpus/" + "{id:uuid}"
GPU_CURVES = f"{GPU}/curves"
WORKLOADS = f"{ORGANIZATION}/platform/gpu-workloads"
WORKLOADS_LIVE = f"{WORKLOADS}/live"
REFERENCE = f"{WORKLOADS}/reference"
CHECK = f"{WORKLOADS}/check"
WORKLOAD = WORKLOADS + "/{id:uuid}"
ACTIONS = {action: f"{WORKLOAD}/{action}" for action in Action if action not in DEPRECATED}
WORKLOAD_LIVE = f"{WORKLOAD}/live"
CURVES = f"{WORKLOAD}/curves"
LOG = f"{WORKLOAD}/log"
LOG_FILE = f"{WORKLOAD}/log.txt"

_LONGEST_NEXT = 1000
# One slash and no second: `//host` and `/\host` are other hosts to a browser, which also drops tabs and newlines.
_LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


def with_query(path: str, **query: str) -> str:
    """Parameters without a value are left out."""
    given = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def with_have(url: str, digest: str) -> str:
    """To ask for a page again that shows what `digest` names."""
    return f"{url}{'&' if '?' in url else '?'}have={digest}"


def _at(route: str, slug: str, id_: UUID | None = None) -> str:
    return route.replace("{id:uuid}", str(id_)).replace("{org}", slug)


def login(after: str = "") -> str:
    target = safe_next(after)
    return with_query(LOGIN, next="" if target == HOME else target)


def safe_next(path: str) -> str:
    """The path if it leads to a page of ours, else the start page: whoever made the link must not choose the site."""
    is_ours = len(path) <= _LONGEST_NEXT and _LOCAL_PATH.fullmatch(path)
    return path if is_ours and not path.startswith((LOGIN, LOGOUT)) else HOME


def projects(slug: str, reason: str = "") -> str:
    return with_query(_at(PROJECTS, slug), reason=reason)


def quota(slug: str, project_id: UUID) -> str:
    return _at(QUOTA, slug, project_id)


def workloads(slug: str, **query: str) -> str:
    return with_query(_at(WORKLOADS, slug), **query)


def workloads_live(slug: str, **query: str) -> str:
    return with_query(_at(WORKLOADS_LIVE, slug), **query)


def reference(slug: str) -> str:
    return _at(REFERENCE, slug)


def check(slug: str) -> str:
    return _at(CHECK, slug)


def workload(slug: str, workload_id: UUID) -> str:
    return _at(WORKLOAD, slug, workload_id)


def action(slug: str, workload_id: UUID, asked: Action) -> str:
    return _at(ACTIONS[asked], slug, workload_id)


def workload_live(slug: str, workload_id: UUID) -> str:
    return _at(WORKLOAD_LIVE, slug, workload_id)


def curves(slug: str, workload_id: UUID, **query: str) -> str:
    return with_query(_at(CURVES, slug, workload_id), **query)


def log(slug: str, workload_id: UUID, **query: str) -> str:
    return with_query(_at(LOG, slug, workload_id), **query)


def log_file(slug: str, workload_id: UUID, **query: str) -> str:
    return with_query(_at(LOG_FILE, slug, workload_id), **query)


def servers(slug: str, **query: str) -> str:
    return with_query(_at(SERVERS, slug), **query)


def cordon(slug: str, server_id: UUID, **query: str) -> str:
    return with_query(_at(CORDON, slug, server_id), **query)


def usage(slug: str, **query: str) -> str:
    return with_query(_at(USAGE, slug), **query)


def usage_file(slug: str, **query: str) -> str:
    return with_query(_at(USAGE_FILE, slug), **query)


def uncordon(slug: str, server_id: UUID, **query: str) -> str:
    return with_query(_at(UNCORDON, slug, server_id), **query)


def gpu(slug: str, gpu_id: UUID, **query: str) -> str:
    return with_query(_at(GPU, slug, gpu_id), **query)


def gpu_curves(slug: str, gpu_id: UUID, **query: str) -> str:
    return with_query(_at(GPU_CURVES, slug, gpu_id), **query)
