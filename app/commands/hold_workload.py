"""Keep a waiting workload from being placed."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain import requests
from app.domain.people import Principal
from app.domain.workload import Workload


async def hold_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is then. Raises ConflictError unless it waits, NotFoundError where there is none."""
    return await change_workload(
        context,
        principal,
        "hold_workload",
        workload_id,
        lambda workload, now: requests.hold(workload, principal.name, now),
    )
