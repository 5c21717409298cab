"""How many GPUs a project's workloads may have: a maximum for all, the guarantee for those that aren't preemptible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.gpus import GpuRequirements
from app.domain.quota import Quota
from app.domain.states import Reason
from app.placement.plan import Never, Outlook, Plan, Planner, Waits, plan
from app.placement.quotas import Budget, Budgets
from app.placement.request import Request
from app.placement.snapshot import Snapshot
from tests.depth import examples
from tests.placement.builders import capacity, server
from tests.placement.test_reservations import NOW, Situation, fleets, hold, lasting, outlook, placed, starts

A, B = UUID(int=100), UUID(int=101)
IDLE = Snapshot((server("a", 8), server("b", 8)))


def budget(guaranteed: int | None = None, maximum: int | None = None, used: int = 0, firm: int | None = None) -> Budget:
    return Budget("Vision", Quota(guaranteed, maximum), used, used if firm is None else firm)


def within(known: Outlook, of_a: Budget, **more: Budget) -> Outlook:
    return replace(known, budgets={"acme": {A: of_a, **({B: more["of_b"]} if more else {})}})


def of_a(number: int, gpus: int, hours: float = 1, *, preemptible: bool = False, **fields: object) -> Request:
    return lasting(number, gpus, hours, project=A, preemptible=preemptible, **fields)


def told(found: Plan, number: int) -> tuple[Reason, str]:
    answer = found.answers[UUID(int=number)]
    assert isinstance(answer, Waits | Never)
    return answer.reason, answer.message


def test_a_project_gets_no_more_than_its_maximum():
    queue = [of_a(1, 4, priority=1), of_a(2, 4), of_a(3, 2, preemptible=True), lasting(4, 8, 1)]
    found = plan(queue, IDLE, within(outlook(), budget(maximum=6)))
    assert set(placed(found)) == {1, 3, 4}
    assert told(found, 2) == (Reason.OVER_QUOTA, "needs 4 GPUs; project Vision uses 6 of at most 6 GPUs")


def test_what_runs_counts():
    found = plan([of_a(1, 2), of_a(2, 1)], IDLE, within(outlook(), budget(maximum=8, used=7)))
    assert set(placed(found)) == {2}
    assert told(found, 1)[1] == "needs 2 GPUs; project Vision uses 8 of at most 8 GPUs"


def test_only_preemptible_ones_go_beyond_the_guarantee():
    queue = [of_a(1, 4, priority=1), of_a(2, 1), of_a(3, 4, preemptible=True)]
    found = plan(queue, IDLE, within(outlook(), budget(guaranteed=4, used=3, firm=0)))
    assert set(placed(found)) == {1, 3}
    assert told(found, 2)[0] is Reason.OVER_QUOTA
    assert told(found, 2)[1] == (
        "needs 1 GPU and is not preemptible; project Vision is guaranteed 4 GPUs, of which 4 are taken by such "
        "workloads: only preemptible ones may go beyond the guarantee"
    )


@pytest.mark.parametrize("quota", [budget(0), budget(maximum=0), budget(0, 0)])
def test_a_quota_of_nothing_is_no_absent_quota(quota: Budget):
    assert placed(plan([of_a(1, 1)], IDLE, within(outlook(), quota))) == {}
    assert placed(plan([of_a(1, 1)], IDLE, within(outlook(), budget()))) != {}


def test_slices_shares_and_others_are_not_counted():
    mig, shared = "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"
    fleet = Snapshot((capacity("m", {mig: 7, shared: 8}, {mig: 7, shared: 8}), server("a", 8)))
    queue = [
        of_a(1, 7, wanted=GpuRequirements(mig_profile="1g.10gb")),
        of_a(2, 8, wanted=GpuRequirements(is_shared=True)),
        lasting(3, 8, 1, project=B),
    ]
    assert set(placed(plan(queue, fleet, within(outlook(), budget(0, 0))))) == {1, 2, 3}


def test_what_could_never_run_is_told_that_first():
    found = plan([of_a(1, 16)], IDLE, within(outlook(), budget(maximum=2)))
    assert told(found, 1)[0] is Reason.NEVER_FITS


def test_a_quota_is_told_before_what_is_free():
    found = plan([of_a(1, 8)], Snapshot((server("a", 0),)), within(outlook(), budget(maximum=2)))
    assert told(found, 1)[0] is Reason.OVER_QUOTA


def test_who_is_over_the_quota_is_promised_nothing_and_is_in_nobodys_way():
    queue = [of_a(1, 8, priority=1), of_a(2, 2, priority=1), lasting(3, 8, 1)]
    found = plan(queue, Snapshot((server("a", 2),)), within(outlook(hold("a", 1, 6)), budget(maximum=4)))
    assert (placed(found), starts(found)) == ({2: "a"}, {3: ("a", 1.0)})


def test_a_promise_takes_of_the_projects_share_for_who_is_there_then():
    queue = [of_a(1, 4, priority=1), of_a(2, 3, 3), of_a(3, 3, 2)]
    fleet = Snapshot((server("a", 0), server("b", 8, cpu_free=2_000)))
    known = within(outlook(hold("a", 2, 4)), budget(maximum=6))
    queue[0] = replace(queue[0], cpu_millis=4_000)
    found = plan(queue, fleet, known)
    assert (starts(found)[1], placed(found)) == (("a", 2.0), {3: "b"})
    assert told(found, 2)[1] == (
        "needs 3 GPUs; project Vision uses 3 of at most 6 GPUs, and 4 more are kept for its workloads that go before "
        "this one"
    )


def test_beyond_the_guarantees_nothing_is_promised():
    queue = [of_a(1, 8, preemptible=True), lasting(2, 8, 1, preemptible=True), of_a(3, 4, preemptible=True)]
    known = outlook(hold("a", 1, 8))
    nothing_free = Snapshot((server("a", 0),))
    assert set(starts(plan(queue, nothing_free, within(known, budget(guaranteed=4))))) == {3}
    assert set(starts(plan(queue, nothing_free, within(known, budget(maximum=8))))) == {1, 2, 3}


# for every situation


@st.composite
def queues(draw: st.DrawFn) -> list[Request]:
    return [
        lasting(
            number,
            draw(st.sampled_from((1, 2, 4, 6))),
            draw(st.sampled_from((0.5, 1, 2, 9))),
            age=draw(st.integers(0, 20_000)),
            priority=draw(st.sampled_from((0, 0, 1))),
            project=draw(st.sampled_from((A, A, B, None))),
            preemptible=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 9)))
    ]


@st.composite
def budgets(draw: st.DrawFn) -> dict[UUID | None, Budget]:
    found: dict[UUID | None, Budget] = {}
    for project in (A, B):
        guaranteed = draw(st.none() | st.integers(0, 6))
        maximum = draw(st.none() | st.integers(guaranteed or 0, 9))
        used = draw(st.integers(0, 4))
        found[project] = budget(guaranteed, maximum, used, draw(st.integers(0, used)))
    return found


often = settings(max_examples=examples(60), deadline=None)


def asked(queue: Iterable[Request], ids: Iterable[UUID], project: UUID | None) -> list[Request]:
    wanted = {it.workload_id: it for it in queue}
    return [wanted[id_] for id_ in ids if wanted[id_].project == project]


@often
@given(queue=queues(), there=fleets(), quotas=budgets())
def test_no_project_gets_more_than_its_quota_now_or_when_a_promise_is_kept(
    queue: list[Request], there: Situation, quotas: dict[UUID | None, Budget]
):
    servers, known = there
    found = plan(queue, Snapshot(tuple(servers)), replace(known, budgets={"acme": quotas}))
    for project, it in quotas.items():
        now = asked(queue, found.placements, project)
        for moment in (NOW, *(promise.starts_by.timestamp() for promise in found.reservations.values())):
            started = [id_ for id_, promise in found.reservations.items() if promise.starts_by.timestamp() <= moment]
            promised = asked(queue, started, project)
            there_then = [one for one in now if NOW + one.hold_seconds > moment] + promised
            taken = sum(one.gpu_count for one in there_then)
            firm = sum(one.gpu_count for one in there_then if not one.preemptible)
            assert not taken or it.quota.maximum is None or it.used + taken <= it.quota.maximum
            assert not firm or it.quota.guaranteed is None or it.firm + firm <= it.quota.guaranteed


@often
@given(queue=queues(), there=fleets(), quotas=budgets())
def test_who_waits_for_the_quota_would_exceed_it(
    queue: list[Request], there: Situation, quotas: dict[UUID | None, Budget]
):
    servers, known = there
    found = plan(queue, Snapshot(tuple(servers)), replace(known, budgets={"acme": quotas}, reservations=0))
    for wanted in queue:
        answer = found.answers[wanted.workload_id]
        it = quotas.get(wanted.project)
        if it is None or not isinstance(answer, Waits):
            continue
        now = asked(queue, found.placements, wanted.project)
        used = it.used + sum(one.gpu_count for one in now) + wanted.gpu_count
        firm = it.firm + sum(one.gpu_count for one in now if not one.preemptible) + wanted.gpu_count
        over = it.quota.maximum is not None and used > it.quota.maximum
        over |= not wanted.preemptible and it.quota.guaranteed is not None and firm > it.quota.guaranteed
        assert (answer.reason is Reason.OVER_QUOTA) == over


@often
@given(queue=queues(), there=fleets(), quotas=budgets(), others=budgets())
def test_neither_the_order_of_listing_nor_the_last_plan_changes_anything(
    queue: list[Request], there: Situation, quotas: dict[UUID | None, Budget], others: dict[UUID | None, Budget]
):
    servers, known = there
    snapshot, planner = Snapshot(tuple(servers)), Planner()
    planner.plan(queue, snapshot, replace(known, budgets={"acme": others}))
    now = replace(known, budgets={"acme": quotas})
    assert planner.plan(queue, snapshot, now) == plan(queue[::-1], Snapshot(tuple(servers[::-1])), now)


@often
@given(queue=queues(), there=fleets())
def test_a_quota_that_nobody_meets_changes_nothing(queue: list[Request], there: Situation):
    servers, known = there
    ample: Budgets = {A: budget(None, 1000), B: budget(None, 1000)}
    snapshot = Snapshot(tuple(servers))
    assert plan(queue, snapshot, replace(known, budgets={"acme": ample})) == plan(queue, snapshot, known)
