"""createProject and renameProject."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.commands import manage
from app.graphql.context import Info
from app.graphql.nodes.project import Project


@strawberry.input(description="A project to create.")
class CreateProjectInput:
    organization: str = strawberry.field(description="Slug of the organization.")
    slug: str = strawberry.field(description="Short name of the project: lower-case letters, digits, '-'.")
    name: str | None = strawberry.field(default=None, description="For people; the slug unless given.")


@strawberry.input(description="A project's new name.")
class RenameProjectInput:
    id: UUID = strawberry.field(description="Which project.")
    name: str = strawberry.field(description="Its new name.")
    version: int = strawberry.field(description="The version that was read; if somebody was faster, CONFLICT.")


@strawberry.type(description="The project as it was created.")
class CreateProjectPayload:
    project: Project = strawberry.field(description="As it is now.")


@strawberry.type(description="The project under its new name.")
class RenameProjectPayload:
    project: Project = strawberry.field(description="As it is now.")


async def create_project(
    info: Info,
    input: Annotated[CreateProjectInput, strawberry.argument(description="What to create.")],  # noqa: A002
) -> CreateProjectPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    made = await manage.create_project(commands, principal, input.organization, input.slug, input.name)
    return CreateProjectPayload(project=Project.from_domain(made))


async def rename_project(
    info: Info,
    input: Annotated[RenameProjectInput, strawberry.argument(description="Which one, and how.")],  # noqa: A002
) -> RenameProjectPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    renamed = await manage.rename_project(commands, principal, input.id, input.name, input.version)
    return RenameProjectPayload(project=Project.from_domain(renamed))
