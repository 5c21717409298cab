"""With which one change a request would start now; and that it would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.gpus import GpuRequirements, parse_capability
from app.domain.quantity import parse_cpu, parse_memory
from app.placement.plan import Outlook, Place, Planner, plan
from app.placement.relax import Change, Relaxation
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from tests.depth import examples
from tests.placement.builders import GI, server
from tests.placement.test_reservations import HOUR, Situation, fleets, hold, lasting, outlook, queues

CHANGED: dict[Change, Callable[[Request, str], Request]] = {
    Change.TIMEOUT: lambda it, value: replace(
        it, run_seconds=int(value), hold_seconds=it.hold_seconds - it.run_seconds + int(value)
    ),
    Change.CPU: lambda it, value: replace(it, cpu_millis=parse_cpu(value)),
    Change.MEMORY: lambda it, value: replace(it, memory_bytes=parse_memory(value)),
    Change.PRODUCT: lambda it, value: _wanting(it, products=(value,)),
    Change.GPU_MEMORY: lambda it, value: _wanting(it, memory_bytes=parse_memory(value)),
    Change.COMPUTE_CAPABILITY: lambda it, value: _wanting(it, compute_capability=parse_capability(value)),
    Change.GPU_COUNT: lambda it, value: replace(it, gpu_count=int(value)),
}


def _wanting(it: Request, **changes: Any) -> Request:
    return replace(it, wanted=it.wanted._replace(**changes))


def asked(queue: list[Request], known: Outlook, *servers: ServerCapacity) -> dict[int, list[Relaxation]]:
    """Of those who wait, by their numbers."""
    planner = Planner()
    found = planner.plan(queue, Snapshot(servers), known)
    waiting = [it for it in queue if not isinstance(found.answers[it.workload_id], Place)]
    return {it.workload_id.int: planner.relaxations(it) for it in waiting}


def told(wanted: Request, *servers: ServerCapacity) -> list[str]:
    return [it.message for it in asked([wanted], outlook(), *servers)[wanted.workload_id.int]]


def test_less_cpu_or_memory_where_that_alone_is_missing():
    fleet = [server("a", 4, cpu_free=20_000), server("b", 4, cpu_free=30_500), server("c", 0), server("d", 1)]
    assert told(lasting(1, 4, 1, cpu_millis=40_000), *fleet) == [
        "fits now on b with cpu <= 30.5",
        "fits now on d with 1 GPU",
    ]
    short = server("a", memory_free=100 * GI + 5)
    assert told(lasting(1, 1, 1, memory_bytes=200 * GI), short) == ["fits now on a with memory <= 100Gi"]


def test_nothing_is_suggested_that_would_hardly_be_the_same_job():
    assert told(lasting(1, 4, 1, cpu_millis=41_000), server("a", cpu_free=10_000)) == []


def test_fewer_gpus_also_where_it_could_never_have_them_all():
    assert told(lasting(1, 16, 1), server("a", 5), server("b", 7)) == ["fits now on b with 7 GPUs"]


def test_other_gpus_than_those_asked_for():
    small = server("a", product="Tesla-T4", gpu_memory_mib=15_360, compute_capability=(7, 5))
    needs = [
        GpuRequirements(products=("H100",)),
        GpuRequirements(memory_bytes=40 * 10**9),
        GpuRequirements(compute_capability=(8, 0)),
    ]
    assert [told(lasting(1, 1, 1, wanted=it), small) for it in needs] == [
        ["fits now on a with GPUs of product Tesla-T4"],
        ["fits now on a with 15360Mi of memory for each GPU"],
        ["fits now on a with compute capability 7.5"],
    ]
    assert (
        told(lasting(1, 1, 1, wanted=GpuRequirements(("H100",), 40 * 10**9)), small) == []
    )  # one change is not enough
    assert told(lasting(1, 1, 1, wanted=GpuRequirements(is_shared=True)), small) == []


def test_a_shorter_limit_before_what_is_kept_there():
    queue = [lasting(1, 8, 1, priority=1), lasting(2, 2, 3)]
    found = asked(queue, outlook(hold("a", 2, 4), reservations=1), server("a", 4))
    assert [it.message for it in found[2]] == [f"fits now on a with a run limit of {2 * HOUR} s at most"]
    assert [it.message for it in found[1]] == ["fits now on a with 4 GPUs"]


def test_a_server_that_is_avoided_or_closed_is_not_suggested():
    closed, lost = server("a", unusable="cordoned"), server("b")
    assert told(lasting(1, 9, 1, avoid=("b",)), closed, lost) == []


@settings(max_examples=examples(100), deadline=None)
@given(queue=queues(), there=fleets())
def test_what_is_suggested_holds(queue: list[Request], there: Situation):
    servers, known = there
    for number, found in asked(queue, known, *servers).items():
        for it in found:
            changed = [CHANGED[it.change](one, it.value) if one.workload_id.int == number else one for one in queue]
            [one] = [one for one in changed if one.workload_id.int == number]
            answer = plan(changed, Snapshot(tuple(servers)), known).answers[one.workload_id]
            assert isinstance(answer, Place), (it, answer)


@settings(max_examples=examples(50), deadline=None)
@given(queue=queues(), there=fleets(), data=st.data())
def test_the_order_of_listing_changes_no_suggestion(queue: list[Request], there: Situation, data: st.DataObject):
    servers, known = there
    assert asked(queue, known, *servers) == asked(queue[::-1], known, *data.draw(st.permutations(servers)))


def test_the_order_of_those_who_wait():
    queue = [lasting(number, 8, hours) for number, hours in enumerate((4, 1, 2))]
    planner = Planner()
    found = planner.plan(queue, Snapshot((server("a"),)), outlook())
    assert [it.int for it in found.placements] == [1]
    assert [it.int for it in planner.order("acme", {})] == [2, 0]
    assert planner.order("other", {}) == []
