"""What the commands on one workload have in common: find it, check, decide, write until the write wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
Told = Callable[[Workload, Workload], str]


@dataclass(frozen=True)
class Located:
    """What there is under an id, before anybody's right to it is known. No workload: the slug is empty too."""

    id: UUID
    workload: Workload | None = None
    slug: str = ""

    async def open(
        self, principal: Principal, permission: Permission = Permission.WRITE_WORKLOADS
    ) -> tuple[Workload, Access]:
        """The workload and the right to it, to change it unless another is asked for, as owner or admin.

        That there is no such workload and that it is another organization's are not told apart.
        """
        if self.workload is None:
            raise unknown_workload(self.id)
        try:
            return self.workload, await open_gpu_workloads(principal, self.slug, permission)
        except NotFoundError:
            raise unknown_workload(self.id) from None


async def locate(workload_id: UUID) -> Located:
    workload = await reads.load_workload(workload_id)
    if workload is None:
        return Located(workload_id)
    organization = await people.organization_by_id(workload.organization_id)
    return Located(workload_id, workload, organization.slug if organization else "")


async def change_workload(
    context: CommandContext,
    principal: Principal,
    action: str,
    workload_id: UUID,
    decide: Decide,
    *,
    permission: Permission = Permission.WRITE_WORKLOADS,
    told: Told = lambda _before, _after: "",
) -> Workload:
    """The workload as it is then. Raises what `decide` raises, and NotFoundError where there is none for the caller.

    `told` words the event of a change that changes no state.
    """
    located = await locate(workload_id)
    async with noting_refusals(context, principal, action, located.slug, str(workload_id)):
        workload, _ = await located.open(principal, permission)
        return await _until_it_wins(context, workload, decide, told)


async def _until_it_wins(context: CommandContext, workload: Workload, decide: Decide, told: Told) -> Workload:
    """A workload that is just being placed or has just started moves under our hands."""
    for _ in range(_TRIES):
        now = context.clock.now()
        after = decide(workload, now)
        change = Change(workload, after, told=told(workload, after))
        if after == workload or (await apply_changes(workload.organization_id, [change], now))[0]:
            context.bus.wake_workload(workload.id)
            context.bus.wake_events(workload.organization_id)
            if workload.waits or after.waits:
                context.bus.wake_queue()
            return await reads.load_workload(workload.id) or after
        workload = await _reread(workload.id)
    raise ConflictError(f"workload {workload.id} keeps changing; try again")


async def _reread(workload_id: UUID) -> Workload:
    workload = await reads.load_workload(workload_id)
    if workload is None:
        raise unknown_workload(workload_id)
    return workload
