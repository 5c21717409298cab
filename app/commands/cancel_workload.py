"""Cancel a workload: write the wish. Whoever reconciles it sees to the cluster."""

from __future__ import annotations

from uuid import UUID

from app.commands.context import CommandContext, noting_refusals, open_gpu_workloads
from app.domain.errors import ConflictError, NotFoundError
from app.domain.lifecycle import request_cancel
from app.domain.people import Permission, Principal, unknown_workload
from app.domain.workload import Workload
from app.store import people, reads
from app.store.writes import Change, apply_changes

_TRIES = 20


async def cancel_workload(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """The workload as it is now. Raises ConflictError once it has ended, NotFoundError where there is none."""
    slug = await _organization_of(workload_id)
    async with noting_refusals(context, principal, "cancel_workload", slug, str(workload_id)):
        if not slug:
            raise unknown_workload(workload_id)
        try:
            await open_gpu_workloads(principal, slug, Permission.WRITE_WORKLOADS)
        except NotFoundError:
            raise unknown_workload(workload_id) from None
        return await _cancel(context, principal, workload_id)


async def _cancel(context: CommandContext, principal: Principal, workload_id: UUID) -> Workload:
    """Try until the write wins: a workload that is just being placed or has just started moves under our hands."""
    for _ in range(_TRIES):
        workload = await reads.load_workload(workload_id)
        if workload is None:
            raise unknown_workload(workload_id)
        if workload.status.is_terminal:
            raise ConflictError(f"workload {workload_id} has ended already: {workload.status}, {workload.message}")
        now = context.clock.now()
        after = request_cancel(workload, principal.name, now).workload
        if after == workload or (await apply_changes(workload.organization_id, [Change(workload, after)], now))[0]:
            context.bus.wake_workload(workload_id)
            context.bus.wake_events(workload.organization_id)
            return await reads.load_workload(workload_id) or after
    raise ConflictError(f"workload {workload_id} keeps changing; try again")


async def _organization_of(workload_id: UUID) -> str:
    workload = await reads.load_workload(workload_id)
    if workload is None:
        return ""
    found = await people.organizations_by_id([workload.organization_id])
    return found[workload.organization_id].slug
