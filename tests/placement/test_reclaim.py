"""Making room: who is preempted for whom, and that it is never more, dearer or for less than it must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any
from uuid import UUID

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.quota import Quota
from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.calendar import Hold
from app.placement.plan import Outlook, Plan, Preemption, Waits, in_order, plan
from app.placement.quotas import Budget, Budgets
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from app.placement.victims import Running
from tests.depth import examples
from tests.placement.builders import GPU, request, server
from tests.placement.test_quotas import A, B
from tests.placement.test_reservations import HOUR, NOW, lasting, most_taken, placed, starts

STOP = 150.0
NAMES = "abcd"


@dataclass(frozen=True)
class Run:
    """What runs on a server; `ran` and `left` are hours."""

    number: int
    on: str
    gpus: int
    ran: float = 1
    left: float = 10
    project: UUID | None = A
    priority: int = 50
    preemptible: bool = True
    cpu: int = 0

    @property
    def hold(self) -> Hold:
        return Hold(NOW + self.left * HOUR, GPU, self.gpus, self.cpu, 0)

    @property
    def lost(self) -> int:
        return self.gpus * int(self.ran * HOUR)

    @property
    def running(self) -> Running:
        began = NOW - self.ran * HOUR
        id_ = UUID(int=1000 + self.number)
        return Running(id_, 1, ServerId(self.on), self.hold, began, began, self.project, self.priority)


def there(runs: Sequence[Run], quotas: Mapping[UUID, Quota] | None = None, **fields: Any) -> Outlook:
    holds: dict[ServerId, list[Hold]] = {}
    for run in runs:
        holds.setdefault(ServerId(run.on), []).append(run.hold)
    budgets: Budgets = {project: budget(project, quota, runs) for project, quota in (quotas or {}).items()}
    running = {"acme": [run.running for run in runs if run.preemptible]}
    return Outlook(now=NOW, holds=holds, budgets={"acme": budgets}, running=running, stop_seconds=STOP, **fields)


def budget(project: UUID | None, quota: Quota, runs: Iterable[Run]) -> Budget:
    theirs = [run for run in runs if run.project == project]
    firm = sum(run.gpus for run in theirs if not run.preemptible)
    return Budget("Vision", quota, sum(run.gpus for run in theirs), firm)


def fleet(runs: Sequence[Run], names: str = "a", cpu: int = 64_000) -> Snapshot:
    return Snapshot(tuple(_server(name, [run for run in runs if run.on == name], cpu) for name in names))


def _server(name: str, runs: Sequence[Run], cpu: int) -> ServerCapacity:
    return server(name, 8 - sum(it.gpus for it in runs), cpu_free=cpu - sum(it.cpu for it in runs), cpu_total=cpu)


def wants(gpus: int, *, number: int = 1, project: UUID | None = B, priority: int = 50, **fields: Any) -> Request:
    return lasting(number, gpus, 5, project=project, priority=priority, **fields)


def victims(found: Plan, number: int = 1) -> list[int]:
    preemption = found.preemptions.get(UUID(int=number))
    return sorted(id_.int - 1000 for id_, _ in preemption.victims) if preemption else []


B_HAS_4 = {B: Quota(4), A: Quota(2)}


def test_who_is_within_the_guarantee_gets_what_others_use_beyond_theirs():
    runs = [Run(1, "a", 2, ran=9), Run(2, "a", 2, ran=1), Run(3, "a", 2, ran=2), Run(4, "a", 2, ran=3)]
    found = plan([wants(4)], fleet(runs), there(runs, B_HAS_4))
    assert found.preemptions == {
        UUID(int=1): Preemption(ServerId("a"), ((UUID(int=1002), 1), (UUID(int=1003), 1)), by_right=True)
    }
    assert starts(found) == {1: ("a", STOP / HOUR)}
    assert found.answers[UUID(int=1)] == Waits(
        Reason.MAKING_ROOM,
        (
            "gets GPUs on a of workloads that are preempted for it, once they have stopped; "
            "it starts on a by 2027-01-15 08:03 UTC at the latest, unless something goes before it"
        ),
    )


def test_nobody_is_preempted_for_who_would_be_beyond_its_own_guarantee():
    runs = [Run(1, "a", 8)]
    for wanted in (wants(5, preemptible=True), wants(5), wants(1, project=None), wants(3, project=A, preemptible=True)):
        assert plan([wanted], fleet(runs), there(runs, B_HAS_4)).preemptions == {}


def test_what_its_guarantee_covers_is_left_alone_the_oldest_first():
    runs = [Run(1, "a", 2, ran=1), Run(2, "a", 2, ran=9), Run(3, "a", 2, ran=2), Run(4, "a", 2, ran=3)]
    assert victims(plan([wants(4)], fleet(runs), there(runs, {B: Quota(4), A: Quota(4)}))) == [1, 3]
    assert victims(plan([wants(4)], fleet(runs), there(runs, {B: Quota(4), A: Quota(6)}))) == []


def test_who_is_not_preemptible_uses_up_the_guarantee_first():
    runs = [Run(1, "a", 2, ran=1, preemptible=False), Run(2, "a", 6, ran=9)]
    assert victims(plan([wants(4)], fleet(runs), there(runs, {B: Quota(4), A: Quota(6)}))) == [2]


def test_a_project_without_a_guarantee_has_nothing_that_is_covered():
    runs = [Run(1, "a", 8, project=None), Run(2, "b", 8, preemptible=False, project=None)]
    assert victims(plan([wants(4)], fleet(runs, "ab"), there(runs, {B: Quota(4)}))) == [1]


def test_the_lowest_priority_goes_before_the_least_loss():
    runs = [Run(1, "a", 4, ran=1, priority=70), Run(2, "a", 4, ran=9, priority=30)]
    assert victims(plan([wants(4)], fleet(runs), there(runs, {B: Quota(4)}))) == [2]


def test_a_higher_priority_preempts_within_its_project_alone():
    runs = [Run(1, "a", 4, project=A), Run(2, "a", 4, project=B)]
    assert victims(plan([wants(4, project=A, priority=70)], fleet(runs), there(runs))) == [1]
    assert victims(plan([wants(4, project=A, priority=50)], fleet(runs), there(runs))) == []
    alike = [Run(1, "a", 4, project=None), Run(2, "a", 4, project=B)]
    assert victims(plan([wants(4, project=None, priority=70)], fleet(alike), there(alike))) == [1]


def test_who_does_not_allow_it_is_never_preempted():
    runs = [Run(1, "a", 8, preemptible=False)]
    assert plan([wants(4, priority=70, project=A)], fleet(runs), there(runs, B_HAS_4)).preemptions == {}


def test_nobody_is_preempted_for_who_can_start_anyway_or_soon():
    runs = [Run(1, "a", 4), Run(2, "a", 4, left=0.04)]
    assert starts(plan([wants(4)], fleet(runs), there(runs, B_HAS_4))) == {1: ("a", 0.04)}
    assert plan([wants(4)], fleet(runs), there(runs, B_HAS_4)).preemptions == {}
    assert plan([wants(4)], fleet(runs, "ab"), there(runs, B_HAS_4)).preemptions == {}


def test_all_or_nothing_on_one_server():
    runs = [Run(1, "a", 2), Run(2, "a", 6, preemptible=False), Run(3, "b", 2), Run(4, "b", 6, preemptible=False)]
    assert plan([wants(4)], fleet(runs, "ab"), there(runs, {B: Quota(4)})).preemptions == {}


def test_cpu_counts_as_gpus_do():
    runs = [Run(1, "a", 2, ran=1, cpu=1_000), Run(2, "a", 2, ran=2, cpu=7_000)]
    assert victims(plan([wants(4, cpu_millis=6_000)], fleet(runs, cpu=8_000), there(runs, {B: Quota(4)}))) == [2]


def test_what_becomes_free_for_it_is_nobody_elses():
    """Nor is what is free on that server by now taken by others who stay, however they are ranked."""
    runs = [Run(1, "a", 6)]
    first = plan([wants(8)], fleet(runs), there(runs, {B: Quota(8)}))
    assert victims(first) == [1]
    stopping = [replace(runs[0], left=0.01)]
    queue = [wants(8, nominated=ServerId("a")), lasting(2, 2, 1, priority=90), lasting(3, 2, 0.005, priority=90)]
    known = replace(there(stopping, {B: Quota(8)}), running={})
    found = plan(queue, fleet(stopping), known)
    assert (starts(found)[1], placed(found)) == (("a", 0.01), {3: "a"})
    assert found.answers[UUID(int=1)] == Waits(Reason.MAKING_ROOM, _text(found, 1))
    after = plan(queue, fleet([]), there([], {B: Quota(8)}))
    assert placed(after) == {1: "a"}


def _text(found: Plan, number: int) -> str:
    answer = found.answers[UUID(int=number)]
    assert isinstance(answer, Waits)
    assert answer.message.startswith("gets GPUs on a of workloads that are preempted for it")
    return answer.message


def test_a_promise_that_was_made_before_is_kept():
    """The other who goes before it counts on the end of what runs; only what ends in time may come between."""
    runs = [Run(1, "a", 8, left=2)]
    queue = [lasting(2, 8, 1, project=None, priority=90), wants(4)]
    known = there(runs, {B: Quota(4)})
    assert plan(queue, fleet(runs), known).preemptions == {}
    brief = replace(queue[1], hold_seconds=HOUR)
    found = plan([queue[0], brief], fleet(runs), known)
    assert (starts(found)[2], victims(found)) == (("a", 2.0), [1])


def test_what_becomes_free_beside_it_is_promised_to_others():
    runs = [Run(1, "a", 6)]
    found = plan([wants(4), lasting(2, 4, 1, project=None, age=-9)], fleet(runs), there(runs, {B: Quota(4)}))
    assert starts(found) == {1: ("a", STOP / HOUR), 2: ("a", STOP / HOUR)}


def test_one_is_made_room_for_at_a_time():
    runs = [Run(1, "a", 4, ran=2), Run(2, "a", 4, ran=1)]
    found = plan([wants(4), wants(4, number=2)], fleet(runs), there(runs, {B: Quota(8)}))
    assert len(found.preemptions) == 1
    assert victims(found, 1) == [2]


def test_who_is_stopped_on_another_server_than_where_it_fits_is_not_asked_twice():
    """A nomination that has become void is no obstacle: room is made anew, elsewhere."""
    runs = [Run(1, "b", 8)]
    found = plan([wants(4, nominated=ServerId("gone"))], fleet(runs, "b"), there(runs, B_HAS_4))
    assert victims(found) == [1]


# for every situation


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Run], dict[UUID, Quota], str]:
    names = NAMES[: draw(st.integers(1, 2))]
    runs: list[Run] = []
    for name in names:
        left = draw(st.integers(6, 8))
        while left and len(runs) < 9 and draw(st.sampled_from((True, True, True, False))):
            gpus = min(left, draw(st.sampled_from((1, 1, 2, 3, 4))))
            left -= gpus
            runs.append(draw(run(len(runs), name, gpus)))
    quotas = {project: Quota(draw(st.none() | st.integers(0, 8))) for project in (A, B)}
    return runs, quotas, names


@st.composite
def run(draw: st.DrawFn, number: int, on: str, gpus: int) -> Run:
    return Run(
        number,
        on,
        gpus,
        ran=draw(st.sampled_from((0, 0.5, 1, 2, 2.5))),
        left=draw(st.sampled_from((0.01, 1, 3))),
        project=draw(st.sampled_from((A, A, B, None))),
        priority=draw(st.sampled_from((30, 50, 70))),
        preemptible=draw(st.sampled_from((True, True, True, False))),
        cpu=draw(st.sampled_from((0, 1_000, 3_000))),
    )


@st.composite
def requests(draw: st.DrawFn, number: int) -> Request:
    return request(
        number,
        draw(st.sampled_from((1, 2, 4, 6, 8))),
        run_seconds=HOUR,
        hold_seconds=draw(st.sampled_from((HOUR // 2, 5 * HOUR))),
        project=draw(st.sampled_from((A, B, B, None))),
        priority=draw(st.sampled_from((30, 50, 70))),
        preemptible=draw(st.booleans()),
        cpu_millis=draw(st.sampled_from((0, 1_000, 4_000))),
        age=draw(st.integers(0, 9)),
    )


queues = st.integers(1, 4).flatmap(lambda count: st.tuples(*map(requests, range(1, count + 1))))
often = settings(max_examples=examples(80), deadline=None)


def covered(runs: Sequence[Run], quotas: dict[UUID, Quota]) -> set[int]:
    """What the guarantees of the projects cover, one after the other."""
    found: set[int] = set()
    for project in {run.project for run in runs}:
        left = (_guaranteed(quotas, project) or 0) - sum(
            it.gpus for it in runs if it.project == project and not it.preemptible
        )
        theirs = [it for it in runs if it.project == project and it.preemptible]
        for it in sorted(theirs, key=lambda it: (-it.priority, -it.ran, it.number)):
            if it.gpus <= left:
                left -= it.gpus
                found.add(it.number)
    return found


def _guaranteed(quotas: Mapping[UUID, Quota], project: UUID | None) -> int | None:
    return quotas[project].guaranteed if project is not None and project in quotas else None


def eligible(wanted: Request, runs: Sequence[Run], quotas: dict[UUID, Quota]) -> list[Run]:
    guaranteed = _guaranteed(quotas, wanted.project)
    used = sum(it.gpus for it in runs if it.project == wanted.project and (wanted.preemptible or not it.preemptible))
    is_right = guaranteed is not None and used + wanted.gpu_count <= guaranteed
    safe = covered(runs, quotas)
    return [
        it
        for it in runs
        if it.preemptible
        and it.left * HOUR > STOP
        and ((is_right and it.number not in safe) or (it.project == wanted.project and it.priority < wanted.priority))
    ]


def fits(wanted: Request, on: str, runs: Sequence[Run], gone: Iterable[Run], cpu: int) -> bool:
    """Once these are gone, and those that end soon by themselves."""
    left = [it for it in runs if it.on == on and it not in gone and it.left * HOUR > STOP]
    enough_cpu = cpu - sum(it.cpu for it in left) >= wanted.cpu_millis
    return enough_cpu and 8 - sum(it.gpus for it in left) >= wanted.gpu_count


def costs(chosen: Sequence[Run]) -> tuple[int, int, int]:
    return max(it.priority for it in chosen), sum(it.lost for it in chosen), len(chosen)


@often
@given(situation=situations(), wanted=requests(1))
def test_the_choice_is_the_cheapest_of_all_that_suffice(
    situation: tuple[list[Run], dict[UUID, Quota], str], wanted: Request
):
    runs, quotas, names = situation
    found = plan([wanted], fleet(runs, names, 8_000), there(runs, quotas))
    chosen = [run for run in runs if run.number in victims(found)]
    may = eligible(wanted, runs, quotas)
    possible = [
        some
        for on in names
        for count in range(1, len(may) + 1)
        for some in combinations([it for it in may if it.on == on], count)
        if fits(wanted, on, runs, some, 8_000)
    ]
    waits = found.answers[wanted.workload_id]
    refused = isinstance(waits, Waits) and waits.reason is Reason.OVER_QUOTA
    if refused or any(fits(wanted, on, runs, (), 8_000) for on in names):
        assert chosen == []
    else:
        assert (costs(chosen) if chosen else None) == min(map(costs, possible), default=None)


@often
@given(situation=situations(), queue=queues)
def test_all_victims_are_on_one_server_where_the_request_fits_then_and_none_is_superfluous(
    situation: tuple[list[Run], dict[UUID, Quota], str], queue: tuple[Request, ...]
):
    runs, quotas, names = situation
    found = plan(queue, fleet(runs, names, 8_000), there(runs, quotas))
    assert len(found.preemptions) <= 1
    for wanted in queue:
        if preemption := found.preemptions.get(wanted.workload_id):
            chosen = [run for run in runs if run.number in victims(found, wanted.workload_id.int)]
            [on] = {run.on for run in chosen}
            assert (ServerId(on), STOP) == (preemption.server, starts(found)[wanted.workload_id.int][1] * HOUR)
            assert set(chosen) <= set(eligible(wanted, runs, quotas))
            assert fits(wanted, on, runs, chosen, 8_000)


@often
@given(situation=situations(), queue=queues)
def test_no_promise_is_broken_and_no_more_is_given_than_there_is(
    situation: tuple[list[Run], dict[UUID, Quota], str], queue: tuple[Request, ...]
):
    runs, quotas, names = situation
    snapshot, known = fleet(runs, names), there(runs, quotas, reservations=3)
    found = plan(queue, snapshot, known)
    gone = {number for wanted in queue for number in victims(found, wanted.workload_id.int)}
    left = [replace(run, left=min(run.left, STOP / HOUR)) if run.number in gone else run for run in runs]
    for on in snapshot.servers:
        ours = on.gpus_free[GPU] + sum(run.gpus for run in runs if run.on == on.name)
        assert most_taken(on, queue, found, there(left)) <= ours
    turns = in_order(queue, {})
    for id_, promise in found.reservations.items():
        before = turns[: turns.index(id_) + 1]
        alone = plan([it for it in queue if it.workload_id in before], snapshot, known)
        assert alone.reservations[id_] == promise


@often
@given(situation=situations(), queue=queues, data=st.data())
def test_the_order_of_listing_changes_no_choice(
    situation: tuple[list[Run], dict[UUID, Quota], str], queue: tuple[Request, ...], data: st.DataObject
):
    runs, quotas, names = situation
    other, servers = data.draw(st.permutations(runs)), fleet(runs, names).servers[::-1]
    first = plan(queue, fleet(runs, names), there(runs, quotas))
    assert first == plan(queue[::-1], Snapshot(servers), there(other, quotas))


@often
@given(situation=situations(), queue=queues)
def test_preempting_comes_to_rest(situation: tuple[list[Run], dict[UUID, Quota], str], queue: tuple[Request, ...]):
    """Nobody who was preempted preempts back: with nothing new it ends, whoever is placed and requeued on the way."""
    runs, quotas, names = situation
    assume(all(run.left * HOUR > STOP for run in runs))
    waiting, number, stops = {it.workload_id.int: it for it in queue}, 100, 0
    for _ in range(60):
        found = plan(waiting.values(), fleet(runs, names), there(runs, quotas, reservations=0))
        for id_, place in found.placements.items():
            wanted, number = waiting.pop(id_.int), number + 1
            ran = -number / HOUR  # younger than everybody before
            runs = [*runs, _begun(wanted, number, place.server, ran)]
        for id_, preemption in found.preemptions.items():
            waiting[id_.int] = replace(waiting[id_.int], nominated=preemption.server)
            for victim, _ in preemption.victims:
                stopped = next(run for run in runs if run.number == victim.int - 1000)
                runs = [run for run in runs if run is not stopped]
                waiting[victim.int] = _again(stopped, victim.int)
                stops += 1
        if not found.placements and not found.preemptions:
            return
    raise AssertionError(f"{stops} were preempted, and it goes on")


def _begun(wanted: Request, number: int, on: str, ran: float) -> Run:
    return Run(
        number, on, wanted.gpu_count, ran, 10, wanted.project, wanted.priority, wanted.preemptible, wanted.cpu_millis
    )


def _again(stopped: Run, number: int) -> Request:
    return lasting(
        number,
        stopped.gpus,
        5,
        project=stopped.project,
        priority=stopped.priority,
        preemptible=True,
        cpu_millis=stopped.cpu,
    )
