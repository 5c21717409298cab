"""The schema over HTTP, server-sent events and WebSocket.

Of the two WebSocket protocols only graphql-transport-ws: the legacy one had a way round authentication.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import timedelta
from http import HTTPStatus
from typing import Any, cast

import orjson
from cross_web import AsyncHTTPRequestAdapter, HTTPException
from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError, MissingQueryError
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData
from strawberry.http.streaming import AsyncTextStream, HTTPStreamTransport
from strawberry.schema import BaseSchema
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.subscriptions import GRAPHQL_SSE_PROTOCOL, GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult, SubscriptionExecutionResult
from strawberry.types.graphql import OperationType
from strawberry.types.unset import UNSET, UnsetType

from app.auth.origin import Source, source_of
from app.domain.errors import ForbiddenError, UnauthenticatedError
from app.graphql.body import within_limit
from app.graphql.context import RequestContext, Services
from app.graphql.documents import documents
from app.graphql.negotiation import Media, WrongRequestError, check_body, check_method, negotiate, status_of
from app.graphql.websocket import SLOW_SECONDS, TransportHandler

_MAX_SUBSCRIPTIONS = 20
_INIT_WAIT = timedelta(seconds=10)  # for who connects and does not say who he is


class GraphQLEndpoint(GraphQL[RequestContext, None]):
    graphql_transport_ws_handler_class = TransportHandler

    def __init__(self, schema: BaseSchema, services: Services, slow_seconds: float = SLOW_SECONDS) -> None:
        """`slow_seconds`: how long a WebSocket's reader may take nothing."""
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_SSE_PROTOCOL),
            connection_init_wait_timeout=_INIT_WAIT,
            max_subscriptions_per_connection=_MAX_SUBSCRIPTIONS,
        )
        self._services = services
        self.slow_seconds = slow_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        response = await self._answer(Request(scope, within_limit(receive)))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        media = Media.JSON
        try:
            media = negotiate(request.headers.get("accept", ""))
            if source_of(request.headers) is Source.FOREIGN:
                raise WrongRequestError.of(HTTPStatus.FORBIDDEN, "a page of another site can't ask here")
            check_method(request.method)
            if request.method == "POST":
                check_body(request.headers.get("content-type", ""), request.headers.get("content-encoding", ""))
            response = await self.run(request)
        except WrongRequestError as refusal:
            return _refused(refusal, media)
        except HTTPException as error:
            return _refused(WrongRequestError.of(HTTPStatus(error.status_code), error.reason), media)
        except _WRONG_OPERATIONS as error:
            return _refused(_wrong_operation(error, request.method), media)
        if isinstance(response, _Answer):
            response.status_code = status_of(
                media, was_executed=response.was_executed, too_many=response.retry_after > 0
            )
            response.headers["content-type"] = media.content_type
            if response.retry_after:
                response.headers["retry-after"] = str(response.retry_after)
        return response

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data).decode()

    def decode_json(self, data: str | bytes) -> object:
        """Strict: UTF-8 without half surrogate pairs, numbers and nesting within bounds, else a JSONDecodeError."""
        return orjson.loads(data)

    def should_render_graphql_ide(self, request: object) -> bool:  # noqa: ARG002 — there is none
        return False

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData:
        if request.method == "GET":
            wanted: object = self.parse_query_params(request.query_params)
        else:
            wanted = self.parse_json(await request.get_body())
        if not isinstance(wanted, dict):
            raise _bad("the body must be a JSON object with a `query`")
        transport = self._get_stream_transport_from_headers(request.headers)
        return GraphQLRequestData(
            query=_query(wanted),
            variables=_member(wanted, "variables", dict, "an object"),
            operation_name=_member(wanted, "operationName", str, "text"),
            extensions=_member(wanted, "extensions", dict, "an object"),
            protocol=transport.protocol if transport else "http",
        )

    async def execute_single(
        self,
        request: Request,  # noqa: ARG002
        request_adapter: AsyncHTTPRequestAdapter,
        sub_response: Response,  # noqa: ARG002
        context: RequestContext,
        root_value: None,
        request_data: GraphQLRequestData,
    ) -> ExecutionResult:
        """As the base's, but that a subscription, of which one answer can't carry the events, is refused in words."""
        return await self.schema.execute(
            request_data.query,
            root_value=root_value,
            variable_values=request_data.variables,
            context_value=context,
            operation_name=request_data.operation_name,
            allowed_operation_types=OperationType.from_http(request_adapter.method) - {OperationType.SUBSCRIPTION},
            operation_extensions=request_data.extensions,
        )

    def _stream_result(
        self, request: Request, result: SubscriptionExecutionResult, transport: HTTPStreamTransport
    ) -> AsyncTextStream:
        telling = _telling(cast("AsyncGenerator[Any, None]", result))
        return super()._stream_result(request, cast("SubscriptionExecutionResult", telling), transport)

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        """A request that was never executed has no `data` at all; the library would say null."""
        answer = await super().process_result(request, result)
        if result.data is None and result.errors and all(error.path is None for error in result.errors):
            answer.pop("data", None)
        return answer

    def create_response(
        self, response_data: GraphQLHTTPResponse | list[GraphQLHTTPResponse], sub_response: Response
    ) -> Response:
        answer = _Answer(self.encode_json(response_data), media_type=Media.JSON)
        answer.was_executed = "data" in response_data
        answer.retry_after = _retry_after(response_data)
        answer.headers.raw.extend(sub_response.headers.raw)
        return answer

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> RequestContext:  # noqa: ARG002
        return RequestContext(self._services, request.headers.get("authorization"))

    async def on_ws_connect(self, context: RequestContext) -> UnsetType:
        """The token comes in the payload of connection_init; a header of the upgrade request is taken too."""
        params = context.connection_params
        given = params.get("authorization", params.get("Authorization")) if isinstance(params, dict) else None
        context.authorization = given if isinstance(given, str) else context.authorization
        try:
            await context.caller()
        except (UnauthenticatedError, ForbiddenError) as refusal:
            raise ConnectionRejectionError({"code": refusal.code, "message": refusal.message}) from refusal
        acknowledged: UnsetType = UNSET
        return acknowledged


