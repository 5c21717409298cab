"""Samples of GPUs and pods are thinned out with age and removed at the end, and so is the history of who had a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.clock import Clock
from app.domain.agents import SamplePolicy
from app.domain.samples import AS_THEY_CAME, BY_MINUTE, BY_QUARTER
from app.store import holders, samples

_AT_ONCE = 20  # devices, or workloads
_ROWS_AT_ONCE = 1000
_PAUSE_SECONDS = 3600


@dataclass(frozen=True)
class SampleKeeper:
    clock: Clock
    policy: SamplePolicy

    async def look(self) -> datetime:
        """Do a little of each; the next bit at once, with room for others between the two, as long as there is any."""
        now = self.clock.now()

        def ago(seconds: float) -> datetime:
            return now - timedelta(seconds=seconds)

        done = [await holders.purge(ago(self.policy.history_kept_for), _ROWS_AT_ONCE)]
        for packs in (samples.GPUS, samples.PODS):
            done += [
                await packs.purge(ago(self.policy.kept_for), _ROWS_AT_ONCE),
                await packs.thin_out(ago(self.policy.by_minute_for), BY_MINUTE, BY_QUARTER, _AT_ONCE),
                await packs.thin_out(ago(self.policy.full_for), AS_THEY_CAME, BY_MINUTE, _AT_ONCE),
            ]
        return now if any(done) else now + timedelta(seconds=_PAUSE_SECONDS)
