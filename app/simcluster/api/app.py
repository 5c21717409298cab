"""The ASGI application: who may ask, which faults strike, and which handler answers."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from functools import cache, partial
from http import HTTPStatus

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from app.simcluster.api import discovery, errors
from app.simcluster.api.admin import admin
from app.simcluster.api.context import Context
from app.simcluster.api.delete import delete, delete_collection
from app.simcluster.api.params import Form, flag, form_of, list_params
from app.simcluster.api.podlog import get_log
from app.simcluster.api.podsub import create_binding, create_eviction
from app.simcluster.api.read import get_object, list_or_watch
from app.simcluster.api.respond import json_object
from app.simcluster.api.target import Target, parse_target
from app.simcluster.api.write import body_of, create, patch, replace
from app.simcluster.faults import Faults
from app.simcluster.meta import Json, http_date

log = structlog.get_logger(__name__)

_HEALTH = {"/healthz", "/readyz", "/livez"}
_ROOTS = ("/version", "/api", "/apis", "/openapi")
_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_BAD_GATEWAY = "<html><body><h1>502 Bad Gateway</h1></body></html>"


class Api:
    """Called by uvicorn for each request."""

    def __init__(self, context: Context, token: str) -> None:
        self.context = context
        self._bearer = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except errors.NoSuchPathError as error:
            response = PlainTextResponse(f"{error}\n", error.code)
        except errors.ApiError as error:
            response = json_object(error.status(), error.code, error.headers)
        except ClientDisconnect:
            return
        except Exception:  # the edge of a request: the client gets a Status, the log the trace
            log.exception("simcluster: a request failed", path=scope["path"])
            response = json_object(errors.internal("unexpected error").status(), HTTPStatus.INTERNAL_SERVER_ERROR)
        response.headers["date"] = http_date(int(self.context.store.clock()))  # the cluster's, which may differ
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["path"].rstrip("/") or "/"
        if path in _HEALTH:
            return PlainTextResponse("ok")
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), self._bearer):
            raise errors.unauthorized()
        if path.startswith("/simcluster/"):
            return await admin(self.context, request)
        if struck := await strike(self.context.faults):
            return struck
        if path == "/" or not path.startswith(_ROOTS):
            raise errors.NoSuchPathError
        if path == _ACCESS and request.method == "POST":
            return await review_access(request)
        return discover(path, request.headers.get("accept", "")) or await self._resource(path, request)

    async def _resource(self, path: str, request: Request) -> Response:
        target = parse_target(path)
        if target.sub not in {"", "status"}:
            return await _subresource(self.context, target, request)
        form = form_of(request.headers.get("accept", ""))
        return await _verb(self.context, target, request, form)


async def _verb(context: Context, target: Target, request: Request, form: Form) -> Response:
    method, named = request.method, bool(target.name)
    if method == "GET":
        return _get(context, target, request, form)
    if method == "DELETE" and not target.sub:
        return await (delete if named else delete_collection)(context, target, request, form)
    handler = _WRITES.get((method, named))
    if handler is None:
        raise errors.method_not_allowed()
    return await handler(context, target, request, form)


_Write = Callable[[Context, Target, Request, Form], Awaitable[Response]]
_WRITES: dict[tuple[str, bool], _Write] = {("POST", False): create, ("PUT", True): replace, ("PATCH", True): patch}


def _get(context: Context, target: Target, request: Request, form: Form) -> Response:
    if target.name and not flag(request.query_params, "watch"):
        return get_object(context, target, form)
    return list_or_watch(context, target, list_params(target, request.query_params), form)


async def _subresource(context: Context, target: Target, request: Request) -> Response:
    match target.sub, request.method:
        case "log", "GET":
            return get_log(context, target, request.query_params)
        case "eviction", "POST":
            return await create_eviction(context, target, request)
        case "binding", "POST":
            return await create_binding(context, target, request)
    raise errors.method_not_allowed()


async def review_access(request: Request) -> Response:
    """May I? Whoever has the token may do everything."""
    _, body = await body_of(request)
    if not isinstance(body, dict):
        raise errors.bad_request("the body is no SelfSubjectAccessReview")
    return json_object({**body, "status": {"allowed": True}}, HTTPStatus.CREATED)


async def strike(faults: Faults) -> Response | None:
    if faults.latency_ms:
        await asyncio.sleep(faults.latency_ms / 1000)
    match faults.strike():
        case HTTPStatus.TOO_MANY_REQUESTS:
            raise errors.too_many_requests()
        case HTTPStatus.INTERNAL_SERVER_ERROR:
            raise errors.internal("simulated fault")
        case HTTPStatus.BAD_GATEWAY:
            return Response(_BAD_GATEWAY, HTTPStatus.BAD_GATEWAY, media_type="text/html")
    return None


def discover(path: str, accept: str) -> Response | None:
    """The documents about the API itself; None: the path is about objects."""
    roots = {"/api": [""], "/apis": discovery.groups()}
    if path in roots and _wants_aggregated(accept):
        response = json_object(discovery.aggregated(roots[path]))
        response.headers["content-type"] = f"application/json;g={discovery.AGGREGATED};v=v2;as=APIGroupDiscoveryList"
        return response
    make = _documents().get(path)
    return json_object(make()) if make else None


@cache
def _documents() -> dict[str, Callable[[], Json]]:
    documents: dict[str, Callable[[], Json]] = {
        "/version": discovery.version,
        "/api": discovery.core_versions,
        "/apis": discovery.group_list,
        "/openapi/v3": discovery.openapi_root,
    }
    for name in discovery.groups():
        documents[f"/apis/{name}"] = partial(discovery.group, name)
    for name in ("", *discovery.groups()):
        root = discovery.root_of(name)
        documents[f"/{root}"] = partial(discovery.resource_list, name)
        documents[f"/openapi/v3/{root}"] = partial(discovery.openapi, name)
    return documents


def _wants_aggregated(accept: str) -> bool:
    """Clients that know only the beta form get the older documents."""
    return "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" in accept.replace(" ", "")
