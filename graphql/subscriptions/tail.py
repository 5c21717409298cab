"""Following an organization's events: those behind a number, then the new ones, for as long as the caller may."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

from app.auth.trust import Trust
from app.bus import LOOK_AGAIN_SECONDS, Signal
from app.domain.workload import Event
from app.store import reads

_BATCH = 200


async def tail(
    organization_id: UUID, sequence: int, signal: Signal, trust: Trust[Any]
) -> AsyncGenerator[Sequence[Event], None]:
    """Batches in order, also empty ones; ends by the error of a right that is gone."""
    while True:
        await trust.renew()
        events = await reads.events_after(organization_id, sequence, _BATCH)
        yield events
        sequence = events[-1].sequence if events else sequence
        if len(events) < _BATCH:
            await signal.wait(LOOK_AGAIN_SECONDS)
