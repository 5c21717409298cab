"""POST, PUT, PATCH: decode, check, fill in, store."""

from __future__ import annotations

import re
import uuid
from http import HTTPStatus
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from app.simcluster.api import errors
from app.simcluster.api.context import Context
from app.simcluster.api.params import Form, is_dry_run
from app.simcluster.api.patch import JSON_PATCH, MERGE, STRATEGIC, apply_patch
from app.simcluster.api.read import find
from app.simcluster.api.respond import json_object
from app.simcluster.api.table import table
from app.simcluster.api.target import Target
from app.simcluster.api.validate import validate, validate_shape
from app.simcluster.api.validate_update import validate_update
from app.simcluster.defaults import default_job, default_namespace, default_pod, refilled
from app.simcluster.inside.quota import exceeded
from app.simcluster.inside.webhooks import denial, injected
from app.simcluster.meta import Json, is_terminating, stamp, with_meta
from app.simcluster.names import generated_name
from app.simcluster.resources import JOBS, LEASES, NAMESPACES, NODES, PODS, ResourceType
from app.simcluster.store import AlreadyExistsError

JSON = "application/json"
NAME_TRIES = 8
MAX_BODY = 3 * 1024 * 1024
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_SERVER_SIDE = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_NEVER_SET = (*_SERVER_SIDE, "managedFields", "selfLink", "resourceVersion")


async def body_of(request: Request, accepted: tuple[str, ...] = (JSON,)) -> tuple[str, Any]:
    """The media type and the decoded body; an empty body is None."""
    media = request.headers.get("content-type", JSON).partition(";")[0].strip()
    body = await request.body()
    if len(body) > MAX_BODY:
        raise errors.too_large_body(MAX_BODY)
    if not body:
        return media, None
    if media not in accepted:
        raise errors.unsupported_media()
    try:
        return media, orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(f"the body is no JSON: {error}") from None


def shown(context: Context, resource: ResourceType, obj: Json, form: Form, code: int) -> Response:
    if form is Form.TABLE:
        return json_object(table(resource, [obj], context.store.clock(), {}), code)
    return json_object(obj, code)


# POST


async def create(context: Context, target: Target, request: Request, form: Form) -> Response:
    if target.resource.namespaced and not target.namespace:
        raise errors.method_not_allowed()
    _, body = await body_of(request)
    obj = _received(target, body)
    _check_namespace(context, target, obj)
    stored = _create(context, target.resource, obj, dry_run=is_dry_run(request.query_params))
    return shown(context, target.resource, stored, form, HTTPStatus.CREATED)


def _received(target: Target, body: Any) -> Json:
    """The object of the body, if it is one of the kind and place the path names."""
    resource = target.resource
    if not isinstance(body, dict) or not isinstance(body.get("metadata", {}), dict):
        raise errors.bad_request(f"the body is no {resource.kind}")
    for name, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        if body.get(name, expected) != expected:
            wanted = f"expected {resource.api_version}, Kind={resource.kind}"
            raise errors.bad_request(f"{name} {body[name]!r} in the body does not match the path: {wanted}")
    if resource is LEASES:
        _check_times(body.get("spec") or {})
    metadata = {**(body.get("metadata") or {})}
    if target.namespace:
        if metadata.get("namespace") not in {None, "", target.namespace}:
            message = "the namespace of the provided object does not match the namespace sent on the request"
            raise errors.bad_request(message)
        metadata["namespace"] = target.namespace
    elif not resource.namespaced:
        metadata.pop("namespace", None)
    return {**body, "metadata": metadata}


def _check_times(spec: Json) -> None:
    """A MicroTime has six digits of a second or isn't read: whole seconds are a common mistake of clients."""
    for name in ("renewTime", "acquireTime"):
        value = spec.get(name)
        if value is not None and not _MICRO_TIME.fullmatch(str(value)):
            why = f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00"'
            raise errors.bad_request(f'Lease in version "v1" cannot be handled as a Lease: {why}')


def _check_namespace(context: Context, target: Target, obj: Json) -> None:
    if not target.namespace:
        return
    namespace = context.store.get(NAMESPACES, target.namespace)
    if namespace is None:
        raise errors.not_found(NAMESPACES, target.namespace)
    if is_terminating(namespace):
        raise errors.namespace_terminating(target.resource, obj["metadata"].get("name", ""), target.namespace)


def _create(context: Context, resource: ResourceType, obj: Json, *, dry_run: bool) -> Json:
    if obj["metadata"].get("resourceVersion"):
        raise errors.ApiError(500, "", "resourceVersion should not be set on objects to be created")
    kept = {k: v for k, v in obj["metadata"].items() if k not in _NEVER_SET and v not in (None, [], {})}
    obj = {**obj, "metadata": kept}
    prefix = "" if kept.get("name") else kept.get("generateName", "")
    for _ in range(NAME_TRIES):
        named = with_meta(obj, name=generated_name(prefix)) if prefix else obj
        prepared = _prepared(context, resource, named)
        name = prepared["metadata"]["name"]
        if dry_run and context.store.get(resource, Target(resource, kept.get("namespace", ""), name).key) is None:
            return with_meta(prepared, creationTimestamp=stamp(context.store.clock()), uid=str(uuid.uuid4()))
        _check_admission(context, resource, prepared)
        try:
            return context.store.create(resource, prepared)
        except AlreadyExistsError:
            if not prefix:
                break
    raise errors.already_exists(resource, name)


