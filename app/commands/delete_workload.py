"""Take an ended workload out of the lists; nothing of it is lost."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain import requests
from app.domain.people import Principal
from app.domain.workload import Workload


async def delete_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is then. Raises ConflictError until it has ended, NotFoundError where there is none."""
    return await change_workload(context, principal, "delete_workload", workload_id, requests.delete)
