"""GET: one object, a list, a page of a list, a watch."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from app.simcluster.api.context import Context
from app.simcluster.api.errors import expired, not_found, too_large_version
from app.simcluster.api.pages import Page
from app.simcluster.api.params import Form, ListParams
from app.simcluster.api.respond import json_bytes, json_object
from app.simcluster.api.table import table
from app.simcluster.api.target import Target
from app.simcluster.api.watch import Watcher
from app.simcluster.meta import Json
from app.simcluster.resources import ResourceType
from app.simcluster.store import Entry, matching


def get_object(context: Context, target: Target, form: Form) -> Response:
    entry = find(context, target)
    if form is Form.TABLE:
        return json_object(table(target.resource, [entry.obj], context.store.clock(), {}))
    return json_bytes(entry.body)


def find(context: Context, target: Target) -> Entry:
    entry = context.store.entry(target.resource, target.key)
    if entry is None:
        raise not_found(target.resource, target.name)
    return entry


def list_or_watch(context: Context, target: Target, params: ListParams, form: Form) -> Response:
    if params.watch:
        watcher = Watcher(context.store, context.settings, target.resource, params, form)
        return watcher.response(context.streams)
    page = _page(context, target.resource, params)
    metadata = _metadata(page, params)
    if form is Form.TABLE:
        objects = [entry.obj for entry in page.entries]
        return json_object(table(target.resource, objects, context.store.clock(), metadata))
    return json_bytes(_list_body(target.resource, page, metadata))


def _page(context: Context, resource: ResourceType, params: ListParams) -> Page:
    if params.token:
        return context.pages.next(params.token, params.limit)
    revision = context.store.revision
    if params.resource_version and int(params.resource_version) > revision:
        raise too_large_version(int(params.resource_version), revision)
    if params.match == "Exact" and int(params.resource_version) != revision:
        raise expired(f"The resourceVersion {params.resource_version} is not kept any more")
    entries = matching(context.store.entries(resource), params.selector.accepts)
    return context.pages.first(entries, revision, params.limit)


def _metadata(page: Page, params: ListParams) -> Json:
    metadata: Json = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
        if not params.selector.narrows:
            metadata["remainingItemCount"] = page.remaining
    return metadata


def _list_body(resource: ResourceType, page: Page, metadata: Json) -> bytes:
    """The stored bytes of each object, joined: nothing is encoded again."""
    head = orjson.dumps({"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata})
    return b'%b,"items":[%b]}' % (head[:-1], b",".join(entry.item(resource) for entry in page.entries))
