"""The HTTP application: GraphQL, health and the panel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from app.auth.signin import SignIn
from app.clock import Clock
from app.domain import wording
from app.graphql.context import Services
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.schema import schema
from app.panel.desk import Desk
from app.panel.errors import Errors
from app.panel.headers import SecurityHeaders
from app.panel.routes import panel_routes
from app.panel.streams import Streams
from app.reconcile.background import Background
from app.reconcile.cluster_loops import ClusterLoops
from app.reconcile.log_rescue import AttemptKey
from app.reconcile.loop import KeyedLoop

_MOST_ORPHANS = 20
_MAX_BODY_BYTES = 2 * 2**20


@dataclass(frozen=True)
class HealthPage:
    """Whether the process answers, and whether its loops and watches are current."""

    background: Background
    clock: Clock

    async def live(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        clusters = {loops.name: self._cluster(loops) for loops in self.background.per_cluster.values()}
        leadership = self.background.leadership
        is_well = not self.background.has_ended and not leadership.trouble
        is_ready = is_well and all(it["status"] == "ok" for it in clusters.values())
        body = {
            "status": "ok" if is_ready else "not ready",
            "works_here": leadership.is_leading,
            "note": leadership.note,
            "loops": self._loops(self.background.loops),
            "clusters": clusters,
        }
        return JSONResponse(body, 200 if is_ready else 503)

    def _cluster(self, cluster: ClusterLoops) -> dict[str, Any]:
        watches = {
            kind.value: {"synced": h.synced, "failures": h.failures, "error": h.last_error or None}
            for kind, h in cluster.projection.health.items()
        }
        is_watching = cluster.projection.synced and not any(w["failures"] for w in watches.values())
        return {
            "status": "ok" if is_watching and not cluster.missing else "not ready",
            "missing": cluster.missing,
            "clock": _clock(cluster),
            "orphans": _orphans(cluster),
            "watches": watches,
            "loops": self._loops(cluster.loops),
        }

    def _loops(self, loops: Iterable[KeyedLoop[UUID] | KeyedLoop[AttemptKey] | KeyedLoop[str]]) -> dict[str, Any]:
        return {
            loop.name: {"age": self._age(loop.health.last_pass), "error": loop.health.last_error or None}
            for loop in loops
        }

    def _age(self, moment: float | None) -> float | None:
        return None if moment is None else round(self.clock.monotonic() - moment, 3)


def _clock(cluster: ClusterLoops) -> dict[str, Any]:
    """Seconds by which the cluster's clock is ahead of ours, and what that means once it is more than a few."""
    ahead = cluster.cluster.port.clock.ahead.total_seconds()
    return {"ahead_seconds": round(ahead), "note": wording.clocks_differ(round(ahead)) if ahead else None}


def _orphans(cluster: ClusterLoops) -> dict[str, Any]:
    found = sorted(cluster.orphans.found.values(), key=lambda it: it.since)
    shown = [
        {
            "job": it.find.name,
            "kind": it.kind,
            "since": it.since.isoformat(),
            "removed_at": it.removed_at.isoformat() if it.removed_at else None,
        }
        for it in found[:_MOST_ORPHANS]
    ]
    return {"count": len(found), "oldest": shown}


def build_web(services: Services, background: Background, streams: Streams | None = None) -> Starlette:
    """`streams` is what ends the panel's open streams when the server stops."""
    health = HealthPage(background, services.commands.clock)
    endpoint = GraphQLEndpoint(schema, services)
    sign_in = SignIn(services.commands.clock)
    desk = Desk(services.commands, services.board, services.logs, streams or Streams(), sign_in)
    return Starlette(
        routes=[
            Route("/graphql", endpoint),
            WebSocketRoute("/graphql", endpoint),
            Route("/healthz", health.live),
            Route("/readyz", health.ready),
            *panel_routes(desk),
        ],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers=Errors(desk).handlers(),
        max_body_size=_MAX_BODY_BYTES,
    )
