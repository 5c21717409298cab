"""Cancel a workload: write the wish. Whoever reconciles it sees to the cluster."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from app.commands.change_workload import change_workload
from app.commands.context import CommandContext
from app.domain.lifecycle import request_cancel
from app.domain.people import Principal
from app.domain.requests import has_ended
from app.domain.workload import Workload


async def cancel_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is now. Raises ConflictError once it has ended, NotFoundError where there is none."""

    def decide(workload: Workload, now: datetime) -> Workload:
        if workload.status.is_terminal:
            raise has_ended(workload)
        return request_cancel(workload, principal.name, now).workload

    return await change_workload(context, principal, "cancel_workload", workload_id, decide)
