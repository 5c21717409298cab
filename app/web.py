"""The HTTP application: GraphQL, health, and an answer at the root. The panel's routes will stand beside them."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from app.clock import Clock
from app.graphql.context import Services
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.schema import schema
from app.reconcile.background import Background

_MAX_BODY_BYTES = 2 * 2**20


@dataclass(frozen=True)
class HealthPage:
    """Whether the process answers, and whether its loops and watches are current."""

    background: Background
    clock: Clock

    async def live(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        watches = {
            kind.value: {"synced": h.synced, "failures": h.failures, "error": h.last_error or None}
            for kind, h in self.background.projection.health.items()
        }
        loops = {
            loop.name: {"age": self._age(loop.health.last_pass), "error": loop.health.last_error or None}
            for loop in (self.background.jobs, self.background.schedule, self.background.nodes, self.background.resync)
        }
        is_ready = self.background.projection.synced and not any(w["failures"] for w in watches.values())
        body = {"status": "ok" if is_ready else "not ready", "watches": watches, "loops": loops}
        return JSONResponse(body, 200 if is_ready else 503)

    def _age(self, moment: float | None) -> float | None:
        return None if moment is None else round(self.clock.monotonic() - moment, 3)


async def _root(_: Request) -> Response:
    return JSONResponse({"product": "GPUYard", "graphql": "/graphql", "health": "/healthz", "ready": "/readyz"})


def build_web(services: Services, background: Background) -> Starlette:
    health = HealthPage(background, services.commands.clock)
    endpoint = GraphQLEndpoint(schema, services)
    return Starlette(
        routes=[
            Route("/", _root),
            Route("/graphql", endpoint, methods=["GET", "POST"]),
            WebSocketRoute("/graphql", endpoint),
            Route("/healthz", health.live),
            Route("/readyz", health.ready),
        ],
        max_body_size=_MAX_BODY_BYTES,
    )
