"""The schema over HTTP and WebSocket. Only graphql-transport-ws: the legacy protocol had a way round authentication."""

from __future__ import annotations

import orjson
from cross_web import AsyncHTTPRequestAdapter, HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError, MissingQueryError
from strawberry.http import GraphQLRequestData
from strawberry.http.base import BaseRequestProtocol
from strawberry.http.types import HTTPMethod
from strawberry.schema import BaseSchema
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType
from strawberry.types.unset import UNSET, UnsetType

from app.domain.errors import UnauthenticatedError
from app.graphql.context import RequestContext, Services
from app.graphql.websocket import TransportHandler

_MAX_SUBSCRIPTIONS = 20


class GraphQLEndpoint(GraphQL[RequestContext, None]):
    graphql_transport_ws_handler_class = TransportHandler

    def __init__(self, schema: BaseSchema, services: Services) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            max_subscriptions_per_connection=_MAX_SUBSCRIPTIONS,
        )
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        try:
            response = await self.run(Request(scope, receive))
        except HTTPException as refusal:
            response = _malformed(refusal)
        await response(scope, receive, send)

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data).decode()

    def decode_json(self, data: str | bytes) -> object:
        """Strict: UTF-8 without half surrogate pairs, numbers and nesting within bounds, else a JSONDecodeError."""
        return orjson.loads(data)

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:  # noqa: ARG002
        """There is none; a browser's request is answered as any other, where the base has a bare "Not Found"."""
        return False

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData | list[GraphQLRequestData]:
        if request.method == "POST" and not (await request.get_body()).lstrip().startswith(b"{"):
            raise HTTPException(400, "the body must be a JSON object with a `query`")
        return await super().parse_http_body(request)

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
        method = request_adapter.method
        try:
            return await self.schema.execute(
                request_data.query,
                root_value=root_value,
                variable_values=request_data.variables,
                context_value=context,
                operation_name=request_data.operation_name,
                allowed_operation_types=OperationType.from_http(method) - {OperationType.SUBSCRIPTION},
                operation_extensions=request_data.extensions,
            )
        except CannotGetOperationTypeError as error:
            raise HTTPException(400, error.as_http_error_reason()) from error
        except InvalidOperationTypeError as error:
            raise HTTPException(400, _not_allowed(error, method)) from error
        except MissingQueryError as error:
            raise HTTPException(400, "the request has no `query`") from error

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> RequestContext:  # noqa: ARG002
        return RequestContext(self._services, request.headers.get("authorization"))

    async def on_ws_connect(self, context: RequestContext) -> UnsetType:
        """The token comes in the payload of connection_init; a header of the upgrade request is taken too."""
        params = context.connection_params
        given = params.get("authorization", params.get("Authorization")) if isinstance(params, dict) else None
        context.authorization = given if isinstance(given, str) else context.authorization
        try:
            await context.caller()
        except UnauthenticatedError as refusal:
            raise ConnectionRejectionError({"code": refusal.code, "message": refusal.message}) from refusal
        acknowledged: UnsetType = UNSET
        return acknowledged


def _not_allowed(error: InvalidOperationTypeError, method: HTTPMethod) -> str:
    if error.operation_type is OperationType.SUBSCRIPTION:
        return f"a subscription needs a WebSocket that speaks {GRAPHQL_TRANSPORT_WS_PROTOCOL}"
    return error.as_http_error_reason(method)


def _malformed(refusal: HTTPException) -> Response:
    error = {"message": refusal.reason, "extensions": {"code": "BAD_REQUEST"}}
    return Response(orjson.dumps({"errors": [error]}), refusal.status_code, media_type="application/json")
