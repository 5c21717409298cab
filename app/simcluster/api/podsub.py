"""The subresources of a pod that are not parts of its document: eviction and binding."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from app.simcluster.api import errors
from app.simcluster.api.context import Context
from app.simcluster.api.params import is_dry_run
from app.simcluster.api.read import find
from app.simcluster.api.respond import json_object
from app.simcluster.api.target import Target
from app.simcluster.api.write import body_of
from app.simcluster.inside.eviction import evict
from app.simcluster.inside.scheduler import bound_pod
from app.simcluster.meta import Json, node_of
from app.simcluster.resources import NODES, PODS

_CREATED: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def create_eviction(context: Context, target: Target, request: Request) -> Response:
    _, body = await body_of(request)
    if not isinstance(body, dict):
        raise errors.bad_request("the body is no Eviction")
    pod = find(context, target).obj
    grace = (body.get("deleteOptions") or {}).get("gracePeriodSeconds")
    if not is_dry_run(request.query_params):
        evict(context.store, pod, grace)
    return json_object(_CREATED, HTTPStatus.CREATED)


async def create_binding(context: Context, target: Target, request: Request) -> Response:
    _, body = await body_of(request)
    name = ((body or {}).get("target") or {}).get("name") if isinstance(body, dict) else None
    if not name:
        raise errors.bad_request("a Binding must name its target node")
    pod = find(context, target).obj
    if node_of(pod):
        why = f"pod {target.name} is already assigned to node {node_of(pod)!r}"
        raise errors.conflict(PODS, target.name, why)
    if context.store.get(NODES, name) is None:
        raise errors.not_found(NODES, name)
    context.store.update(PODS, bound_pod(pod, name, context.store.clock()))
    return json_object(_CREATED, HTTPStatus.CREATED)
