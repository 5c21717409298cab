"""deleteWorkload and deleteWorkloads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands.delete_workload import delete_workload as delete
from app.graphql.context import Info
from app.graphql.mutations.change import (
    ManyWorkloadsInput,
    ManyWorkloadsPayload,
    OneWorkloadInput,
    OneWorkloadPayload,
    change_many,
    change_one,
)


@strawberry.input(description="Which workload to delete.")
class DeleteWorkloadInput(OneWorkloadInput):
    pass


@strawberry.input(description="Which workloads to delete.")
class DeleteWorkloadsInput(ManyWorkloadsInput):
    pass


@strawberry.type(description="With `deletedAt` set.")
class DeleteWorkloadPayload(OneWorkloadPayload):
    pass


@strawberry.type(description="Each by itself: one that is refused keeps no other from it.")
class DeleteWorkloadsPayload(ManyWorkloadsPayload):
    pass


async def delete_workload(
    info: Info,
    input: Annotated[DeleteWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> DeleteWorkloadPayload:
    return DeleteWorkloadPayload(workload=await change_one(info, delete, input.id))


async def delete_workloads(
    info: Info,
    input: Annotated[DeleteWorkloadsInput, strawberry.argument(description="Which ones.")],  # noqa: A002
) -> DeleteWorkloadsPayload:
    return DeleteWorkloadsPayload(outcomes=await change_many(info, delete, input.ids))
