"""The simulation's own endpoints under /simcluster/: faults, what may happen to nodes, ends. Same token as the rest."""

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
from app.simcluster.meta import Json, is_terminal_pod, name_of
from app.simcluster.resources import ALL, NODES, PODS

_FAULTS = "/simcluster/faults"
_NODES = "/simcluster/nodes"
_PODS = "/simcluster/pods/"
_MAX_CODE = 255


async def admin(context: Context, request: Request) -> Response:
    path, method = request.scope["path"], request.method
    if path == "/simcluster/status" and method == "GET":
        return json_object(_status(context))
    if path == _FAULTS and method in {"GET", "PUT"}:
        return await _faults(context, request)
    if path == _NODES and method == "GET":
        nodes = context.store.objects(NODES)
        return json_object({"nodes": [_node_facts(context, name_of(node), node) for node in nodes]})
    if path.startswith(f"{_NODES}/") and method in {"GET", "POST"}:
        name, *action = path.removeprefix(f"{_NODES}/").split("/")
        return _node(context, name, action if method == "POST" else [], request)
    if path.startswith(_PODS) and method == "POST":
        return _pod(context, path.removeprefix(_PODS).split("/"), request)
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
        case ["gpu-unhealthy" | "gpu-healthy" as word, device] if device in _devices(node):
            context.cluster.nodes.set_device(name, device, healthy=word == "gpu-healthy")
        case _:
            raise errors.NoSuchPathError
    return json_object(_node_facts(context, name, node))


def _pod(context: Context, words: list[str], request: Request) -> Response:
    match words:
        case [namespace, name, "exit"]:
            return json_object(_exit(context, namespace, name, request.query_params.get("code", "0")))
    raise errors.NoSuchPathError


def _exit(context: Context, namespace: str, name: str, code: str) -> Json:
    if not (code.isascii() and code.isdecimal() and int(code) <= _MAX_CODE):
        raise errors.bad_request(f"code must be a whole number from 0 to {_MAX_CODE}, not {code!r}")
    pod = context.store.get(PODS, f"{namespace}/{name}")
    if pod is None:
        raise errors.not_found(PODS, name)
    if (phase := pod["status"]["phase"]) != "Running":
        raise errors.conflict(PODS, name, f"only a pod that is Running can be told to exit, this one is {phase}")
    context.cluster.kubelet.exit(pod, int(code))
    return {"namespace": namespace, "name": name, "code": int(code)}


def _drain(context: Context, name: str) -> None:
    """Cordon the node and evict its pods, as `kubectl drain` does."""
    store = context.store
    node = store.get(NODES, name)
    if node is None:
        return
    store.update(NODES, {**node, "spec": {**node["spec"], "unschedulable": True}})

    for pod in [pod for pod in store.objects(PODS) if pod["spec"].get("nodeName") == name and not is_terminal_pod(pod)]:
        evict(store, pod, None)


def _devices(node: Json) -> list[str]:
    return [device for ids in devices_of(node).values() for device in ids]


def _node_facts(context: Context, name: str, node: Json) -> Json:
    state = NodeState.of(context.store, name)
    devices = [{"uuid": item, "healthy": item not in state.unhealthy} for item in _devices(node)]
    return {"name": name, "lost": state.lost_since is not None, "gpus": devices}
