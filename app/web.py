"""The HTTP application: GraphQL, health and the panel."""

from __future__ import annotations

import sys

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route, WebSocketRoute

from app.auth.signin import SignIn
from app.graphql.body import MAX_BODY_BYTES
from app.graphql.context import Services
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.schema import schema
from app.health import HealthPage
from app.panel.desk import Desk
from app.panel.errors import Errors
from app.panel.headers import SecurityHeaders
from app.panel.routes import panel_routes
from app.panel.streams import Streams
from app.reconcile.background import Background

_NO_LIMIT = sys.maxsize


def build_web(services: Services, background: Background, streams: Streams | None = None) -> Starlette:
    """`streams` is what ends the panel's open streams when the server stops."""
    health = HealthPage(background, services.commands.clock)
    endpoint = GraphQLEndpoint(schema, services)
    sign_in = SignIn(services.commands.clock)
    panel_streams, samples = streams or Streams(), background.samples_kept
    desk = Desk(services.commands, services.board, services.logs, services.forecaster, panel_streams, sign_in, samples)
    return Starlette(
        routes=[
            Route("/graphql", endpoint, max_body_size=_NO_LIMIT),  # it has its own, with its own answer
            WebSocketRoute("/graphql", endpoint),
            Route("/healthz", health.live),
            Route("/readyz", health.ready),
            *panel_routes(desk),
        ],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers=Errors(desk).handlers(),
        max_body_size=MAX_BODY_BYTES,
    )
