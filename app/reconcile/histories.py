"""What each organization asked for of late: what placing takes to be likely to come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from app.clock import Clock
from app.placement.demand import History, counted
from app.placement.room import Ask
from app.store import reads

_SUBMISSIONS = 2_000
_GOOD_FOR = 60.0  # seconds


@dataclass
class Histories:
    """Kept for a minute: a few submissions more change little."""

    clock: Clock
    _known: dict[UUID, tuple[float, History]] = field(default_factory=dict)

    async def of(self, organizations: Iterable[UUID]) -> dict[UUID, History]:
        return {it: await self._of(it) for it in organizations}

    async def _of(self, organization: UUID) -> History:
        now = self.clock.monotonic()
        read_at, history = self._known.get(organization, (None, None))
        if history is None or read_at is None or now - read_at >= _GOOD_FOR:
            history = counted(Ask(*size) for size in await reads.latest_sizes(organization, _SUBMISSIONS))
            self._known[organization] = now, history
        return history
