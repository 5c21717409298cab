"""The simulation's own endpoints under /simcluster/: faults, and what may happen to nodes. Same token as the rest."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from app.simcluster.api import errors
from app.simcluster.api.context import Context
from app.simcluster.api.respond import json_object
from app.simcluster.api.write import body_of
from app.simcluster.inside.eviction import evict
from app.simcluster.inside.nodestate import NodeState, devices_of
from app.simcluster.meta import Json, is_terminal_pod
from app.simcluster.resources import ALL, NODES, PODS

_FAULTS = "/simcluster/faults"
_NODES = "/simcluster/nodes/"


async def admin(context: Context, request: Request) -> Response:
    path, method = request.scope["path"], request.method
    if path == "/simcluster/status" and method == "GET":
        return json_object(_status(context))
    if path == _FAULTS and method in {"GET", "PUT"}:
        return await _faults(context, request)
    if path.startswith(_NODES) and method in {"GET", "POST"}:
        name, *action = path.removeprefix(_NODES).split("/")
        return _node(context, name, action if method == "POST" else [], request)
    raise errors.NoSuchPathError


def _status(context: Context) -> Json:
    counts = {resource.plural: context.store.count(resource) for resource in ALL}
    return {"revision": context.store.revision, "objects": counts, "faults": asdict(context.faults)}


async def _faults(context: Context, request: Request) -> Response:
    if request.method == "PUT":
        _, body = await body_of(request)
        if not isinstance(body, dict):
            raise errors.bad_request("the body must be an object of faults")
        try:
            context.faults = context.faults.changed(body)
        except (TypeError, ValueError) as error:
            raise errors.bad_request(str(error)) from None
        if body.get("expire_watches"):
            context.store.expire_histories()
            context.pages.forget_all()
        if body.get("drop_watches"):
            context.streams.drop()
    return json_object(asdict(context.faults))


def _node(context: Context, name: str, action: list[str], request: Request) -> Response:
    node = context.store.get(NODES, name)
    if node is None:
        raise errors.not_found(NODES, name)
    match action:
        case []:
            pass
        case ["lost"]:
            back = request.query_params.get("back_seconds")
            context.cluster.nodes.lose(name, float(back) if back else None)
        case ["back"]:
            context.cluster.nodes.bring_back(name)
        case ["drain"]:
            _drain(context, name)
        case ["gpu-unhealthy" | "gpu-healthy" as word, device] if device in devices_of(node):
            context.cluster.nodes.set_device(name, device, healthy=word == "gpu-healthy")
        case _:
            raise errors.NoSuchPathError
    return json_object(_node_facts(context, name, node))


def _drain(context: Context, name: str) -> None:
    """Cordon the node and evict its pods, as `kubectl drain` does."""
    store = context.store
    node = store.get(NODES, name)
    if node is None:
        return
    store.update(NODES, {**node, "spec": {**node["spec"], "unschedulable": True}})

    for pod in [pod for pod in store.objects(PODS) if pod["spec"].get("nodeName") == name and not is_terminal_pod(pod)]:
        evict(store, pod, None)


def _node_facts(context: Context, name: str, node: Json) -> Json:
    state = NodeState.of(context.store, name)
    devices = [{"uuid": item, "healthy": item not in state.unhealthy} for item in devices_of(node)]
    return {"name": name, "lost": state.lost_since is not None, "gpus": devices}
