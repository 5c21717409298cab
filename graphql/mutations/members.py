"""setMember and removeMember."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands import manage
from app.graphql.context import Info
from app.graphql.enums import Role
from app.graphql.nodes.people import Member
from app.store import managing, people


@strawberry.input(description="A person's role in an organization.")
class SetMemberInput:
    organization: str = strawberry.field(description="Slug of the organization.")
    email: str = strawberry.field(
        description="Address of a member of it, or of another organization that the caller owns."
    )
    role: Role = strawberry.field(description="What the person is to be.")


@strawberry.input(description="A person who shall no longer belong to an organization.")
class RemoveMemberInput:
    organization: str = strawberry.field(description="Slug of the organization.")
    email: str = strawberry.field(description="The person's address.")


@strawberry.type(description="Who belongs to the organization then.")
class SetMemberPayload:
    members: list[Member] = strawberry.field(description="All of them, by address.")


@strawberry.type(description="Who still belongs to the organization.")
class RemoveMemberPayload:
    members: list[Member] = strawberry.field(description="All of them, by address.")


async def set_member(
    info: Info,
    input: Annotated[SetMemberInput, strawberry.argument(description="Who, and as what.")],  # noqa: A002
) -> SetMemberPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    await manage.set_member(commands, principal, input.organization, input.email, input.role)
    return SetMemberPayload(members=await _members(input.organization))


async def remove_member(
    info: Info,
    input: Annotated[RemoveMemberInput, strawberry.argument(description="Who.")],  # noqa: A002
) -> RemoveMemberPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    await manage.remove_member(commands, principal, input.organization, input.email)
    return RemoveMemberPayload(members=await _members(input.organization))


async def _members(slug: str) -> list[Member]:
    """Of an organization that the caller has just changed."""
    found = await people.find_organization(slug)
    return [Member.from_domain(noun) for noun in await managing.members_of(found.id)] if found else []
