"""Query parameters and headers that say what form of answer is asked for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.simcluster.api.errors import ApiError, bad_request, forbidden_value, invalid_options, not_acceptable
from app.simcluster.api.selectors import Selector
from app.simcluster.api.target import Target
from app.simcluster.facts import known_fields

_MATCHES = ("", "NotOlderThan", "Exact")


class Form(StrEnum):
    OBJECT = "object"
    TABLE = "table"


def form_of(accept: str) -> Form:
    """The first form of the Accept header that can be served. There is no protobuf here."""
    for choice in (accept or "*/*").split(","):
        media, *options = [part.strip() for part in choice.split(";")]
        wanted = dict(option.partition("=")[::2] for option in options)
        if media not in {"application/json", "application/*", "*/*"}:
            continue
        kind = wanted.get("as", "")
        if kind == "Table" and wanted.get("v") == "v1":
            return Form.TABLE
        if not kind:
            return Form.OBJECT
    raise not_acceptable()


@dataclass(frozen=True, slots=True)
class ListParams:
    selector: Selector
    resource_version: str
    match: str
    limit: int
    token: str
    watch: bool
    timeout: float | None
    bookmarks: bool
    initial_events: bool


def list_params(target: Target, query: Mapping[str, str]) -> ListParams:
    known = known_fields(target.resource)
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    if target.name:
        fields = f"{fields},metadata.name={target.name}"
    params = ListParams(
        selector=Selector(target.namespace, labels, fields, known),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        limit=whole(query, "limit") or 0,
        token=query.get("continue", ""),
        watch=flag(query, "watch"),
        timeout=whole(query, "timeoutSeconds"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial_events=flag(query, "sendInitialEvents"),
    )
    _check(params)
    return params


def _check(params: ListParams) -> None:
    version = params.resource_version
    if version and not version.isdecimal():
        raise bad_request(f'resourceVersion: Invalid value: "{version}": must be a whole number')
    if params.match not in _MATCHES:
        raise _forbidden(f'Unsupported value: "{params.match}"')
    if params.match and params.token:
        raise _forbidden("resourceVersionMatch is forbidden when continue is provided")
    if params.match and not params.watch and not version:
        raise _forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if params.match == "Exact" and version == "0":
        raise _forbidden('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"')
    if params.token and version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    if params.initial_events and not (params.watch and params.match == "NotOlderThan"):
        raise _forbidden("sendInitialEvents requires watch and resourceVersionMatch NotOlderThan")


def _forbidden(why: str) -> ApiError:
    return invalid_options("ListOptions", forbidden_value("resourceVersionMatch", why))


def flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "") in {"1", "true", "True"}


def whole(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdecimal():
        raise bad_request(f'{name}: Invalid value: "{text}": must be a whole number')
    return int(text)


def is_dry_run(query: Mapping[str, str]) -> bool:
    value = query.get("dryRun")
    if value not in {None, "", "All"}:
        raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return value == "All"
