"""cordonServer and uncordonServer."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.commands import flag_server
from app.domain.server import LONGEST_REASON
from app.graphql.context import Info
from app.graphql.nodes.server import Server, server_of


@strawberry.input(description="A server to keep new workloads off.")
class CordonServerInput:
    id: UUID = strawberry.field(description="Its id.")
    reason: str | None = strawberry.field(
        default=None,
        description=f"For people who wait for it: one line, at most {LONGEST_REASON} characters.",
    )
    version: int | None = strawberry.field(
        default=None, description="The version that was read; if somebody was faster, CONFLICT. Any unless given."
    )


@strawberry.input(description="A server to let workloads be placed on again.")
class UncordonServerInput:
    id: UUID = strawberry.field(description="Its id.")
    version: int | None = strawberry.field(
        default=None, description="The version that was read; if somebody was faster, CONFLICT. Any unless given."
    )


@strawberry.type(description="The cordoned server. Once this is answered, nothing more is placed there.")
class CordonServerPayload:
    server: Server = strawberry.field(description="As it is now.")


@strawberry.type(description="The server without its cordon.")
class UncordonServerPayload:
    server: Server = strawberry.field(description="As it is now. Its node may be cordoned in the cluster, too.")


async def cordon_server(
    info: Info,
    input: Annotated[CordonServerInput, strawberry.argument(description="Which one, and why.")],  # noqa: A002
) -> CordonServerPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    record = await flag_server.cordon_server(commands, principal, input.id, input.reason or "", input.version)
    return CordonServerPayload(server=await server_of(info, record))


async def uncordon_server(
    info: Info,
    input: Annotated[UncordonServerInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> UncordonServerPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    record = await flag_server.uncordon_server(commands, principal, input.id, input.version)
    return UncordonServerPayload(server=await server_of(info, record))
