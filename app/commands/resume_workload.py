"""Let a suspended workload be placed again."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain import requests
from app.domain.people import Principal
from app.domain.workload import Workload


async def resume_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is then. Raises ConflictError unless it is suspended, NotFoundError where there is none."""
    return await change_workload(
        context,
        principal,
        "resume_workload",
        workload_id,
        lambda workload, now: requests.resume(workload, principal.name, now),
    )
