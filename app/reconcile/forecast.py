"""Where those who wait stand, and what would become of a request: the planner asked, in any process, nothing written.

Only one process acts on plans, and any process may be asked about them. So each makes its own from the same facts by
the same functions, when somebody asks, and goes by what it has read for a while that grows with what reading cost:
however many look, an organization's queue is read for a tenth of the time at most.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from app.clock import Clock
from app.domain.errors import ConflictError
from app.domain.workload import Workload
from app.placement.plan import Answer, Outlook, Place, Plan, Planner, Reservation
from app.placement.relax import Relaxation
from app.placement.request import Request
from app.placement.snapshot import Snapshot
from app.reconcile.board import Board
from app.reconcile.claims import Claims
from app.reconcile.outlook import Outlooks
from app.reconcile.planning import gather, may_plan, request_of
from app.store import reads

_LEAST_SECONDS = 1.0
_TIMES_ITS_COST = 10
_ORGANIZATIONS = 16  # whose planners are kept


class Standing(NamedTuple):
    """A waiting workload among those of its organization. `position` None: it stands outside the line for a while."""

    position: int | None
    total: int
    promised: Reservation | None = None


@dataclass(frozen=True)
class Trial:
    """What would become of a request. `answer` names its server, or why it would wait."""

    answer: Answer
    standing: Standing
    relaxations: Sequence[Relaxation]


class _Queue(NamedTuple):
    """What is known of an organization. `waiting` are also those that want no server for a while."""

    requests: Sequence[Request]
    waiting: frozenset[UUID]
    snapshot: Snapshot
    outlook: Outlook
    slug: str


class _Picture(NamedTuple):
    """Where everybody stands after a plan: who is placed by it comes first."""

    plan: Plan
    positions: Mapping[UUID, int]
    requests: Mapping[UUID, Request]
    relaxed: dict[UUID, list[Relaxation]]

    def standing(self, workload_id: UUID) -> Standing:
        position = self.positions.get(workload_id)
        return Standing(position, len(self.positions), self.plan.reservations.get(workload_id))


@dataclass
class _Desk:
    """One organization's. The planner is one thread's at a time; `picture` is of its last plan, else None."""

    planner: Planner = field(default_factory=Planner)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    queue: _Queue | None = None
    good_until: float = 0.0
    picture: _Picture | None = None


@dataclass
class Forecaster:
    """`board` may be the one that places; claims are read at each look, as they are known to that process alone."""

    board: Board
    clock: Clock
    outlooks: Outlooks
    _desks: OrderedDict[UUID, _Desk] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._own = replace(self.board, claims=Claims(self.board.claims.projections))

    async def standing(self, organization_id: UUID, workload_id: UUID) -> Standing | None:
        """Of one that was read as waiting; None where it waits no more, or nothing can be planned yet."""
        async with self._at_desk(organization_id) as desk:
            queue = await self._look(desk, organization_id, workload_id)
            return (
                (await _pictured(desk, queue)).standing(workload_id) if queue and workload_id in queue.waiting else None
            )

    async def relaxations(self, organization_id: UUID, workload_id: UUID) -> Sequence[Relaxation]:
        """What would let it start now."""
        async with self._at_desk(organization_id) as desk:
            queue = await self._look(desk, organization_id, workload_id)
            if queue is None or workload_id not in queue.waiting:
                return ()
            picture = await _pictured(desk, queue)
            if workload_id not in picture.relaxed:
                picture.relaxed[workload_id] = await asyncio.to_thread(_relaxed, desk.planner, picture, workload_id)
            return picture.relaxed[workload_id]

    async def try_out(self, workload: Workload) -> Trial:
        """An accepted request that is not stored. Raises ConflictError while it isn't known what the clusters have."""
        async with self._at_desk(workload.organization_id) as desk:
            queue = await self._look(desk, workload.organization_id)
            if queue is None:
                raise ConflictError("what the clusters have is not known yet; ask again in a moment")
            names = [cluster.name for cluster in self._own.clusters]
            request = request_of(reads.as_waiting(workload), queue.slug, names, self.outlooks.longest)
            desk.picture = None  # the planner is about to see another queue
            return await asyncio.to_thread(_tried, desk.planner, queue, request)

    @asynccontextmanager
    async def _at_desk(self, organization_id: UUID) -> AsyncIterator[_Desk]:
        desk = self._desks.setdefault(organization_id, _Desk())
        self._desks.move_to_end(organization_id)
        if len(self._desks) > _ORGANIZATIONS:
            self._desks.popitem(last=False)
        async with desk.lock:
            yield desk

    async def _look(self, desk: _Desk, organization_id: UUID, workload_id: UUID | None = None) -> _Queue | None:
        """What is known is good for a while, unless it is from before the workload waited."""
        if not may_plan(self._own):
            return None
        began = self.clock.monotonic()
        if desk.queue and began < desk.good_until and (workload_id is None or workload_id in desk.queue.waiting):
            return desk.queue
        desk.queue, desk.picture = await self._read(organization_id), None
        now = self.clock.monotonic()
        desk.good_until = now + max(_LEAST_SECONDS, _TIMES_ITS_COST * (now - began))
        return desk.queue

    async def _read(self, organization_id: UUID) -> _Queue:
        await self._own.claims.load()
        now, waiting = self.clock.now(), await reads.waiting_workloads(organization_id)
        in_line = [it for it in waiting if it.not_before is None or it.not_before <= now]
        facts = await gather(self._own, self.outlooks, in_line, [organization_id])
        snapshot, everybody = await asyncio.to_thread(facts.take), frozenset(it.id for it in waiting)
        return _Queue(facts.requests, everybody, snapshot, facts.outlook, facts.slugs[organization_id])


async def _pictured(desk: _Desk, queue: _Queue) -> _Picture:
    if desk.picture is None:
        desk.picture = await asyncio.to_thread(_picture, desk.planner, queue)
    return desk.picture


def _picture(planner: Planner, queue: _Queue) -> _Picture:
    plan = planner.plan(queue.requests, queue.snapshot, queue.outlook)
    return _Picture(plan, _positions(planner, plan, queue), {it.workload_id: it for it in queue.requests}, {})


def _positions(planner: Planner, plan: Plan, queue: _Queue) -> dict[UUID, int]:
    left = planner.order(queue.slug, queue.outlook.used.get(queue.slug, {}))
    return {workload_id: number for number, workload_id in enumerate([*plan.placements, *left], 1)}


def _relaxed(planner: Planner, picture: _Picture, workload_id: UUID) -> list[Relaxation]:
    request = picture.requests.get(workload_id)
    does_wait = request is not None and not isinstance(picture.plan.answers[workload_id], Place)
    return planner.relaxations(request) if request and does_wait else []


def _tried(planner: Planner, queue: _Queue, request: Request) -> Trial:
    picture = _picture(planner, queue._replace(requests=[*queue.requests, request]))
    relaxed = _relaxed(planner, picture, request.workload_id)
    return Trial(picture.plan.answers[request.workload_id], picture.standing(request.workload_id), relaxed)
