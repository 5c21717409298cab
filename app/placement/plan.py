"""One answer for every waiting workload: a server, or why it waits, or that it can never run on these servers.

Caller: the scheduling loop, which writes the placements. A plan is a function of the queue, a snapshot and what is
known beside them; the order in which they list things changes nothing. The first in the line that fit nowhere get a
reservation where the known limits of what runs promise one; others may go before them if they are not in its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from app.placement.keeper import Keeper
from app.placement.line import Key, Line, Row, aged_area, loads, row_of
from app.placement.pool import Pool
from app.placement.quotas import NO_BUDGETS, Budgets, Ledger
from app.placement.reclaim import Reclaim
from app.placement.relax import Relaxation, relaxations
from app.placement.request import Request
from app.placement.shape import Shape
from app.placement.snapshot import ServerCapacity, Snapshot
from app.placement.timeline import Moment
from app.placement.victims import Running, Victims


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

    `used` is what each project has used of late, in GPU-seconds whose weight decays. `running` has what may be
    preempted, which is gone after `stop_seconds` at the latest. `keep_after` is how many seconds somebody waits for
    GPUs of pods of others before a server is kept for it; None: none ever is.
    """

    now: Moment = 0.0
    holds: Holds = field(default_factory=dict)
    histories: Mapping[str, History] = field(default_factory=dict)
    used: Mapping[str, Mapping[UUID | None, float]] = field(default_factory=dict)
    reservations: int = 10
    budgets: Mapping[str, Budgets] = field(default_factory=dict)
    running: Mapping[str, Sequence[Running]] = field(default_factory=dict)
    stop_seconds: float = 150.0
    keep_after: float | None = None


@dataclass(frozen=True, slots=True)
class Preemption:
    """Attempts to be stopped, as (workload, number), so that the request gets their GPUs on that server.

    `by_right`: the request is within its project's guarantee; else it is of a higher priority.
    """

    server: ServerId
    victims: tuple[tuple[UUID, int], ...]
    by_right: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The answers by workload: those that were placed in their order, then the rest.

    `preemptions` are by the workload for whose sake they are: one of an organization at most. Who comes next is looked
    at once that is stored.
    """

    answers: Mapping[UUID, Answer]
    reservations: Mapping[UUID, Reservation] = field(default_factory=dict)
    preemptions: Mapping[UUID, Preemption] = field(default_factory=dict)

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
        preemptions: dict[UUID, Preemption] = {}
        for organization, desk in self._desks.items():
            desk.line.renew(waiting[organization])
            desk.renew(pools.get(organization, ()), outlook.histories.get(organization, NO_HISTORY))
            made = desk.decide(outlook, organization)
            answers |= made.answers
            reservations |= {it: _reserved(*promise) for it, promise in made.promised.items()}
            preemptions |= made.preemptions
        return Plan(answers, reservations, preemptions)

    def order(self, organization: str, used: Mapping[UUID | None, float]) -> list[UUID]:
        """Those of the organization that the last plan left waiting, the next one first."""
        desk = self._desks.get(organization)
        return [request.workload_id for _, request in desk.line.turns(loads(used))] if desk else []

    def relaxations(self, request: Request) -> list[Relaxation]:
        """What would let a request start that the last plan left waiting."""
        desk = self._desks.get(request.organization)
        return desk.relaxations(request) if desk else []


Promise = tuple[Moment, ServerId]


@dataclass
class _Made:
    """One organization's part of a plan, as far as it has come. `making_room`: for whom, and where."""

    ledger: Ledger
    reclaim: Reclaim
    most_promises: int
    answers: dict[UUID, Answer] = field(default_factory=dict)
    promised: dict[UUID, Promise] = field(default_factory=dict)
    making_room: dict[UUID, ServerId] = field(default_factory=dict)
    preemptions: dict[UUID, Preemption] = field(default_factory=dict)

    @property
    def has_promises_left(self) -> bool:
        return len(self.promised) - len(self.making_room) < self.most_promises

    def may_be_promised(self, row: Row) -> bool:
        return self.has_promises_left and self.ledger.may_be_promised(row)

    def has_settled(self, workload_id: UUID) -> bool:
        return workload_id in self.answers or workload_id in self.promised


def _begin(outlook: Outlook, organization: str) -> _Made:
    budgets = outlook.budgets.get(organization, NO_BUDGETS)
    victims = Victims(outlook.running.get(organization, ()), budgets)
    reclaim = Reclaim(victims, outlook.now, outlook.now + outlook.stop_seconds)
    return _Made(Ledger(budgets, outlook.now), reclaim, outlook.reservations)


