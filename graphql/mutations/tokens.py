"""createToken and revokeToken."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.auth.secrets import hash_token, new_token
from app.commands import manage
from app.graphql.context import Info
from app.graphql.enums import Role, Scope


@strawberry.input(description="A token to make: one's own, or with `organization` a service's.")
class CreateTokenInput:
    name: str = strawberry.field(description="What it is for.")
    organization: str | None = strawberry.field(
        default=None, description="Slug of the organization whose service it is for; null: it acts for the caller."
    )
    role: Role = strawberry.field(default=Role.ADMIN, description="A service token's role; a person has one already.")
    scopes: list[Scope] | None = strawberry.field(
        default=None, description="What it may be used for: at most what the present token may, which it is by default."
    )
    expires_in_days: int | None = strawberry.field(
        default=None, description="At most what is left to the present token, which it is by default."
    )


@strawberry.type(description="The new token. Its secret is told this once.")
class CreateTokenPayload:
    id: UUID = strawberry.field(description="By which it can be revoked.")
    token: str = strawberry.field(description="The secret: send it as `Authorization: Bearer …`.")


@strawberry.input(description="A token to revoke.")
class RevokeTokenInput:
    id: UUID = strawberry.field(description="Its id.")


@strawberry.type(description="The token that no longer works.")
class RevokeTokenPayload:
    id: UUID = strawberry.field(description="Its id.")


async def create_token(
    info: Info,
    input: Annotated[CreateTokenInput, strawberry.argument(description="What to make.")],  # noqa: A002
) -> CreateTokenPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    secret = new_token()
    wanted = manage.NewToken(input.name, hash_token(secret), input.scopes or (), input.expires_in_days)
    if input.organization is None:
        made = await manage.create_own_token(commands, principal, wanted)
    else:
        made = await manage.create_service_token(commands, principal, input.organization, input.role, wanted)
    return CreateTokenPayload(id=made, token=secret)


async def revoke_token(
    info: Info,
    input: Annotated[RevokeTokenInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> RevokeTokenPayload:
    await manage.revoke_token(info.context.services.commands, await info.context.caller(), input.id)
    return RevokeTokenPayload(id=input.id)