async def _telling(results: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """What an extension raises, a syntax error too, is told; the library would break the connection off."""
    try:
        async with aclosing(results):
            async for result in results:
                yield result
    except GraphQLError as error:
        yield ExecutionResult(data=None, errors=[error])


class _Answer(Response):
    """An answer to a well-formed request, before its status is decided."""

    was_executed = True
    retry_after = 0


def _retry_after(answer: GraphQLHTTPResponse | list[GraphQLHTTPResponse]) -> int:
    """Seconds, where the answer says that too much was asked for; else 0."""
    errors = answer.get("errors") or [] if isinstance(answer, dict) else []
    waits = (error.get("extensions", {}).get("retryAfter", 0) for error in errors if isinstance(error, dict))
    return max((wait for wait in waits if isinstance(wait, int)), default=0)


_WRONG_OPERATIONS = (CannotGetOperationTypeError, InvalidOperationTypeError, MissingQueryError)


def _query(wanted: Mapping[str, Any]) -> str | None:
    """The document: as it is sent, or the persisted one of that id."""
    query: str | None = _member(wanted, "query", str, "text")
    wanted_id: str | None = _member(wanted, "documentId", str, "text")
    if wanted_id is None:
        return query
    if query:
        raise _bad("give either `query` or `documentId`, not both")
    document = documents().get(wanted_id)
    if document is None:
        known = ", ".join(name for name in documents() if ":" not in name)
        raise _bad(f"there is no persisted document {wanted_id[:80]!r}; there are {known}, each also by its sha256:…")
    return document


def _member(wanted: Mapping[str, Any], name: str, kind: type[Any], words: str) -> Any:
    value = wanted.get(name)
    if value is not None and not isinstance(value, kind):
        raise _bad(f"`{name}` must be {words} or null")
    return value


def _bad(message: str) -> WrongRequestError:
    return WrongRequestError.of(HTTPStatus.BAD_REQUEST, message)


def _wrong_operation(error: Exception, method: str) -> WrongRequestError:
    match error:
        case MissingQueryError():
            return _bad("the request has no `query`")
        case CannotGetOperationTypeError():
            return _bad(error.as_http_error_reason())
        case InvalidOperationTypeError(operation_type=OperationType.SUBSCRIPTION):
            ways = f"`Accept: {Media.EVENTS}` or a WebSocket that speaks {GRAPHQL_TRANSPORT_WS_PROTOCOL}"
            return _bad(f"a subscription needs {ways}")
        case InvalidOperationTypeError(operation_type=OperationType.MUTATION) if method == "GET":
            return WrongRequestError.of(HTTPStatus.METHOD_NOT_ALLOWED, "a mutation must be sent by POST", Allow="POST")
    return _bad(str(error))


def _refused(refusal: WrongRequestError, media: Media) -> Response:
    error = {"message": refusal.message, "extensions": {"code": "BAD_REQUEST"}}
    shown = Media.JSON if media is Media.EVENTS else media
    return Response(
        orjson.dumps({"errors": [error]}), refusal.status, dict(refusal.headers), media_type=shown.content_type
    )
