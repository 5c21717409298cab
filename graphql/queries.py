"""Query: who I am, and an organization."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands.context import open_organization
from app.commands.submit_workload import check_request
from app.domain.people import Permission
from app.graphql.context import Info
from app.graphql.enums import Scope
from app.graphql.mutations.submit_workload import SubmitWorkloadInput
from app.graphql.nodes.dry_run import DryRun
from app.graphql.nodes.organization import Organization
from app.graphql.nodes.people import Token
from app.store import managing, people


@strawberry.type(description="The caller.")
class Viewer:
    name: str = strawberry.field(description="The person's address, or the token's name.")
    email: str | None = strawberry.field(description="Null for a service token.")
    scopes: list[Scope] = strawberry.field(description="What the credential may be used for.")
    organizations: list[Organization] = strawberry.field(description="Where the caller has a role, by slug.")

    @strawberry.field(description="The person's own tokens, the newest first; none for a service token.")
    async def tokens(self, info: Info) -> list[Token]:
        user_id = (await info.context.caller()).user_id
        return [Token.from_domain(noun) for noun in await managing.tokens_of_user(user_id)] if user_id else []


@strawberry.type(description="What can be read.")
class Query:
    @strawberry.field(description="Who the credential stands for.")
    async def viewer(self, info: Info) -> Viewer:
        principal = await info.context.caller()
        found = await people.organizations_by_id(list(principal.roles))
        nouns = sorted(found.values(), key=lambda noun: noun.slug)
        return Viewer(
            name=principal.name,
            email=principal.email or None,
            scopes=sorted(principal.scopes),
            organizations=[Organization.from_domain(noun, principal.roles[noun.id]) for noun in nouns],
        )

    @strawberry.field(description="An organization that the caller belongs to.")
    async def organization(
        self, info: Info, slug: Annotated[str, strawberry.argument(description="Its short name in addresses.")]
    ) -> Organization | None:
        principal = await info.context.caller()
        noun = await open_organization(principal, slug, Permission.VIEW_ORGANIZATION)
        return Organization.from_domain(noun, principal.roles.get(noun.id))

    @strawberry.field(
        description="What would become of a request now: it is checked as if it were submitted, planned, and not "
        "stored. For those who may submit it. It weighs 3000."
    )
    async def dry_run(
        self,
        info: Info,
        input: Annotated[SubmitWorkloadInput, strawberry.argument(description="What would be run.")],  # noqa: A002
    ) -> DryRun:
        services, principal = info.context.services, await info.context.caller()
        noun = await check_request(services.commands, principal, input.organization, input.to_draft())
        return DryRun.from_domain(await services.forecaster.try_out(noun), noun)
