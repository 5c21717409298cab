"""GET of a container's log, as it is or followed to the container's end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from starlette.responses import Response, StreamingResponse

from app.simcluster.api import errors
from app.simcluster.api.context import Context
from app.simcluster.api.params import flag, whole
from app.simcluster.api.read import find
from app.simcluster.api.streams import Stream
from app.simcluster.api.target import Target
from app.simcluster.inside.logs import LogScript
from app.simcluster.inside.nodestate import NodeState, address_of
from app.simcluster.inside.run import PodRun
from app.simcluster.inside.timeline import Ended, Running, Waiting, container_at
from app.simcluster.meta import Json, is_terminal_pod, is_terminating, node_of, parse_stamp, uid_of
from app.simcluster.resources import PODS

_PULLING = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}
CHUNK_LINES = 1000
GLANCE_SECONDS = 0.5  # a followed log looks at its pod at least this often


@dataclass(frozen=True, slots=True)
class LogParams:
    container: str
    follow: bool
    previous: bool
    timestamps: bool
    tail: int | None
    since: float | None
    limit: int | None


def log_params(query: Mapping[str, str], now: float) -> LogParams:
    since_seconds, since_time = whole(query, "sinceSeconds"), query.get("sinceTime")
    if since_seconds is not None and since_time:
        raise errors.bad_request("at most one of `sinceTime` or `sinceSeconds` may be specified")
    try:
        since = parse_stamp(since_time) if since_time else None
    except ValueError:
        raise errors.bad_request(f"sinceTime: Invalid value: {since_time!r}") from None
    return LogParams(
        query.get("container", ""),
        flag(query, "follow"),
        flag(query, "previous"),
        flag(query, "timestamps"),
        whole(query, "tailLines"),
        now - since_seconds if since_seconds is not None else since,
        whole(query, "limitBytes"),
    )


def get_log(context: Context, target: Target, query: Mapping[str, str]) -> Response:
    params = log_params(query, context.store.clock())
    pod = find(context, target).obj
    container = _container(pod, params.container)
    if not node_of(pod):
        return Response(status_code=HTTPStatus.NO_CONTENT)
    _check_node(context, pod)
    script = _script(context, pod, container, previous=params.previous)
    if _is_dropped(context, pod):
        return Response(f"unable to retrieve container logs for containerd://{uid_of(pod)}", media_type="text/plain")
    return StreamingResponse(_body(context, pod, container, script, params), media_type="text/plain")


def _check_node(context: Context, pod: Json) -> None:
    """The API server asks the pod's kubelet, which a lost node doesn't have."""
    name = node_of(pod)
    if NodeState.of(context.store, name).lost_since is not None:
        address = f"{address_of(name)}:10250"
        path = f"/containerLogs/{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        raise errors.internal(f'Get "https://{address}{path}": dial tcp {address}: connect: no route to host')


def _is_dropped(context: Context, pod: Json) -> bool:
    """A kubelet removes the container of a deleted pod within a second of its end, though a finalizer hold the pod; of
    a pod that is deleted afterwards, when it next looks. It says so with the status of a success.
    """
    if not (is_terminating(pod) and is_terminal_pod(pod)):
        return False
    run = context.cluster.kubelet.run_of(pod)
    was_deleted_before = run is not None and run.stop is not None and run.stop.deleted
    deleted_at = parse_stamp(pod["metadata"]["deletionTimestamp"])
    return was_deleted_before or context.store.clock() >= deleted_at + context.settings.log_seconds


def _container(pod: Json, name: str) -> Json:
    containers: list[Json] = pod["spec"]["containers"]
    names = [item["name"] for item in containers]
    pod_name = pod["metadata"]["name"]
    if not name and len(containers) > 1:
        choices = " ".join(names)
        raise errors.bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{choices}]")
    found = next((item for item in containers if item["name"] == (name or names[0])), None)
    if found is None:
        raise errors.bad_request(f"container {name} is not valid for pod {pod_name}")
    return found


def _script(context: Context, pod: Json, container: Json, *, previous: bool) -> LogScript:
    run = context.cluster.kubelet.run_of(pod)
    where = f'container "{container["name"]}" in pod "{pod["metadata"]["name"]}"'
    if run is None:
        why = "is not available" if is_terminal_pod(pod) else "is waiting to start: ContainerCreating"
        raise errors.bad_request(f"{where} {why}")
    behaviour = context.cluster.kubelet.behaviour(pod, container["name"])
    last = run.try_of(container["name"]).last
    if previous:
        if last is None or last.started is None:
            raise errors.bad_request(f"previous terminated {where} not found")
        return LogScript.of(behaviour, last.started, last.finished)
    match _state(context, pod, container, run):
        case Waiting(reason):
            why = "trying and failing to pull image" if reason in _PULLING else reason
            raise errors.bad_request(f"{where} is waiting to start: {why}")
        case Running(started):
            return LogScript.of(behaviour, started, None)
        case Ended(started=None):
            raise errors.bad_request(f"{where} is not available")
        case Ended(reason="StartError", started=started, finished=finished):
            return LogScript((), 0, started or 0.0, 0.0, finished)
        case Ended(started=started, finished=finished):
            return LogScript.of(behaviour, started or 0.0, finished)


def _state(context: Context, pod: Json, container: Json, run: PodRun) -> Waiting | Running | Ended:
    name = container["name"]
    current = run.try_of(name)
    behaviour = context.cluster.kubelet.behaviour(pod, name)
    stop = run.stop.stop if run.stop else None
    now = context.store.clock()
    return container_at(container, behaviour, current.since, stop, now, context.settings).state


async def _body(
    context: Context, pod: Json, container: Json, script: LogScript, params: LogParams
) -> AsyncIterator[bytes]:
    left = params.limit
    with context.streams.open() as stream:
        async for chunk in _chunks(context, pod, container, script, params, stream):
            yield chunk if left is None else chunk[:left]
            if left is not None:
                left -= len(chunk)
                if left <= 0:
                    return


async def _chunks(
    context: Context, pod: Json, container: Json, script: LogScript, params: LogParams, stream: Stream
) -> AsyncIterator[bytes]:
    now = context.store.clock()
    index = _first_line(script, params, now)
    while True:
        written = script.written(now)
        for chunk in _lines(script, index, written, timestamps=params.timestamps):
            yield chunk
        index = max(index, written)
        if not params.follow or script.end is not None or stream.is_over():
            return
        await stream.wait(_pause(script, now))
        now = context.store.clock()
        script = _looked_again(context, pod, container, script)


def _first_line(script: LogScript, params: LogParams, now: float) -> int:
    since = 0 if params.since is None else script.first_since(params.since, now)
    tail = 0 if params.tail is None else script.written(now) - params.tail
    return max(0, since, tail)


def _lines(script: LogScript, first: int, end: int, *, timestamps: bool) -> Iterator[bytes]:
    for at in range(first, end, CHUNK_LINES):
        lines = range(at, min(end, at + CHUNK_LINES))
        yield b"".join(script.line(index, timestamps=timestamps) for index in lines)


def _pause(script: LogScript, now: float) -> float:
    upcoming = script.next_moment(now)
    return GLANCE_SECONDS if upcoming is None else min(GLANCE_SECONDS, max(0.0, upcoming - now))


def _looked_again(context: Context, pod: Json, container: Json, script: LogScript) -> LogScript:
    """The same script, ended if the container has ended or its pod is gone."""
    key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    current = context.store.get(PODS, key)
    run = context.cluster.kubelet.run_of(pod)
    if current is None or uid_of(current) != uid_of(pod) or run is None:
        return replace(script, end=context.store.clock())
    state = _state(context, current, container, run)
    if isinstance(state, Running) and state.started == script.start:
        return script
    finished = state.finished if isinstance(state, Ended) else None
    behaviour = context.cluster.kubelet.behaviour(pod, container["name"])
    return LogScript.of(behaviour, script.start, finished or context.store.clock())
