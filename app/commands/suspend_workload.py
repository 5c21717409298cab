"""Take a workload off the GPUs, or keep it from them, until it is resumed."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain import requests
from app.domain.people import Principal
from app.domain.workload import Workload


async def suspend_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is then: SUSPENDED, or STOPPING until the cluster confirms.

    Raises ConflictError where it has ended or is about to, NotFoundError where there is none.
    """
    return await change_workload(
        context,
        principal,
        "suspend_workload",
        workload_id,
        lambda workload, now: requests.suspend(workload, principal.name, now),
    )
