"""What the commands on one workload have in common: find it, check, decide, write until the write wins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from app.commands.context import Access, CommandContext, noting_refusals, open_gpu_workloads
from app.domain.errors import ConflictError, NotFoundError
from app.domain.people import Permission, Principal, unknown_workload
from app.domain.workload import Workload
from app.store import people, reads
from app.store.writes import Change, apply_changes

_TRIES = 20

Decide = Callable[[Workload, datetime], Workload]


async def change_workload(
    context: CommandContext, principal: Principal, action: str, workload_id: UUID, decide: Decide
) -> Workload:
    """The workload as it is then. Raises what `decide` raises, and NotFoundError where there is none for the caller."""
    slug = await organization_of(workload_id)
    async with noting_refusals(context, principal, action, slug, str(workload_id)):
        await open_workload(principal, slug, workload_id)
        return await _until_it_wins(context, workload_id, decide)


async def open_workload(
    principal: Principal, slug: str, workload_id: UUID, permission: Permission = Permission.WRITE_WORKLOADS
) -> Access:
    """The right to it, to change it unless another is asked for, as owner or admin of its organization.

    That there is no such workload and that it is another organization's are not told apart.
    """
    if not slug:
        raise unknown_workload(workload_id)
    try:
        return await open_gpu_workloads(principal, slug, permission)
    except NotFoundError:
        raise unknown_workload(workload_id) from None


async def organization_of(workload_id: UUID) -> str:
    """The slug; empty where there is no such workload."""
    workload = await reads.load_workload(workload_id)
    if workload is None:
        return ""
    found = await people.organizations_by_id([workload.organization_id])
    return found[workload.organization_id].slug


async def _until_it_wins(context: CommandContext, workload_id: UUID, decide: Decide) -> Workload:
    """A workload that is just being placed or has just started moves under our hands."""
    for _ in range(_TRIES):
        workload = await reads.load_workload(workload_id)
        if workload is None:
            raise unknown_workload(workload_id)
        now = context.clock.now()
        after = decide(workload, now)
        if after == workload or (await apply_changes(workload.organization_id, [Change(workload, after)], now))[0]:
            context.bus.wake_workload(workload_id)
            context.bus.wake_events(workload.organization_id)
            if after.waits:
                context.bus.wake_queue()
            return await reads.load_workload(workload_id) or after
    raise ConflictError(f"workload {workload_id} keeps changing; try again")
