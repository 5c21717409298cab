"""The schema over HTTP and WebSocket. Only graphql-transport-ws: the legacy protocol had a way round authentication."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.schema import BaseSchema
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types.unset import UNSET, UnsetType

from app.auth.bearer import authenticate
from app.domain.errors import UnauthenticatedError
from app.graphql.context import RequestContext, Services

_MAX_SUBSCRIPTIONS = 20


class GraphQLEndpoint(GraphQL[RequestContext, None]):
    def __init__(self, schema: BaseSchema, services: Services) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            max_subscriptions_per_connection=_MAX_SUBSCRIPTIONS,
        )
        self._services = services

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data).decode()

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> RequestContext:  # noqa: ARG002
        context = RequestContext(self._services, request.headers.get("authorization"))
        if isinstance(request, Request):
            await self._authenticate(context)
        return context

    async def on_ws_connect(self, context: RequestContext) -> UnsetType:
        """The token comes in the payload of connection_init; a header of the upgrade request is taken too."""
        params = context.connection_params
        given = params.get("authorization", params.get("Authorization")) if isinstance(params, dict) else None
        context.authorization = given if isinstance(given, str) else context.authorization
        await self._authenticate(context)
        if context.refusal is not None:
            raise ConnectionRejectionError({"code": context.refusal.code, "message": context.refusal.message})
        acknowledged: UnsetType = UNSET
        return acknowledged

    async def _authenticate(self, context: RequestContext) -> None:
        try:
            context.principal = await authenticate(context.authorization, self._services.commands.clock.now())
        except UnauthenticatedError as error:
            context.refusal = error
