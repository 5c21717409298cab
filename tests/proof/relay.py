"""Between the app and the API server: it counts writes, loses requests and answers, and holds back what watches tell.

The app reaches it over plain HTTP by a kubeconfig of its own. What the API server itself may do wrong (429, 500,
foreign bodies, dropped watches, 410) is a fault of the simulated cluster; here is what a network does.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web

CLOSE_SECONDS = 0.1  # what was aborted is told to its owner in the loop's next turns
_SAFE = {"GET", "HEAD"}
_NOT_OURS = {"transfer-encoding", "content-length", "connection", "content-encoding", "date", "server"}
_BUSY = json.dumps({"kind": "Status", "status": "Failure", "reason": "ServiceUnavailable", "message": "", "code": 503})


@dataclass(frozen=True)
class Write:
    """A change of the cluster that the API server has accepted."""

    method: str
    kind: str
    name: str

    @property
    def what(self) -> str:
        return f"{self.method} {self.kind}"


@dataclass
class Faults:
    """Shares of requests, 0 to 1. A lost answer is one to a request that was carried out."""

    lost_requests: float = 0.0
    lost_answers: float = 0.0
    slow: float = 0.0
    slow_seconds: float = 1.5


async def _go_on(_: Write) -> bool:
    return False


@dataclass
class Relay:
    """`after_write` is asked when a write was accepted and not yet answered; True: the answer never comes."""

    kubeconfig: Path  # of the API server itself
    seed: int = 0
    faults: Faults = field(default_factory=Faults)
    writes: list[Write] = field(default_factory=list)
    after_write: Callable[[Write], Awaitable[bool]] = _go_on
    port: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    _flows: asyncio.Event = field(default_factory=asyncio.Event)
    _lists: dict[str, bytes] = field(default_factory=dict)  # by path, as they were when watches were held
    _watched: dict[int, web.BaseRequest] = field(default_factory=dict)
    _no_watches: bool = False

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311 — the same faults at every run
        self._flows.set()
        facts = yaml.safe_load(self.kubeconfig.read_text())
        self._upstream = facts["clusters"][0]["cluster"]["server"]
        self._facts = facts

    @asynccontextmanager
    async def serving(self, kubeconfig: Path) -> AsyncIterator[Relay]:
        """Serve on loopback; the way here is written to `kubeconfig`."""
        trust = ssl.create_default_context(cafile=self.kubeconfig.parent / "ca.pem")
        connector = aiohttp.TCPConnector(ssl=trust, limit=0)
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.1)
        async with aiohttp.ClientSession(connector=connector, trust_env=False, auto_decompress=False) as self._session:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", self.port)
            await site.start()
            self.port = runner.addresses[0][1]
            self._facts["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.port}"}
            kubeconfig.write_text(  # noqa: ASYNC240 — a moment, and nobody else is waiting
                yaml.safe_dump(self._facts)
            )
            try:
                yield self
            finally:
                self.drop_watches()
                await runner.cleanup()
        await asyncio.sleep(CLOSE_SECONDS)

    # what a test does

    async def hold(self) -> None:
        """From now on watches and lists show this moment, while everything else is true."""
        self._flows.clear()
        for path in ("/api/v1/nodes", "/api/v1/pods", "/apis/batch/v1/namespaces/gpuyard/jobs"):
            async with self._session.get(self._upstream + path, headers=self._headers()) as answer:
                self._lists[path] = await answer.read()

    def release(self) -> None:
        self._lists.clear()
        self._flows.set()

    def close_to_watches(self) -> None:
        """Open watches end, and neither a watch nor a list is to be had."""
        self._no_watches = True
        self.drop_watches()

    def open_to_watches(self) -> None:
        self._no_watches = False

    def drop_watches(self) -> None:
        for request in tuple(self._watched.values()):
            _hang_up(request)

    # what the app meets

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except aiohttp.ClientError:
            return _hang_up(request)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        is_watch = "watch" in request.query
        is_list = request.method == "GET" and request.path.endswith(("/nodes", "/pods", "/jobs"))
        is_broad = is_list and "labelSelector" not in request.query
        if self._no_watches and (is_watch or is_broad):
            return web.Response(status=503, text=_BUSY, content_type="application/json")
        if is_watch:
            return await self._stream(request)
        if is_broad and request.path in self._lists:
            return web.Response(body=self._lists[request.path], content_type="application/json")
        if self._strikes("slow", self.faults.slow):
            await asyncio.sleep(self.faults.slow_seconds * self._chance.random())
        if self._strikes("lost request", self.faults.lost_requests):
            return _hang_up(request)
        return await self._forward(request)

    async def _forward(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        url = self._upstream + request.path_qs
        async with self._session.request(request.method, url, data=body, headers=_kept(request.headers)) as answer:
            payload = await answer.read()
        if request.method not in _SAFE and answer.ok and await self._wrote(request, body):
            return _hang_up(request)
        if self._strikes("lost answer", self.faults.lost_answers):
            return _hang_up(request)
        return web.Response(body=payload, status=answer.status, headers=_kept(answer.headers))

    async def _wrote(self, request: web.BaseRequest, body: bytes) -> bool:
        parts = request.path.strip("/").split("/")
        if "selfsubjectaccessreviews" in parts:
            return False
        kind, name = (parts[-1], "") if request.method == "POST" else (parts[-2], parts[-1])
        if request.method == "POST":
            name = json.loads(body).get("metadata", {}).get("name", "")
        write = Write(request.method, kind, name)
        self.writes.append(write)
        return await self.after_write(write)

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        self._watched[id(request)] = request
        try:
            timeout = aiohttp.ClientTimeout(total=None)
            url, headers = self._upstream + request.path_qs, _kept(request.headers)
            async with self._session.get(url, headers=headers, timeout=timeout) as answer:
                response = web.StreamResponse(status=answer.status, headers=_kept(answer.headers))
                await self._flows.wait()
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await self._flows.wait()
                    await response.write(chunk)
                await response.write_eof()
                return response
        except ConnectionError:
            return _hang_up(request)
        finally:
            self._watched.pop(id(request), None)

    def _strikes(self, name: str, share: float) -> bool:
        strikes = bool(share) and self._chance.random() < share
        self.struck[name] += strikes
        return strikes

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._facts['users'][0]['user']['token']}"}


def _kept(headers: aiohttp.typedefs.LooseHeaders) -> dict[str, str]:
    return {name: value for name, value in dict(headers).items() if name.lower() not in {*_NOT_OURS, "host"}}


def _hang_up(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
