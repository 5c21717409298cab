"""cancelWorkload."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import strawberry

from app.commands.cancel_workload import cancel_workload as cancel
from app.graphql.context import Info
from app.graphql.nodes.workload import Workload


@strawberry.input(description="Which workload to cancel.")
class CancelWorkloadInput:
    id: UUID = strawberry.field(description="Its id.")


@strawberry.type(description="The workload: cancelled, or STOPPING until the cluster confirms.")
class CancelWorkloadPayload:
    workload: Workload = strawberry.field(description="As it is now.")


async def cancel_workload(
    info: Info,
    input: Annotated[CancelWorkloadInput, strawberry.argument(description="Which one.")],  # noqa: A002
) -> CancelWorkloadPayload:
    principal = await info.context.caller()
    noun = await cancel(info.context.services.commands, principal, input.id)
    return CancelWorkloadPayload(workload=Workload.from_domain(noun))
