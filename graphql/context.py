"""What resolvers get: the caller, the commands' context, what is free, logs, and loaders."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import strawberry

from app.auth import CALLER_SECONDS
from app.auth.bearer import authenticate
from app.commands.context import CommandContext
from app.domain.agents import AgentPolicy
from app.domain.errors import ForbiddenError
from app.domain.people import Principal
from app.graphql.feeds import Feeds
from app.graphql.loaders import Loaders
from app.graphql.rates import Rates
from app.graphql.streams import OpenStreams
from app.reconcile.board import Board
from app.reconcile.forecast import Forecaster
from app.reconcile.logs import LogReader


@dataclass(frozen=True)
class Services:
    """What all requests share."""

    commands: CommandContext
    board: Board
    logs: LogReader
    forecaster: Forecaster
    rates: Rates = field(default_factory=Rates)
    streams: OpenStreams = field(default_factory=OpenStreams)
    shows_schema: bool = True  # introspection
    agents: AgentPolicy = field(default_factory=AgentPolicy)

    @cached_property
    def feeds(self) -> Feeds:
        return Feeds(self.commands.bus)


@dataclass
class RequestContext:
    """One HTTP request's, or one WebSocket's, which may outlive the right to use it. Secrets stay out of its repr."""

    services: Services
    authorization: str | None = field(default=None, repr=False)
    connection_params: object = field(default=None, repr=False)
    loaders: Loaders = field(default_factory=Loaders, repr=False)
    _principal: Principal | None = None
    _checked_at: float = 0.0

    async def caller(self) -> Principal:
        """The person or service that calls. Raises UnauthenticatedError, and ForbiddenError for a node agent."""
        principal = await self.holder()
        if principal.agent is not None:
            raise ForbiddenError("this token is a node agent's; all that it can do is reportServer")
        return principal

    async def holder(self) -> Principal:
        """Whose the credential is, looked up anew once in a while. Raises UnauthenticatedError."""
        clock = self.services.commands.clock
        if self._principal is None or clock.monotonic() - self._checked_at >= CALLER_SECONDS:
            self._principal = None
            self._principal = await authenticate(self.authorization, clock.now())
            self._checked_at = clock.monotonic()
        return self._principal


Info = strawberry.Info[RequestContext, None]
