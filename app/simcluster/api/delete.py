"""DELETE of one object or of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.simcluster.api import errors
from app.simcluster.api.context import Context
from app.simcluster.api.params import Form, is_dry_run, list_params, whole
from app.simcluster.api.read import find
from app.simcluster.api.respond import json_object
from app.simcluster.api.target import Target
from app.simcluster.api.write import body_of, shown
from app.simcluster.inside.deletion import Deleted, delete_object
from app.simcluster.meta import Json
from app.simcluster.resources import JOBS, PODS, ResourceType
from app.simcluster.store import matching

_POLICIES = ("Foreground", "Background", "Orphan")
_ORPHAN_WARNING = (
    '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove'
    ' them or set propagationPolicy=Orphan to suppress this warning"'
)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    policy: str  # empty: the kind's own default
    grace: int | None
    uid: str
    resource_version: str
    dry_run: bool

    def policy_for(self, resource: ResourceType) -> str:
        """Jobs are the exception that surprises people: batch/v1 orphans its pods."""
        return self.policy or ("Orphan" if resource is JOBS else "Background")


async def options_of(request: Request) -> DeleteOptions:
    _, body = await body_of(request)
    if body is not None and not isinstance(body, dict):
        raise errors.bad_request("the body is no DeleteOptions")
    return _options(body or {}, request)


def _options(body: Json, request: Request) -> DeleteOptions:
    query = request.query_params
    policy = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
    orphan: Any = body.get("orphanDependents", query.get("orphanDependents"))
    if orphan is not None and not policy:
        policy = "Orphan" if str(orphan).lower() == "true" else "Background"
    if policy and policy not in _POLICIES:
        raise errors.invalid_options(
            "DeleteOptions", errors.unsupported_value("propagationPolicy", policy, [*_POLICIES, "nil"])
        )
    grace = body.get("gracePeriodSeconds")
    conditions = body.get("preconditions") or {}
    return DeleteOptions(
        policy,
        whole(query, "gracePeriodSeconds") if grace is None else int(grace),
        conditions.get("uid") or "",
        conditions.get("resourceVersion") or "",
        is_dry_run(query) or body.get("dryRun") == ["All"],
    )


async def delete(context: Context, target: Target, request: Request, form: Form) -> Response:
    options = await options_of(request)
    obj = find(context, target).obj
    _check_preconditions(target.resource, obj, options)
    deleted = _delete(context, target.resource, obj, options)
    headers = {"Warning": _ORPHAN_WARNING} if target.resource is JOBS and not options.policy else None
    if deleted.gone and target.resource is not PODS:
        return json_object(errors.success(target.resource, obj), headers=headers)
    response = shown(context, target.resource, deleted.obj, form, HTTPStatus.OK)
    response.headers.update(headers or {})
    return response


async def delete_collection(context: Context, target: Target, request: Request, _form: Form) -> Response:
    options = await options_of(request)
    params = list_params(target, request.query_params)
    entries = matching(context.store.entries(target.resource), params.selector.accepts)
    with context.store.batch():
        items = [_delete(context, target.resource, entry.obj, options).obj for entry in entries]
    kind = f"{target.resource.kind}List"
    metadata = {"resourceVersion": str(context.store.revision)}
    return json_object({"kind": kind, "apiVersion": target.resource.api_version, "metadata": metadata, "items": items})


def _delete(context: Context, resource: ResourceType, obj: Json, options: DeleteOptions) -> Deleted:
    if options.dry_run:
        return Deleted(obj, gone=True)
    return delete_object(context.store, resource, obj, options.policy_for(resource), options.grace)


def _check_preconditions(resource: ResourceType, obj: Json, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    if options.uid and options.uid != metadata["uid"]:
        raise errors.other_uid(resource, obj, options.uid)
    if options.resource_version and options.resource_version != metadata["resourceVersion"]:
        raise errors.conflict(resource, metadata["name"])
