"""Storing a decision on a live attempt, and telling whoever waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.bus import Bus
from app.domain.lifecycle import Decision
from app.domain.workload import Attempt, Workload
from app.reconcile.claims import Claims
from app.reconcile.recent import Known, Recent
from app.store.writes import Change, apply_changes


@dataclass(frozen=True)
class DecisionWriter:
    bus: Bus
    claims: Claims
    recent: Recent

    async def write(self, known: Known, attempt: Attempt, decision: Decision, now: datetime) -> Known | None:
        """Store the decision; returns what is true then, or None when someone else changed the workload meanwhile."""
        after = decision.attempt or attempt
        if decision.workload == known.workload and after == attempt:
            return known
        change = Change(known.workload, decision.workload, attempt, after)
        [won] = await apply_changes(known.workload.organization_id, [change], now)
        if not won:
            self.recent.forget(known.workload.id)
            return None
        stored = Known(change.stored, _with(known.attempts, after))
        self.recent.remember(stored)
        self._tell(stored.workload, after)
        return stored

    def _tell(self, workload: Workload, attempt: Attempt) -> None:
        if attempt.ended_at is not None:
            self.claims.drop(attempt)
        self.bus.wake_events(workload.organization_id)
        if workload.waits:
            self.bus.wake_queue()


def _with(attempts: Sequence[Attempt], changed: Attempt) -> tuple[Attempt, ...]:
    """The attempts with the changed one in its place."""
    return tuple(changed if attempt.number == changed.number else attempt for attempt in attempts)
