"""cancelWorkload and cancelWorkloads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.commands.cancel_workload import cancel_workload as cancel
from app.graphql.context import Info
from app.graphql.mutations.change import (
    ManyWorkloadsInput,
    ManyWorkloadsPayload,
    OneWorkloadInput,
    OneWorkloadPayload,
    change_many,
    change_one,
)


@strawberry.input(description="Which workload to cancel.")
class CancelWorkloadInput(OneWorkloadInput):
    pass


@strawberry.input(description="Which workloads to cancel.")
class CancelWorkloadsInput(ManyWorkloadsInput):
    pass


@strawberry.type(description="Cancelled, or STOPPING until the cluster confirms.")
class CancelWorkloadPayload(OneWorkloadPayload):
    pass


@strawberry.type(description="Each by itself: one that is refused keeps no other from it.")
class CancelWorkloadsPayload(ManyWorkloadsPayload):
    pass


async def cancel_workload(
    info: Info,
    input: Annotated[CancelWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> CancelWorkloadPayload:
    return CancelWorkloadPayload(workload=await change_one(info, cancel, input.id))


async def cancel_workloads(
    info: Info,
    input: Annotated[CancelWorkloadsInput, strawberry.argument(description="Which ones.")],  # noqa: A002
) -> CancelWorkloadsPayload:
    return CancelWorkloadsPayload(outcomes=await change_many(info, cancel, input.ids))
