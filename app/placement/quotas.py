"""Which of a project's workloads may use more GPUs: its quota, beside what it uses and what was promised to it.

Whole GPUs count. A project uses at most its maximum; what is not preemptible uses at most its guarantee. A promised
start counts as used for whoever is still there then, so that nobody who comes later takes the project's share away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from app.domain.gpus import WHOLE
from app.domain.quota import NO_QUOTA, Quota
from app.domain.wording import gpus
from app.placement.line import Row
from app.placement.timeline import Moment


@dataclass(frozen=True, slots=True)
class Budget:
    """Of one project. `used`: the whole GPUs that its attempts hold; `firm`: those of attempts not to be preempted."""

    name: str
    quota: Quota = NO_QUOTA
    used: int = 0
    firm: int = 0


Budgets = Mapping[UUID | None, Budget]  # of the projects that have a quota
NO_BUDGETS: Budgets = MappingProxyType({})


@dataclass(slots=True)
class _Taken:
    """What a plan has given to a project so far."""

    used: int = 0
    firm: int = 0

    def add(self, row: Row) -> None:
        self.used += row.shape.gpu_count
        self.firm += 0 if row.preemptible else row.shape.gpu_count


class Ledger:
    """A plan's account of one organization's projects. What it refuses once, it refuses until the plan is made."""

    def __init__(self, budgets: Budgets, now: Moment) -> None:
        self._budgets, self._now = budgets, now
        self._taken: defaultdict[UUID | None, _Taken] = defaultdict(_Taken)
        self._promised: defaultdict[UUID | None, list[tuple[Moment, Row]]] = defaultdict(list)
        self._has_guarantees = any(it.quota.guaranteed is not None for it in budgets.values())

    def take(self, row: Row) -> None:
        if row.project in self._budgets and _counts(row):
            self._taken[row.project].add(row)

    def promise(self, row: Row, start: Moment) -> None:
        if row.project in self._budgets and _counts(row):
            self._promised[row.project].append((start, row))

    def refuses(self, row: Row) -> bool:
        """Whether its project may not have so many more GPUs now."""
        budget = self._budgets.get(row.project)
        if budget is None or not _counts(row):
            return False
        used, firm = self._used(row, budget)
        count, quota = row.shape.gpu_count, budget.quota
        if quota.maximum is not None and used + count > quota.maximum:
            return True
        return not row.preemptible and quota.guaranteed is not None and firm + count > quota.guaranteed

    def is_within_guarantee(self, row: Row) -> bool:
        """Whether its project has a right to the GPUs: with them it uses no more than it is guaranteed."""
        budget = self._budgets.get(row.project)
        if budget is None or budget.quota.guaranteed is None or not _counts(row):
            return False
        used, firm = self._used(row, budget)
        return (used if row.preemptible else firm) + row.shape.gpu_count <= budget.quota.guaranteed

    def may_be_promised(self, row: Row) -> bool:
        """Where there are guarantees, what is to run beyond them, and may be preempted for them, gets no promise."""
        return not (self._has_guarantees and row.preemptible) or self.is_within_guarantee(row)

    def why_refused(self, row: Row) -> str:
        """Which quota it meets, with the numbers; empty where none."""
        if not self.refuses(row):
            return ""
        budget = self._budgets[row.project]
        used, firm = self._used(row, budget)
        count, quota = row.shape.gpu_count, budget.quota
        needs = f"needs {gpus(count)}"
        if quota.maximum is not None and used + count > quota.maximum:
            kept = used - self._used_now(row, budget).used
            more = f", and {kept} more are kept for its workloads that go before this one" if kept else ""
            return f"{needs}; project {budget.name} uses {used - kept} of at most {gpus(quota.maximum)}{more}"
        return (
            f"{needs} and is not preemptible; project {budget.name} is guaranteed {gpus(quota.guaranteed or 0)}, "
            f"of which {firm} are taken by such workloads: only preemptible ones may go beyond the guarantee"
        )

    def _used_now(self, row: Row, budget: Budget) -> _Taken:
        taken = self._taken[row.project]
        return _Taken(budget.used + taken.used, budget.firm + taken.firm)

    def _used(self, row: Row, budget: Budget) -> tuple[int, int]:
        """With what is promised to others before the row's workloads are certainly over."""
        found, over = self._used_now(row, budget), self._now + row.hold_seconds
        for start, promised in self._promised[row.project]:
            if start < over:
                found.add(promised)
        return found.used, found.firm


def _counts(row: Row) -> bool:
    return row.shape.wanted.kind == WHOLE
