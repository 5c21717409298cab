"""What resolvers get: the caller, the commands' context, what is free, and loaders."""

from __future__ import annotations

from dataclasses import dataclass, field

import strawberry

from app.commands.context import CommandContext
from app.domain.errors import UnauthenticatedError
from app.domain.people import Principal
from app.graphql.loaders import Loaders
from app.reconcile.board import Board


@dataclass(frozen=True)
class Services:
    """What all requests share."""

    commands: CommandContext
    board: Board


@dataclass
class RequestContext:
    """One HTTP request's, or one WebSocket's. On a WebSocket the principal is known once connection_init has come."""

    services: Services
    authorization: str | None = None
    principal: Principal | None = None
    refusal: UnauthenticatedError | None = None
    connection_params: object = None
    loaders: Loaders = field(default_factory=Loaders)

    def require_principal(self) -> Principal:
        if self.principal is None:
            raise self.refusal or UnauthenticatedError("no credential was given")
        return self.principal


Info = strawberry.Info[RequestContext, None]
