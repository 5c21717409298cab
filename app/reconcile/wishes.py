"""What people asked of another process that stands by: it wrote their wish, and this one, which works, looks for it.

Wishes are events like any other, numbered in commit order, so nothing is missed and nothing is read twice. Those that
were written by this process come along, which costs a wake-up too many. Flags of servers are no events: that one has
changed shows in the sum of their versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.bus import Bus
from app.clock import Clock
from app.domain.workload import EventType
from app.store import reads, servers

LOOK_SECONDS = 1.0


@dataclass
class Wishes:
    bus: Bus
    clock: Clock
    _seen: dict[UUID, int] | None = None  # the last event looked at, by organization
    _flag_changes: int = 0

    async def begin(self) -> None:
        """What is there by now is found by the full look that follows."""
        self._seen, self._flag_changes = await reads.last_event_sequences(), await servers.flag_changes()

    def forget(self) -> None:
        """Not to look before `begin`."""
        self._seen = None

    async def look(self) -> datetime:
        if self._seen is not None:
            await self._look(self._seen)
            await self._look_at_flags()
        return self.clock.now() + timedelta(seconds=LOOK_SECONDS)

    async def _look(self, seen: dict[UUID, int]) -> None:
        for organization_id, last in (await reads.last_event_sequences()).items():
            first = seen.get(organization_id, 0)
            if last > first:
                for event_type, workload_id in await reads.wishes_between(organization_id, first, last):
                    self._wake(event_type, workload_id)
                seen[organization_id] = last

    async def _look_at_flags(self) -> None:
        changes = await servers.flag_changes()
        if changes != self._flag_changes:
            self._flag_changes = changes
            self.bus.wake_queue()

    def _wake(self, event_type: EventType, workload_id: UUID) -> None:
        if event_type in (EventType.CANCEL_REQUESTED, EventType.SUSPEND_REQUESTED):
            self.bus.wake_workload(workload_id)
        else:
            self.bus.wake_queue()
