"""holdWorkload and holdWorkloads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands.hold_workload import hold_workload as hold
from app.graphql.context import Info
from app.graphql.mutations.change import (
    ManyWorkloadsInput,
    ManyWorkloadsPayload,
    OneWorkloadInput,
    OneWorkloadPayload,
    change_many,
    change_one,
)


@strawberry.input(description="Which workload to hold.")
class HoldWorkloadInput(OneWorkloadInput):
    pass


@strawberry.input(description="Which workloads to hold.")
class HoldWorkloadsInput(ManyWorkloadsInput):
    pass


@strawberry.type(description="With phase SUSPENDED.")
class HoldWorkloadPayload(OneWorkloadPayload):
    pass


@strawberry.type(description="Each by itself: one that is refused keeps no other from it.")
class HoldWorkloadsPayload(ManyWorkloadsPayload):
    pass


async def hold_workload(
    info: Info,
    input: Annotated[HoldWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> HoldWorkloadPayload:
    return HoldWorkloadPayload(workload=await change_one(info, hold, input.id))


async def hold_workloads(
    info: Info,
    input: Annotated[HoldWorkloadsInput, strawberry.argument(description="Which ones.")],  # noqa: A002
) -> HoldWorkloadsPayload:
    return HoldWorkloadsPayload(outcomes=await change_many(info, hold, input.ids))