def _check_admission(context: Context, resource: ResourceType, obj: Json) -> None:
    """What comes last before an object is stored: webhooks, policies, quotas."""
    if resource not in {JOBS, PODS}:
        return
    if denied := denial(resource, obj):
        raise errors.denied(resource, obj, denied.code, denied.reason, denied.message)
    if why := exceeded(context.store, context.cluster.index, resource, obj):
        name = obj["metadata"]["name"]
        raise errors.denied(resource, obj, 403, "Forbidden", f'{resource.qualified} "{name}" is forbidden: {why}')


def _prepared(context: Context, resource: ResourceType, obj: Json) -> Json:
    name = str(obj["metadata"].get("name", ""))
    if causes := validate_shape(resource, obj):
        raise errors.invalid(resource, name, causes)
    obj = _defaulted(context, resource, obj)
    if causes := validate(resource, obj):
        raise errors.invalid(resource, name, causes)
    return obj


def _defaulted(context: Context, resource: ResourceType, obj: Json) -> Json:
    if resource is PODS:
        return default_pod(injected(obj), context.settings)
    if resource is JOBS:
        obj["metadata"].setdefault("name", "")
        return default_job(obj, str(uuid.uuid4()))
    if resource is NAMESPACES:
        return default_namespace(obj)
    if resource is NODES:
        return {**obj, "spec": obj.get("spec") or {}, "status": obj.get("status") or {}}
    return obj


# PUT and PATCH


async def replace(context: Context, target: Target, request: Request, form: Form) -> Response:
    _, body = await body_of(request)
    new = _received(target, body)
    if new["metadata"].get("name", target.name) != target.name:
        message = "the name of the object does not match the name on the URL"
        raise errors.bad_request(f"{message} ({new['metadata']['name']} is not {target.name})")
    old = find(context, target).obj
    if target.resource is LEASES and not new["metadata"].get("resourceVersion"):
        causes = [errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")]
        raise errors.invalid(target.resource, target.name, causes)
    stored = _store_update(context, target, old, new, dry_run=is_dry_run(request.query_params))
    return shown(context, target.resource, stored, form, HTTPStatus.OK)


async def patch(context: Context, target: Target, request: Request, form: Form) -> Response:
    media, body = await body_of(request, (JSON_PATCH, MERGE, STRATEGIC))
    old = find(context, target).obj
    new = apply_patch(media, old, body)
    stored = _store_update(context, target, old, new, dry_run=is_dry_run(request.query_params))
    return shown(context, target.resource, stored, form, HTTPStatus.OK)


def _store_update(context: Context, target: Target, old: Json, new: Json, *, dry_run: bool) -> Json:
    resource = target.resource
    _check_versions(resource, old, new)
    if not target.sub:
        if causes := validate_shape(resource, new):
            raise errors.invalid(resource, target.name, causes)
        new = refilled(resource, new, old)
    merged = _with_status_of(old, new) if target.sub else _with_spec_of(resource, old, new)
    if causes := [*validate(resource, merged), *validate_update(resource, merged, old)]:
        raise errors.invalid(resource, target.name, causes)
    return merged if dry_run else context.store.update(resource, merged)


def _check_versions(resource: ResourceType, old: Json, new: Json) -> None:
    name = old["metadata"]["name"]
    version, uid = new["metadata"].get("resourceVersion"), new["metadata"].get("uid")
    if uid and uid != old["metadata"]["uid"]:
        raise errors.other_uid(resource, old, uid)
    if version and version != old["metadata"]["resourceVersion"]:
        raise errors.conflict(resource, name)


def _with_spec_of(resource: ResourceType, old: Json, new: Json) -> Json:
    """The new object with what only the server or the status subresource may set taken from the old one."""
    metadata = {k: v for k, v in new["metadata"].items() if v not in (None, [], {})}
    metadata.pop("managedFields", None)
    fixed = {"name", "namespace", "resourceVersion", *_SERVER_SIDE}
    kept = {name: old["metadata"][name] for name in fixed if name in old["metadata"]}
    metadata = {name: value for name, value in metadata.items() if name not in fixed}
    merged = {**new, "metadata": {**kept, **metadata}}
    if "status" in old:
        merged["status"] = old["status"]
    if resource is NODES:
        merged["spec"] = new.get("spec") or {}
    return merged


def _with_status_of(old: Json, new: Json) -> Json:
    return {**old, "status": new.get("status") or {}}
