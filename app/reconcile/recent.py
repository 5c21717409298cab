"""Live workloads and their attempts as this process last stored them, so that a pod's every change costs no read.

Safe although others write too: a decision on something stale loses against the version in the store and is made anew,
and whoever writes from outside wakes the workload, which makes it be forgotten here.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

from app.domain.workload import Attempt, Workload
from app.store import reads

_MOST = 20_000


@dataclass(frozen=True)
class Known:
    """`attempts`: those that may still have something in the cluster."""

    workload: Workload
    attempts: tuple[Attempt, ...]

    def is_live(self, attempt: Attempt) -> bool:
        """Whether the attempt is the present one of a workload that has not ended."""
        is_current = attempt.number == self.workload.attempt and attempt.ended_at is None
        return is_current and not self.workload.status.is_terminal


@dataclass
class Recent:
    _known: OrderedDict[UUID, Known] = field(default_factory=OrderedDict)

    async def get(self, workload_id: UUID) -> Known | None:
        """What is remembered, else what is stored; None where there is no such workload."""
        if known := self._known.get(workload_id):
            return known
        workload = await reads.load_workload(workload_id)
        if workload is None:
            return None
        return Known(workload, tuple(await reads.uncleaned_attempts(workload_id)))

    def remember(self, known: Known) -> None:
        self._known.pop(known.workload.id, None)
        self._known[known.workload.id] = known
        if len(self._known) > _MOST:
            self._known.popitem(last=False)

    def forget(self, workload_id: UUID) -> None:
        self._known.pop(workload_id, None)

    def clear(self) -> None:
        """Another process has worked meanwhile: nothing that is remembered may be true."""
        self._known.clear()
