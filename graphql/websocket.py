"""The graphql-transport-ws protocol, where the library is lenient or silent."""

from __future__ import annotations

import asyncio

import structlog
from graphql import GraphQLError
from strawberry.schema.schema import StreamResult
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler, Operation
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message

from app.graphql.context import RequestContext

SLOW_SECONDS = 20.0
SLOW_READER = 4413  # of the range that applications may use
_log = structlog.get_logger(__name__)


class TransportHandler(BaseGraphQLTransportWSHandler[RequestContext, None]):
    async def send_message(self, message: Message) -> None:
        """A reader that takes nothing for a while is dropped and holds no memory then; it can go on by its cursor."""
        seconds = getattr(self.view, "slow_seconds", SLOW_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                await super().send_message(message)
        except TimeoutError:
            _log.info("a slow reader is dropped", seconds=seconds)
            await self.websocket.close(SLOW_READER, "too slow: connect again and go on after the last cursor")

    async def handle_message(self, message: Message) -> None:
        """A message of another shape closes the socket with 4400; unchecked it would raise in the server."""
        if _is_well_formed(message):
            await super().handle_message(message)
        else:
            await self.handle_invalid_message("Invalid message")

    async def _send_result_stream(
        self, operation: Operation[RequestContext, None], result_source: StreamResult
    ) -> None:
        """What an extension raises, a syntax error too, is told; the library would only log it and say `complete`."""
        try:
            await super()._send_result_stream(operation, result_source)
        except GraphQLError as error:
            await operation.send_initial_errors([error])


def _is_well_formed(message: object) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return False
    if message["type"] not in ("subscribe", "complete"):
        return True
    return isinstance(message.get("id"), str) and (message["type"] == "complete" or _is_request(message.get("payload")))


def _is_request(payload: object) -> bool:
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )
