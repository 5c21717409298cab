"""prioritizeWorkload and prioritizeWorkloads."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.commands.context import CommandContext
from app.commands.prioritize_workload import prioritize_workload as prioritize
from app.domain import workload as domain
from app.domain.people import Principal
from app.graphql.context import Info
from app.graphql.enums import Priority
from app.graphql.mutations.change import (
    Command,
    ManyWorkloadsInput,
    ManyWorkloadsPayload,
    OneWorkloadInput,
    OneWorkloadPayload,
    change_many,
    change_one,
)

_PRIORITY = "Its new priority. Above MEDIUM for owners and their tokens only."


@strawberry.input(description="Which workload, and its new priority.")
class PrioritizeWorkloadInput(OneWorkloadInput):
    priority: Priority = strawberry.field(description=_PRIORITY)


@strawberry.input(description="Which workloads, and their new priority.")
class PrioritizeWorkloadsInput(ManyWorkloadsInput):
    priority: Priority = strawberry.field(description=_PRIORITY)


@strawberry.type(description="With its new priority.")
class PrioritizeWorkloadPayload(OneWorkloadPayload):
    pass


@strawberry.type(description="Each by itself: one that is refused keeps no other from it.")
class PrioritizeWorkloadsPayload(ManyWorkloadsPayload):
    pass


async def prioritize_workload(
    info: Info,
    input: Annotated[PrioritizeWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> PrioritizeWorkloadPayload:
    return PrioritizeWorkloadPayload(workload=await change_one(info, _to(input.priority), input.id))


async def prioritize_workloads(
    info: Info,
    input: Annotated[PrioritizeWorkloadsInput, strawberry.argument(description="Which ones.")],  # noqa: A002
) -> PrioritizeWorkloadsPayload:
    return PrioritizeWorkloadsPayload(outcomes=await change_many(info, _to(input.priority), input.ids))


def _to(priority: Priority) -> Command:
    async def command(context: CommandContext, principal: Principal, workload_id: UUID) -> domain.Workload:
        return await prioritize(context, principal, workload_id, priority)

    return command
