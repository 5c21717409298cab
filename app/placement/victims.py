"""Which of what runs may be preempted for a request, and for whose sake.

A guarantee is a right: whoever is within it may have GPUs that others use beyond theirs. A higher priority is one
within a project only; workloads without a project are as one. Nobody is preempted who does not allow it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.server import ServerId
from app.placement.calendar import Hold
from app.placement.line import Row
from app.placement.quotas import NO_BUDGETS, Budget, Budgets
from app.placement.timeline import Moment


@dataclass(frozen=True, slots=True)
class Running:
    """A live attempt that allows to be preempted, and that can be stopped now.

    `since`: the start of its container, None before that. `is_whole`: it holds whole GPUs.
    """

    workload_id: UUID
    attempt: int
    server: ServerId
    hold: Hold
    placed_at: Moment
    since: Moment | None = None
    project: UUID | None = None
    priority: int = 0
    is_whole: bool = True

    def lost(self, now: Moment) -> int:
        """GPU-seconds that would have been for nothing."""
        return 0 if self.since is None else self.hold.gpus * max(0, int(now - self.since))


def beyond_guarantees(running: Iterable[Running], budgets: Budgets) -> frozenset[UUID]:
    """The workloads among them that their projects' guarantees do not cover; those of projects without one all.

    A guarantee covers what is not preemptible first, then by priority, then the oldest, each where it fits in whole.
    """
    by_project: defaultdict[UUID | None, list[Running]] = defaultdict(list)
    for it in running:
        if it.is_whole:
            by_project[it.project].append(it)
    return frozenset(id_ for project, theirs in by_project.items() for id_ in _beyond(theirs, budgets.get(project)))


def _beyond(running: Iterable[Running], budget: Budget | None) -> Iterator[UUID]:
    left = (budget.quota.guaranteed or 0) - budget.firm if budget else 0
    for it in sorted(running, key=lambda it: (-it.priority, it.placed_at, it.workload_id)):
        if it.hold.gpus <= left:
            left -= it.hold.gpus
        else:
            yield it.workload_id


class Victims:
    """Of one organization, at the moment of a plan."""

    def __init__(self, running: Sequence[Running] = (), budgets: Budgets = NO_BUDGETS) -> None:
        self._on: defaultdict[ServerId, list[Running]] = defaultdict(list)
        self._lowest: dict[UUID | None, int] = {}
        for it in running:
            self._on[it.server].append(it)
            self._lowest[it.project] = min(it.priority, self._lowest.get(it.project, it.priority))
        self._beyond = beyond_guarantees(running, budgets)

    def has_any(self, row: Row, *, by_right: bool) -> bool:
        """`by_right`: the request is within its project's guarantee."""
        return (by_right and bool(self._beyond)) or self._lowest.get(row.project, row.priority) < row.priority

    def on(self, server: ServerId, row: Row, *, by_right: bool) -> list[Running]:
        return [
            it
            for it in self._on.get(server, ())
            if (by_right and it.workload_id in self._beyond)
            or (it.project == row.project and it.priority < row.priority)
        ]
