"""The API server is there and says nothing, or no longer: it was stopped, or the way to it swallows everything.

Every call ends within its limit as UnavailableError, and one that was on its way is repeated without harm.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.port import Kind, LogRange, UnavailableError
from tests.cluster.builders import JOB, NAMESPACE, job, job_json, job_spec, node_json, pod
from tests.cluster.conftest import connected
from tests.cluster.scripted_api import HANG, NO_ANSWER, Answer, ScriptedApi, answer, failure, stream

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
POD = f"/api/v1/namespaces/{NAMESPACE}/pods/pod-pod-uid"
NODES = "/api/v1/nodes"
STAMPED = b"2026-11-30T12:00:00.000000001Z one line that is long enough\n"
SHORT = 0.15
LONGER = 2.0  # where something is answered first

Call = Callable[[KubernetesPort], Awaitable[object]]
CALLS: dict[str, tuple[str, str, Call]] = {
    "create": ("POST", JOBS, lambda port: port.create_job(job_spec())),
    "find": ("GET", f"{JOBS}/{JOB}", lambda port: port.find(JOB)),
    "delete": ("DELETE", f"{JOBS}/{JOB}", lambda port: port.delete_job(JOB, "uid")),
    "patch": ("PATCH", POD, lambda port: port.limit_run(pod(), 60)),
    "release": ("PATCH", POD, lambda port: port.release_pod(pod())),
    "list": ("GET", NODES, lambda port: port.list_all(Kind.NODES)),
    "check": ("GET", "/version", lambda port: port.check()),
}


@pytest.fixture
async def hasty(api: ScriptedApi, tmp_path: Path) -> AsyncIterator[KubernetesPort]:
    settings = PortSettings(
        NAMESPACE,
        quiet_seconds=SHORT,
        follow_quiet_seconds=SHORT,
        list_seconds=SHORT,
        read_seconds=SHORT,
        write_seconds=SHORT,
    )
    async with connected(api, tmp_path, settings) as port:
        yield port


@pytest.fixture
async def patient(api: ScriptedApi, tmp_path: Path) -> AsyncIterator[KubernetesPort]:
    settings = PortSettings(
        NAMESPACE, quiet_seconds=LONGER, follow_quiet_seconds=LONGER, list_seconds=LONGER, write_seconds=LONGER
    )
    async with connected(api, tmp_path, settings) as port:
        yield port


@pytest.mark.parametrize("silence", [NO_ANSWER, Answer(body=[b'{"items": [', HANG])], ids=["at once", "half way"])
@pytest.mark.parametrize("name", CALLS)
async def test_a_call_ends(hasty: KubernetesPort, api: ScriptedApi, name: str, silence: Answer):
    method, path, call = CALLS[name]
    api.on(method, path, silence)
    async with asyncio.timeout(60):
        with pytest.raises(UnavailableError, match="did not answer in time"):
            await call(hasty)
    assert len(api.seen(method, path)) == 3


async def test_a_create_that_got_through_unheard(patient: KubernetesPort, api: ScriptedApi):
    api.on("POST", JOBS, NO_ANSWER, failure(409, "AlreadyExists"))
    api.on("GET", f"{JOBS}/{JOB}", answer(job_json()))
    assert await patient.create_job(job_spec()) == job()


async def test_a_watch_that_was_answered_once(patient: KubernetesPort, api: ScriptedApi):
    api.on("GET", NODES, stream({"type": "ADDED", "object": node_json()}, HANG), watch=True)
    api.on("GET", NODES, NO_ANSWER)
    watching = patient.watch(Kind.NODES, "5")
    async with asyncio.timeout(60):
        assert (await anext(watching)).item
        with pytest.raises(UnavailableError, match="did not answer in time"):
            await anext(watching)


async def test_a_watch_that_is_never_answered(hasty: KubernetesPort, api: ScriptedApi):
    api.on("GET", NODES, NO_ANSWER, watch=True)
    async with asyncio.timeout(60):
        with pytest.raises(UnavailableError, match="did not answer in time"):
            await anext(hasty.watch(Kind.NODES, "5"))


async def test_a_log_that_is_followed(patient: KubernetesPort, api: ScriptedApi):
    """A container may say nothing for long, but who can tell that from a dead connection? Never taken for its end."""
    api.on("GET", f"{POD}/log", Answer(body=[STAMPED, HANG]))
    log = patient.read_log(pod(), LogRange(follow=True))
    async with asyncio.timeout(60):
        assert await anext(log) == STAMPED
        with pytest.raises(UnavailableError, match="said nothing"):
            await anext(log)


@pytest.mark.parametrize("silence", [NO_ANSWER, Answer(body=[STAMPED, HANG])], ids=["at once", "half way"])
async def test_a_log_that_is_read(hasty: KubernetesPort, api: ScriptedApi, silence: Answer):
    """Half a log is none: it would be kept as if it were whole."""
    api.on("GET", f"{POD}/log", silence)
    async with asyncio.timeout(60):
        with pytest.raises(UnavailableError):
            _ = [chunk async for chunk in hasty.read_log(pod(), LogRange(tail_lines=5))]


async def test_nobody_takes_the_connection(tmp_path: Path):
    """A full backlog, as of a process that was stopped: connecting itself hangs."""
    api = ScriptedApi()
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        number = listener.getsockname()[1]
        with ExitStack() as taken:
            for _ in range(4):
                taken.enter_context(begun(number))
            api.url = f"http://127.0.0.1:{number}"
            settings = PortSettings(NAMESPACE, list_seconds=SHORT)
            async with connected(api, tmp_path, settings) as port, asyncio.timeout(60):
                with pytest.raises(UnavailableError, match="did not answer in time"):
                    await port.list_all(Kind.NODES)


def begun(port: int) -> socket.socket:
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
    return client
