"""createProject, renameProject and setProjectQuota."""

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


@strawberry.input(description="A project's new quota, in whole GPUs: what is left out or null is taken away.")
class SetProjectQuotaInput:
    id: UUID = strawberry.field(description="Which project.")
    guaranteed_gpus: int | None = strawberry.field(
        default=None, description="What it has a right to: only preemptible workloads may go beyond it."
    )
    max_gpus: int | None = strawberry.field(
        default=None, description="What it may use at most; not less than what is guaranteed."
    )
    version: int = strawberry.field(description="The version that was read; if somebody was faster, CONFLICT.")


@strawberry.type(description="The project as it was created.")
class CreateProjectPayload:
    project: Project = strawberry.field(description="As it is now.")


@strawberry.type(description="The project under its new name.")
class RenameProjectPayload:
    project: Project = strawberry.field(description="As it is now.")


@strawberry.type(description="The project with its new quota.")
class SetProjectQuotaPayload:
    project: Project = strawberry.field(description="As it is now.")
    warning: str = strawberry.field(
        description="Says so where the servers on record can't keep all guarantees at the same time; else empty."
    )


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


async def set_project_quota(
    info: Info,
    input: Annotated[SetProjectQuotaInput, strawberry.argument(description="Which one, and how much.")],  # noqa: A002
) -> SetProjectQuotaPayload:
    commands, principal = info.context.services.commands, await info.context.caller()
    wanted = (input.guaranteed_gpus, input.max_gpus)
    changed, warning = await manage.set_project_quota(commands, principal, input.id, wanted, input.version)
    return SetProjectQuotaPayload(project=Project.from_domain(changed), warning=warning)
