"""An HTTP server that answers as a test scripts it, misbehaviour included. Real sockets on loopback, nothing patched.

`on(method, path, *answers)`: the answers are given in turn, the last one for ever. An answer's `body` is one piece or
several; DROP breaks the connection there, HANG keeps it open and silent. NO_ANSWER takes the request and says nothing.
With a TLS context it speaks HTTPS.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

DROP, HANG = object(), object()


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Sequence[object] = ()
    headers: dict[str, str] = field(default_factory=dict)


NO_ANSWER = Answer(0)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


def answer(value: object, status: int = 200, **headers: str) -> Answer:
    return Answer(status, (orjson.dumps(value),), {name.replace("_", "-"): text for name, text in headers.items()})


def failure(code: int, reason: str = "", message: str = "", **headers: str) -> Answer:
    status = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return answer(status, code, **headers)


def stream(*pieces: object) -> Answer:
    """Dicts go out as lines of a watch, bytes as they are."""
    return Answer(200, [line(piece) if isinstance(piece, dict) else piece for piece in pieces])


def line(event: dict[str, Any]) -> bytes:
    return orjson.dumps(event) + b"\n"


class ScriptedApi:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self._answers: dict[tuple[str, str, bool], list[Answer]] = {}
        self._judges: dict[tuple[str, str], Callable[[Request], Answer]] = {}
        self._open: set[asyncio.Task[None]] = set()

    def on(self, method: str, path: str, *answers: Answer, watch: bool = False) -> None:
        self._answers[method, path, watch] = list(answers)

    def judge(self, method: str, path: str, judge: Callable[[Request], Answer]) -> None:
        """Answers that depend on what is asked."""
        self._judges[method, path] = judge

    def seen(self, method: str, path: str, *, watch: bool = False) -> list[Request]:
        return [r for r in self.requests if (r.method, r.path, "watch" in r.query) == (method, path, watch)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        gone = (
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.CancelledError,
        )  # the client went, or the test ends
        with contextlib.suppress(*gone):
            request = await _read(reader)
            self.requests.append(request)
            await self._send(writer, self.choose(request))
        self._open.discard(task)
        writer.close()

    def choose(self, request: Request) -> Answer:
        if judge := self._judges.get((request.method, request.path)):
            return judge(request)
        answers = self._answers.get((request.method, request.path, "watch" in request.query))
        if not answers:
            return failure(404, "NotFound", f"nothing is scripted for {request.method} {request.path}")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def _send(self, writer: asyncio.StreamWriter, given: Answer) -> None:
        if given is NO_ANSWER:
            await asyncio.Event().wait()
        head = {"Content-Type": "application/json", "Transfer-Encoding": "chunked", "Connection": "close"}
        lines = [f"HTTP/1.1 {given.status} Scripted", *(f"{n}: {v}" for n, v in {**head, **given.headers}.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for piece in given.body:
            await writer.drain()
            if piece is DROP:
                writer.transport.abort()
                return
            if piece is HANG:
                await asyncio.Event().wait()
            assert isinstance(piece, bytes)
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    async def stop(self) -> None:
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:]) if name}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    return Request(method, url.path, dict(parse_qsl(url.query)), headers, body)


@asynccontextmanager
async def scripted_api(
    tls: ssl.SSLContext | None = None, port: int = 0, api: ScriptedApi | None = None
) -> AsyncIterator[ScriptedApi]:
    api = api or ScriptedApi()
    server = await asyncio.start_server(api.serve, "127.0.0.1", port, ssl=tls)
    api.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield api
    finally:
        server.close()
        await api.stop()
