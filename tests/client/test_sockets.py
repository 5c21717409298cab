"""A subscription over a socket: what it sends, what it hands out, and what each way of failing is called."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from app.client.connection import Connection
from app.client.errors import ClientError, RefusedError, UnreachableError
from app.client.sockets import subscribe
from tests.client.scripted import Answer, answering

ACK = {"type": "connection_ack"}
COMPLETE = {"type": "complete", "id": "1"}


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def following(payload: Any) -> dict[str, Any]:
    return {"type": "next", "id": "1", "payload": payload}


def nothing(socket: ServerConnection) -> None:
    """The socket is closed as it should be."""


@contextmanager
def sending(*messages: Any, then: Callable[[ServerConnection], None] = nothing) -> Iterator[Any]:
    """A server that acknowledges and sends these; what it got is in `seen`."""
    seen: list[dict[str, Any]] = []

    def handle(socket: ServerConnection) -> None:
        seen.append(json.loads(socket.recv()))
        for message in messages:
            socket.send(message if isinstance(message, str) else json.dumps(message))
            if message in (ACK, {"type": "ping"}):
                seen.append(json.loads(socket.recv()))
        then(socket)

    with serve(handle, "127.0.0.1", 0, subprotocols=[Subprotocol("graphql-transport-ws")]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}", seen
        finally:
            server.shutdown()
            thread.join()


def got(url: str) -> list[dict[str, Any]]:
    connection = Connection(url, "gpuyard_secret", "--server", "GPUYARD_TOKEN")
    return list(subscribe(connection, httpx2.create_ssl_context(), "workload_events", {"after": "x"}))


def test_each_message_to_the_end():
    with sending(ACK, following({"data": {"a": 1}}), {"type": "ping"}, following({"data": {"a": 2}}), COMPLETE) as it:
        url, seen = it
        assert got(url) == [{"a": 1}, {"a": 2}]
    init, subscribed, pong = seen
    assert init == {"type": "connection_init", "payload": {"authorization": "Bearer gpuyard_secret"}}
    assert subscribed["payload"]["variables"] == {"after": "x"}
    assert subscribed["payload"]["query"].startswith("subscription WorkloadEvents(")
    assert pong == {"type": "pong"}


REFUSAL = {"message": "it is not yours", "extensions": {"code": "FORBIDDEN"}}


@pytest.mark.parametrize(
    "message", [{"type": "error", "id": "1", "payload": [REFUSAL]}, following({"data": None, "errors": [REFUSAL]})]
)
def test_a_refusal_has_its_sentence(message: dict[str, Any]):
    with sending(ACK, message) as (url, _), pytest.raises(RefusedError, match="it is not yours") as raised:
        got(url)
    assert raised.value.code == "FORBIDDEN"


def test_a_refused_token_closes_the_socket():
    with (
        sending(then=lambda socket: socket.close(4403, "Forbidden")) as (url, _),
        pytest.raises(ClientError, match="refuses with 4403: Forbidden") as raised,
    ):
        got(url)
    assert not isinstance(raised.value, UnreachableError)


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012])
def test_a_closed_socket_may_be_opened_again(code: int):
    with (
        sending(ACK, following({"data": {"a": 1}}), then=lambda socket: socket.close(code)) as (url, _),
        pytest.raises(UnreachableError, match="broke off"),
    ):
        got(url)


def test_a_cut_line_may_be_joined_again():
    with (
        sending(ACK, then=lambda socket: socket.socket.close()) as (url, _),
        pytest.raises(UnreachableError),
    ):
        got(url)


@pytest.mark.parametrize("nonsense", ["<html>", "[]", "{}"])
def test_another_protocol_is_told(nonsense: str):
    with sending(nonsense) as (url, _), pytest.raises(ClientError, match="not graphql-transport-ws") as raised:
        got(url)
    assert not isinstance(raised.value, UnreachableError)


def test_nobody_listens():
    with sending() as (url, _):
        pass
    with pytest.raises(UnreachableError, match="can't be followed"):
        got(url)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(404, "", "text/html"), ClientError, "answers 404 instead of opening a WebSocket; a proxy"),
        (Answer(200, "", "text/html"), ClientError, "answers 200 instead of opening a WebSocket; a proxy"),
        (Answer(503, "", "text/html"), UnreachableError, "answers 503"),
    ],
)
def test_no_upgrade(answer: Answer, kind: type[ClientError], words: str):
    with answering(answer) as script, pytest.raises(ClientError, match=words) as raised:
        got(script.url)
    assert type(raised.value) is kind
