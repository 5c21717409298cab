"""cancelWorkload."""

from __future__ import annotations

from uuid import UUID

import strawberry

from app.commands.cancel_workload import cancel_workload as cancel
from app.graphql.context import Info
from app.graphql.nodes.workload import Workload


@strawberry.input(description="Which workload to cancel.")
class CancelWorkloadInput:
    id: UUID


@strawberry.type(description="The workload: cancelled, or STOPPING until the cluster confirms.")
class CancelWorkloadPayload:
    workload: Workload


async def cancel_workload(info: Info, input: CancelWorkloadInput) -> CancelWorkloadPayload:  # noqa: A002
    principal = info.context.require_principal()
    noun = await cancel(info.context.services.commands, principal, input.id)
    return CancelWorkloadPayload(workload=Workload.from_domain(noun))
