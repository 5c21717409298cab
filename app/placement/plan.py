"""One answer for every waiting workload: a server, or why it waits, or that it can never run on these servers.

Caller: the scheduling loop, which writes the placements. A plan is a function of the queue, a snapshot and what is
known beside them; the order in which they list things changes nothing. The first in the line that fit nowhere get a
reservation where the known limits of what runs promise one; others may go before them if they are not in its way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement import words
from app.placement.calendar import Holds
from app.placement.demand import NO_HISTORY, History
from app.placement.explain import explain
from app.placement.line import Key, Line, Row, aged_area, loads
from app.placement.pool import Pool
from app.placement.quotas import NO_BUDGETS, Budgets, Ledger
from app.placement.request import Request
from app.placement.shape import Shape
from app.placement.snapshot import ServerCapacity, Snapshot
from app.placement.timeline import Moment


@dataclass(frozen=True, slots=True)
class Place:
    """`cluster` is empty where the snapshot names none."""

    server: str
    gpu_resource: str
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Never:
    """No server on record could take it. It may still wait: a server may be added."""

    reason: Literal[Reason.NEVER_FITS, Reason.NO_MATCHING_GPU]
    message: str


Answer = Place | Waits | Never


@dataclass(frozen=True, slots=True)
class Reservation:
    """A promise: it starts there at the latest then, unless somebody comes who goes before it."""

    server: ServerId
    starts_by: datetime


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a plan goes by beside the queue and the servers, by organization but for what runs, which is by server.

    `used` is what each project has used of late, in GPU-seconds whose weight decays.
    """

    now: Moment = 0.0
    holds: Holds = field(default_factory=dict)
    histories: Mapping[str, History] = field(default_factory=dict)
    used: Mapping[str, Mapping[UUID | None, float]] = field(default_factory=dict)
    reservations: int = 10
    budgets: Mapping[str, Budgets] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """The answers by workload: those that were placed in their order, then the rest."""

    answers: Mapping[UUID, Answer]
    reservations: Mapping[UUID, Reservation] = field(default_factory=dict)

    @property
    def placements(self) -> dict[UUID, Place]:
        return {workload: answer for workload, answer in self.answers.items() if isinstance(answer, Place)}


def in_order(queue: Iterable[Request], used: Mapping[UUID | None, float]) -> list[UUID]:
    """An organization's requests, those first that are asked first where they want to be."""
    line = Line()
    line.renew({request.workload_id: request for request in queue})
    return [request.workload_id for _, request in line.turns(loads(used))]


def plan(queue: Iterable[Request], snapshot: Snapshot, outlook: Outlook | None = None) -> Plan:
    """Decide for the whole queue. Workload ids are taken to be unique in it. Without an outlook nothing is promised."""
    return Planner().plan(queue, snapshot, outlook or Outlook(reservations=0))


class Planner:
    """Makes one plan after the other; what has not changed since the last one is not worked out again.

    Its plans are those that `plan` makes. Not for two threads at the same time.
    """

    def __init__(self, key: Key = aged_area) -> None:
        self._key = key
        self._desks: dict[str, _Desk] = {}

    def plan(self, queue: Iterable[Request], snapshot: Snapshot, outlook: Outlook) -> Plan:
        waiting: dict[str, dict[UUID, Request]] = {}
        for request in queue:
            waiting.setdefault(request.organization, {})[request.workload_id] = request
        self._desks = {it: self._desks.get(it) or _Desk(Line(self._key)) for it in sorted(waiting)}
        pools = snapshot.pools()
        answers: dict[UUID, Answer] = {}
        reservations: dict[UUID, Reservation] = {}
        for organization, desk in self._desks.items():
            desk.line.renew(waiting[organization])
            desk.renew(pools.get(organization, ()), outlook.histories.get(organization, NO_HISTORY))
            ledger = Ledger(outlook.budgets.get(organization, NO_BUDGETS), outlook.now)
            answered, reserved = desk.decide(outlook, outlook.used.get(organization, {}), ledger)
            answers |= answered
            reservations |= reserved
        return Plan(answers, reservations)


Promise = tuple[Moment, ServerId]


@dataclass
class _Desk:
    """One organization's."""

    line: Line
    _pool: Pool = field(default_factory=lambda: Pool(()))
    _history: History = field(default_factory=lambda: NO_HISTORY)

    def renew(self, servers: Sequence[ServerCapacity], history: History) -> None:
        if history is not self._history or not self._pool.renew(servers):
            self._pool, self._history = Pool(servers, history), history

    def decide(
        self, outlook: Outlook, used: Mapping[UUID | None, float], ledger: Ledger
    ) -> tuple[dict[UUID, Answer], dict[UUID, Reservation]]:
        self._pool.begin(outlook.now, outlook.holds)
        answers: dict[UUID, Answer] = {}
        promised: dict[UUID, Promise] = {}
        turns = self.line.turns(loads(used))
        for row, request in turns:
            if ledger.refuses(row):
                turns.drop()
            elif found := self._pool.place(row.shape, row.hold_seconds):
                answers[request.workload_id] = _placed(*found)
                ledger.take(row)
            elif len(promised) < outlook.reservations and (start := self._reserve(row, ledger)):
                promised[request.workload_id] = start
                ledger.promise(row, start[0])
            else:
                turns.drop()  # capacity only shrinks within a plan
        for workload_id in answers:
            self.line.remove(workload_id)
        answers |= self._words(ledger, promised)
        answers |= {it: self._with_promise(answers[it], promise) for it, promise in promised.items()}
        return answers, {it: _reserved(*promise) for it, promise in promised.items()}

    def _reserve(self, row: Row, ledger: Ledger) -> Promise | None:
        return self._pool.reserve(row.shape, row.hold_seconds) if ledger.may_be_promised(row) else None

    def _with_promise(self, answer: Answer, promise: Promise) -> Answer:
        start, server = promise
        assert isinstance(answer, Waits), "what could never run was promised a place"  # noqa: S101
        return replace(answer, message=answer.message + words.promised(self._pool.name(server), start))

    def _words(self, ledger: Ledger, promised: Collection[UUID]) -> dict[UUID, Answer]:
        """They come last, so that everyone who waits is told of the same servers: as this plan leaves them."""
        told: dict[Shape, Waits | Never] = {}
        answers: dict[UUID, Answer] = {}
        for row, workload_ids in self.line.rows():
            if row.shape not in told:
                told[row.shape] = _worded(row.shape, self._pool)
            answers |= dict.fromkeys(workload_ids, told[row.shape])
            if isinstance(told[row.shape], Waits) and (over := ledger.why_refused(row)):
                refused = (it for it in workload_ids if it not in promised)
                answers |= dict.fromkeys(refused, Waits(Reason.OVER_QUOTA, over))
        return answers


def _reserved(start: Moment, server: ServerId) -> Reservation:
    return Reservation(server, datetime.fromtimestamp(start, UTC))


def _placed(server: ServerId, gpu_resource: str) -> Place:
    return Place(server.name, gpu_resource, server.cluster)


def _worded(shape: Shape, pool: Pool) -> Waits | Never:
    reason, message = explain(shape, pool)
    if reason is Reason.NEVER_FITS or reason is Reason.NO_MATCHING_GPU:
        return Never(reason, message)
    return Waits(reason, message)
