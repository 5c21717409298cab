"""Subscriptions over graphql-transport-ws, one socket each."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from app.client.api import refusal
from app.client.connection import Connection
from app.client.documents import document
from app.client.errors import ClientError, UnreachableError

_PROTOCOL = Subprotocol("graphql-transport-ws")
_OPEN_SECONDS = 15.0
_LARGEST = 16 * 2**20  # bytes of one message
_REFUSED = range(4400, 4500)
_PASSING = range(500, 600)


def subscribe(
    connection: Connection, tls: ssl.SSLContext, name: str, variables: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The data of each message, to the subscription's end.

    Raises UnreachableError where the socket can't be had or breaks, RefusedError or ClientError where it is refused.
    """
    secure = tls if connection.socket.startswith("wss") else None
    try:
        with connect(
            connection.socket, subprotocols=[_PROTOCOL], ssl=secure, open_timeout=_OPEN_SECONDS, max_size=_LARGEST
        ) as socket:
            _open(socket, connection, name, variables)
            yield from _messages(socket, connection)
    except ConnectionClosed as closed:
        raise _closed(closed, connection) from None
    except InvalidStatus as error:
        raise _no_upgrade(error.response.status_code, connection) from None
    except (OSError, WebSocketException) as error:
        words = str(error) or type(error).__name__
        raise UnreachableError(f"{connection.socket} can't be followed: {words}") from None


def _open(socket: ClientConnection, connection: Connection, name: str, variables: Mapping[str, Any]) -> None:
    _send(socket, {"type": "connection_init", "payload": {"authorization": f"Bearer {connection.token}"}})
    while (message := _parsed(socket.recv(_OPEN_SECONDS)))["type"] != "connection_ack":
        _answer(socket, message)
    _send(socket, {"id": "1", "type": "subscribe", "payload": {"query": document(name), "variables": dict(variables)}})


def _messages(socket: ClientConnection, connection: Connection) -> Iterator[dict[str, Any]]:
    while (message := _parsed(socket.recv()))["type"] != "complete":
        payload = message.get("payload")
        if message["type"] == "error":
            raise refusal(payload, connection)
        if message["type"] == "next" and isinstance(payload, dict):
            if payload.get("errors"):
                raise refusal(payload["errors"], connection)
            yield payload["data"]
        else:
            _answer(socket, message)


def _answer(socket: ClientConnection, message: Mapping[str, Any]) -> None:
    if message["type"] == "ping":
        _send(socket, {"type": "pong"})


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except ValueError:
        message = None
    if not isinstance(message, dict) or "type" not in message:
        raise ClientError("what came over the socket is not graphql-transport-ws")
    return message


def _send(socket: ClientConnection, message: Mapping[str, Any]) -> None:
    socket.send(json.dumps(message))


def _closed(closed: ConnectionClosed, connection: Connection) -> ClientError:
    told = closed.rcvd
    if told is not None and told.code in _REFUSED:
        return ClientError(f"{connection.socket} refuses with {told.code}: {told.reason or 'no reason given'}")
    return UnreachableError(f"the connection to {connection.socket} broke off: {closed}")


def _no_upgrade(status: int, connection: Connection) -> ClientError:
    if status in _PASSING:
        return UnreachableError(f"{connection.socket} answers {status}")
    return ClientError(
        f"{connection.socket} answers {status} instead of opening a WebSocket; "
        "a proxy in between has to pass upgrades on"
    )
