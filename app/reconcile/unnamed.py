"""Live workloads in clusters that the settings no longer name: nobody can follow them, and people are told so."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.clock import Clock
from app.domain import wording
from app.domain.contact import lose_contact
from app.reconcile.recent import Recent
from app.reconcile.writing import DecisionWriter


@dataclass(frozen=True)
class UnnamedClusters:
    """`setting` is the setting that would have to name them."""

    setting: str
    clock: Clock
    recent: Recent
    writer: DecisionWriter

    async def tell(self, cluster: str, workload_id: UUID) -> None:
        """Show the workload's live attempt in `cluster` as unknown. A lost write is made up for at the next look."""
        known = await self.recent.get(workload_id)
        for attempt in known.attempts if known else ():
            if known and attempt.cluster == cluster and known.is_live(attempt):
                why = wording.not_in_settings(cluster, self.setting)
                await self.writer.write(known, attempt, lose_contact(known.workload, attempt, why), self.clock.now())
