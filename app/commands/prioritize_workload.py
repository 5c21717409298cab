"""Give a workload another priority."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain import requests, wording
from app.domain.people import Principal, permission_to_give
from app.domain.priority import Priority
from app.domain.workload import Workload


async def prioritize_workload(
    context: CommandContext, principal: Principal, workload_id: UUID, priority: Priority
) -> Workload:
    """The workload as it is then.

    Raises ForbiddenError for a priority that the caller may not give, ConflictError where it has ended, NotFoundError
    where there is none.
    """
    return await change_workload(
        context,
        principal,
        "prioritize_workload",
        workload_id,
        lambda workload, _: requests.prioritize(workload, priority),
        permission=permission_to_give(priority),
        told=lambda before, _: wording.prioritized(principal.name, before.spec.priority, priority),
    )