@dataclass
class _Desk:
    """One organization's."""

    line: Line
    _pool: Pool = field(default_factory=lambda: Pool(()))
    _history: History = field(default_factory=lambda: NO_HISTORY)
    _ledger: Ledger | None = None  # of the last plan

    def renew(self, servers: Sequence[ServerCapacity], history: History) -> None:
        if history is not self._history or not self._pool.renew(servers):
            self._pool, self._history = Pool(servers, history), history

    def decide(self, outlook: Outlook, organization: str) -> _Made:
        self._pool.begin(outlook.now, outlook.holds)
        made = _begin(outlook, organization)
        self._ledger = made.ledger
        keeper = Keeper(self._pool, outlook.now, outlook.keep_after, outlook.reservations)
        self._settle_nominated(made)
        turns = self.line.turns(loads(outlook.used.get(organization, {})))
        for row, request in turns:
            if request.nominated is not None and made.has_settled(request.workload_id):
                continue
            if made.ledger.refuses(row):
                turns.drop()
            elif found := self._pool.place(row.shape, row.hold_seconds):
                made.answers[request.workload_id] = _placed(*found)
                made.ledger.take(row)
            elif promise := self._later(row, request, made):
                made.promised[request.workload_id] = promise
                made.ledger.promise(row, promise[0])
            else:
                if made.may_be_promised(row):
                    keeper.ask(request)
                turns.drop()  # capacity only shrinks within a plan
        for workload_id in made.answers:
            self.line.remove(workload_id)
        made.answers |= self._words(made)
        for workload_id, more in keeper.told().items():
            made.answers[workload_id] = _going_on(made.answers[workload_id], more)
        return made

    def _settle_nominated(self, made: _Made) -> None:
        """First come those for whom others were preempted: what becomes free for them is nobody else's."""
        for request in self.line.nominated():
            server, row = request.nominated, row_of(request)
            if server is None or made.ledger.refuses(row):
                continue
            if resource := self._pool.place_on(server, row.shape, row.hold_seconds):
                made.answers[request.workload_id] = _placed(server, resource)
                made.ledger.take(row)
                continue
            found = self._pool.first_start(row.shape, row.hold_seconds, server)
            if found and found[0] <= made.reclaim.gone_by:
                made.promised[request.workload_id] = self._pool.promise(found[1], row.shape, found[0], row.hold_seconds)
                made.ledger.promise(row, found[0])
                made.making_room[request.workload_id] = server

    def _later(self, row: Row, request: Request, made: _Made) -> Promise | None:
        """Keep it a place from some moment on: once room is made for it, or when the known ends allow it."""
        by_right = made.ledger.is_within_guarantee(row)
        may_help = made.reclaim.may_help(row, by_right=by_right)
        may_wait = made.may_be_promised(row)
        if not may_help and not may_wait:
            return None
        found = self._pool.first_start(row.shape, row.hold_seconds)
        is_soon = found is not None and found[0] <= made.reclaim.gone_by
        if may_help and not is_soon and (choice := made.reclaim.choose(row, self._pool, by_right=by_right)):
            found = made.reclaim.gone_by, choice.number
            victims = tuple((it.workload_id, it.attempt) for it in choice.victims)
            made.preemptions[request.workload_id] = Preemption(choice.server, victims, by_right)
            made.making_room[request.workload_id] = choice.server
        elif not may_wait:
            return None
        return self._pool.promise(found[1], row.shape, found[0], row.hold_seconds) if found else None

    def relaxations(self, request: Request) -> list[Relaxation]:
        is_refused = self._ledger is None or self._ledger.refuses(row_of(request))
        return [] if is_refused else relaxations(request, self._pool)

    def _with_promise(self, workload_id: UUID, answer: Answer, made: _Made) -> Answer:
        start, server = made.promised[workload_id]
        if workload_id in made.making_room:
            answer = Waits(Reason.MAKING_ROOM, words.making_room(self._pool.name(server)))
        return _going_on(answer, words.promised(self._pool.name(server), start))

    def _words(self, made: _Made) -> dict[UUID, Answer]:
        """They come last, so that everyone who waits is told of the same servers: as this plan leaves them."""
        told: dict[Shape, Waits | Never] = {}
        answers: dict[UUID, Answer] = {}
        for row, workload_ids in self.line.rows():
            if row.shape not in told:
                told[row.shape] = _worded(row.shape, self._pool)
            answers |= dict.fromkeys(workload_ids, told[row.shape])
            if isinstance(told[row.shape], Waits) and (over := made.ledger.why_refused(row)):
                refused = (it for it in workload_ids if it not in made.promised)
                answers |= dict.fromkeys(refused, Waits(Reason.OVER_QUOTA, over))
        return answers | {it: self._with_promise(it, answers[it], made) for it in made.promised}


def _going_on(answer: Answer, more: str) -> Answer:
    assert isinstance(answer, Waits), "a server is promised to or kept for what could never run"  # noqa: S101
    return replace(answer, message=answer.message + more)


def _reserved(start: Moment, server: ServerId) -> Reservation:
    return Reservation(server, datetime.fromtimestamp(start, UTC))


def _placed(server: ServerId, gpu_resource: str) -> Place:
    return Place(server.name, gpu_resource, server.cluster)


def _worded(shape: Shape, pool: Pool) -> Waits | Never:
    reason, message = explain(shape, pool)
    if reason is Reason.NEVER_FITS or reason is Reason.NO_MATCHING_GPU:
        return Never(reason, message)
    return Waits(reason, message)
