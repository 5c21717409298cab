"""restoreWorkload and restoreWorkloads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands.restore_workload import restore_workload as restore
from app.graphql.context import Info
from app.graphql.mutations.change import (
    ManyWorkloadsInput,
    ManyWorkloadsPayload,
    OneWorkloadInput,
    OneWorkloadPayload,
    change_many,
    change_one,
)


@strawberry.input(description="Which workload to restore.")
class RestoreWorkloadInput(OneWorkloadInput):
    pass


@strawberry.input(description="Which workloads to restore.")
class RestoreWorkloadsInput(ManyWorkloadsInput):
    pass


@strawberry.type(description="With `deletedAt` null.")
class RestoreWorkloadPayload(OneWorkloadPayload):
    pass


@strawberry.type(description="Each by itself: one that is refused keeps no other from it.")
class RestoreWorkloadsPayload(ManyWorkloadsPayload):
    pass


async def restore_workload(
    info: Info,
    input: Annotated[RestoreWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> RestoreWorkloadPayload:
    return RestoreWorkloadPayload(workload=await change_one(info, restore, input.id))


async def restore_workloads(
    info: Info,
    input: Annotated[RestoreWorkloadsInput, strawberry.argument(description="Which ones.")],  # noqa: A002
) -> RestoreWorkloadsPayload:
    return RestoreWorkloadsPayload(outcomes=await change_many(info, restore, input.ids))
