"""Storing who is preempted for whom: the intent to stop, and the server that the other gets, all in one transaction.

What follows is `app.reconcile.jobs`' work, as it is for every attempt that is to be stopped. Whoever changed any of
them meanwhile was first, and nothing is stopped: the next plan sees what is true then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from app.bus import Bus
from app.clock import Clock
from app.domain.preemption import nominate, preempt
from app.placement.plan import Preemption
from app.store import reads
from app.store.writes import Change, apply_changes


@dataclass(frozen=True)
class RoomMaker:
    bus: Bus
    clock: Clock

    async def make(self, preemptions: Mapping[UUID, Preemption]) -> None:
        """`preemptions` are by the waiting workload that the room is for."""
        for workload_id, preemption in preemptions.items():
            await self._make(workload_id, preemption)

    async def _make(self, workload_id: UUID, preemption: Preemption) -> None:
        changes = await self._changes(workload_id, preemption)
        if not changes:
            return  # somebody was first, and whoever it was has asked for another plan
        organization_id = changes[0].before.organization_id
        won = await apply_changes(organization_id, changes, self.clock.now())
        self.bus.wake_events(organization_id)
        self.bus.wake_queue()
        for change in changes[1:] if all(won) else ():
            self.bus.wake_workload(change.before.id)

    async def _changes(self, workload_id: UUID, preemption: Preemption) -> list[Change]:
        """The waiting workload's first; none where something is no longer as it was planned with."""
        ids, now = [id_ for id_, _ in preemption.victims], self.clock.now()
        workloads = await reads.workloads_by_id([workload_id, *ids])
        attempts = {(it.workload_id, it.number): it for it in await reads.attempts_of(ids)}
        wanted = workloads.get(workload_id)
        if wanted is None or not wanted.waits:
            return []
        changes = [Change(wanted, nominate(wanted, preemption.server), together=workload_id)]
        for key in preemption.victims:
            workload, attempt = workloads.get(key[0]), attempts.get(key)
            if workload is None or attempt is None:
                return []
            stopping = preempt(workload, attempt, wanted, by_right=preemption.by_right, now=now)
            if stopping is None:
                return []
            changes.append(Change(workload, stopping[0], attempt, stopping[1], together=workload_id))
        return changes
