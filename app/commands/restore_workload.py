"""Put a deleted workload back into the lists."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain import requests
from app.domain.people import Principal
from app.domain.workload import Workload


async def restore_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is then. Raises NotFoundError where there is none."""
    return await change_workload(
        context, principal, "restore_workload", workload_id, lambda workload, _: requests.restore(workload)
    )
