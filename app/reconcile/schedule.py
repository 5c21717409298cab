"""Placing what waits: load the queue and a snapshot → plan (off the event loop) → apply.

One tick at a time. A tick runs when something was submitted, ended or changed in the cluster, when a back-off or a
queue limit passes, and once a minute anyway.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from app.bus import Bus
from app.clock import Clock
from app.domain import wording
from app.domain.cuda import CudaVersion, is_newer_minor
from app.domain.lifecycle import Decision, decide_waiting, place
from app.domain.namespaces import Namespaces
from app.domain.server import NO_FLAGS, ServerId
from app.domain.states import Reason
from app.domain.waits import is_news
from app.domain.workload import Attempt, Workload, queue_deadline
from app.placement.plan import Answer, Never, Place, Plan, Planner, Waits
from app.reconcile.board import NOTHING_FLAGGED, Board, Flags
from app.reconcile.claims import Claims
from app.reconcile.outlook import Outlooks
from app.reconcile.planning import Facts, gather, may_plan
from app.reconcile.room import RoomMaker
from app.store import reads
from app.store.reads import Waiting
from app.store.writes import Change, apply_changes, explain_waiting


@dataclass(frozen=True)
class Scheduler:
    board: Board
    claims: Claims
    bus: Bus
    clock: Clock
    placed: Callable[[Workload, Attempt], None]  # told of every new attempt once it is stored
    namespaces: Namespaces
    outlooks: Outlooks
    rooms: RoomMaker
    _planner: Planner = field(default_factory=Planner)

    async def tick(self) -> datetime | None:
        """Place what can be placed, word why the rest waits; returns when a waiting workload's time comes."""
        if not may_plan(self.board):
            return None
        await self.claims.ensure_loaded()
        now = self.clock.now()
        queue = await reads.waiting_workloads()
        overdue = {w.id for w in queue if (deadline := _deadline(w)) is not None and deadline <= now}
        await self._decide(list(overdue), lambda workload: decide_waiting(workload, now))
        eligible = [w for w in queue if w.id not in overdue and (w.not_before is None or w.not_before <= now)]
        if eligible:
            await self._plan(eligible)
        return _next_moment(queue, now)

    async def _plan(self, queue: Sequence[Waiting]) -> None:
        facts = await gather(self.board, self.outlooks, queue)
        found = await asyncio.to_thread(_plan, self._planner, facts)
        await self._place(found.placements, facts.slugs, facts.flags)
        await self.rooms.make(found.preemptions)
        await self._explain(queue, found.answers)

    async def _place(self, placements: Mapping[UUID, Place], slugs: Mapping[UUID, str], flags: Flags) -> None:
        """Void where a server's flags are no longer those that were planned with: what is lost is planned again."""
        now = self.clock.now()

        def give(workload: Workload) -> Decision:
            answer = placements[workload.id]
            note = self._note(workload, ServerId(answer.server, answer.cluster))
            decision = place(workload, answer.server, answer.gpu_resource, now, answer.cluster, note)
            namespace = self.namespaces.of(slugs[workload.organization_id])
            attempt = replace(decision.attempt, namespace=namespace) if decision.attempt else None
            return replace(decision, attempt=attempt)

        for change in await self._decide(list(placements), give, flags):
            if change.attempt is not None:
                self.claims.add(change.attempt, change.after)
                self.placed(change.stored, change.attempt)

    def _note(self, workload: Workload, server: ServerId) -> str:
        """What is worth a warning about the server that was chosen."""
        cuda = CudaVersion.parse(workload.spec.cuda) if workload.spec.cuda else None
        supported = self.board.cuda_of(server)
        return wording.newer_toolkit(str(cuda), supported) if is_newer_minor(cuda, supported) else ""

    async def _decide(
        self, ids: Sequence[UUID], decide: Callable[[Workload], Decision], flags: Flags = NOTHING_FLAGGED
    ) -> list[Change]:
        """Load those that still wait, decide, write; returns the changes that won. A lost one is planned again."""
        if not ids:
            return []
        waiting = [w for w in (await reads.workloads_by_id(ids)).values() if w.waits]
        changes: dict[UUID, list[Change]] = defaultdict(list)
        for workload in waiting:
            decision = decide(workload)
            if decision.workload != workload:
                version = flags.get(decision.attempt.server_id, NO_FLAGS).version if decision.attempt else None
                change = Change(workload, decision.workload, None, decision.attempt, version)
                changes[workload.organization_id].append(change)
        won: list[Change] = []
        for organization_id, group in changes.items():
            results = await apply_changes(organization_id, group, self.clock.now())
            won += [change for change, did_win in zip(group, results, strict=True) if did_win]
            self.bus.wake_events(organization_id)
            if not all(results):
                self.bus.wake_queue()
        return won

    async def _explain(self, queue: Sequence[Waiting], answers: Mapping[UUID, Answer]) -> None:
        """Store why the rest waits, a statement for each group that shares its words."""
        groups: dict[tuple[UUID, Reason, str], list[UUID]] = defaultdict(list)
        now = self.clock.now()
        for waiting in queue:
            answer = answers[waiting.id]
            if not isinstance(answer, Place) and _has_news(waiting, answer, now):
                groups[waiting.organization_id, answer.reason, answer.message].append(waiting.id)
        for (organization_id, reason, message), ids in groups.items():
            await explain_waiting(organization_id, ids, reason, message, now)
            self.bus.wake_events(organization_id)


def _plan(planner: Planner, facts: Facts) -> Plan:
    return planner.plan(facts.requests, facts.take(), facts.outlook)


def _has_news(waiting: Waiting, answer: Waits | Never, now: datetime) -> bool:
    """Whether anything of why it waits is to be stored: what is shown, or what is told in an event."""
    if (waiting.reason, waiting.message) != (answer.reason, answer.message):
        return True
    return is_news(answer.reason, waiting.reason, waiting.told, waiting.queued_at, now)


def _deadline(waiting: Waiting) -> datetime | None:
    return queue_deadline(waiting.queued_at, waiting.queue_timeout_seconds)


def _next_moment(queue: Iterable[Waiting], now: datetime) -> datetime | None:
    moments = (m for w in queue for m in (w.not_before, _deadline(w)) if m is not None and m > now)
    return min(moments, default=None)
