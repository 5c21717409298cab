"""What holds for all kinds of GPU together: against an oracle that knows the names and labels and nothing else.

Servers are generated with few products and few devices, so that kinds are mixed and everything is scarce.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.states import Reason
from app.placement.plan import Place, Plan, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot
from tests.placement.builders import capacity, request

GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"
PRODUCTS = ("", "NVIDIA-A100-SXM4-80GB", "Tesla-T4")
MIB = 2**20


@st.composite
def servers(draw: st.DrawFn, name: str) -> ServerCapacity:
    suffix = draw(st.sampled_from(("", "", "", "-SHARED", "-MIG-1g.10gb", "-MIG-INVALID", "-MIG-1g.10gb-SHARED")))
    total = draw(st.dictionaries(st.sampled_from((GPU, SHARED, MIG)), st.integers(0, 4), max_size=3))
    return capacity(
        name,
        free={resource: draw(st.integers(-1, count)) for resource, count in total.items()},
        total=total,
        product=draw(st.sampled_from(PRODUCTS)) + suffix,
        gpu_memory_mib=draw(st.sampled_from((None, 15_360, 81_920))),
        compute_capability=draw(st.sampled_from(((), (7, 5), (8, 0), (10, 0)))),
        cpu_free=draw(st.integers(0, 8)),
        cpu_total=8,
    )


wishes = st.builds(
    GpuRequirements,
    products=st.sampled_from(((), (), ("A100",), ("t4",), ("H100", "Tesla T4"))),
    memory_bytes=st.sampled_from((0, 0, 10 * 10**9, 16 * 10**9, 80 * 10**9)),
    compute_capability=st.sampled_from(((), (), (8, 0), (9, 0))),
    mig_profile=st.sampled_from(("", "", "", "1g.10gb")),
    is_shared=st.sampled_from((False, False, True)),
)


@st.composite
def requests(draw: st.DrawFn, number: int) -> Request:
    wanted = draw(st.one_of(st.just(ANY_GPU), wishes))
    count = draw(st.sampled_from((1, 1, 2, 3)))
    return request(number, count, age=draw(st.integers(0, 2)), cpu_millis=draw(st.integers(0, 3)), wanted=wanted)


fleets = st.integers(0, 4).flatmap(lambda count: st.tuples(*map(servers, "abcd"[:count])))
queues = st.sampled_from((1, 6, 12)).flatmap(lambda count: st.tuples(*map(requests, range(count))))
often = settings(max_examples=200, deadline=None)


def meets(server: ServerCapacity, resource: str, wanted: GpuRequirements) -> bool:
    """By what NVIDIA's plugin and labels write, spelled out for the three names above."""
    if server.product.endswith("-MIG-INVALID") and resource != MIG:
        return False
    is_shared = resource == SHARED or (resource == GPU and server.product.endswith("-SHARED"))
    is_slice = resource == MIG or "-MIG-" in server.product
    memory = 10 * 10**9 if is_slice else (server.gpu_memory_mib or 0) * MIB
    words = {"A100": "A100", "t4": "T4", "H100": "H100", "Tesla T4": "T4"}
    return (
        is_shared == wanted.is_shared
        and is_slice == bool(wanted.mig_profile)
        and (not wanted.products or any(words[it] in server.product for it in wanted.products))
        and memory >= wanted.memory_bytes
        and (server.compute_capability or (0,)) >= wanted.compute_capability
    )


def left(found: Plan, queue: Sequence[Request], fleet: Sequence[ServerCapacity]) -> Counter[tuple[str, str]]:
    """By server, what is free of each resource name and of CPU once every placement is subtracted."""
    free = Counter({(it.name, resource): count for it in fleet for resource, count in it.gpus_free.items()})
    free.update({(it.name, "cpu"): it.cpu_free for it in fleet})
    by_id = {each.workload_id: each for each in queue}
    for workload, place in found.placements.items():
        free[place.server, place.gpu_resource] -= by_id[workload].gpu_count
        free[place.server, "cpu"] -= by_id[workload].cpu_millis
    return free


@often
@given(queue=queues, fleet=fleets)
def test_a_workload_gets_what_it_asked_for(queue: Sequence[Request], fleet: Sequence[ServerCapacity]):
    by_name, by_id = {it.name: it for it in fleet}, {each.workload_id: each for each in queue}
    for workload, place in plan(queue, Snapshot(tuple(fleet))).placements.items():
        assert meets(by_name[place.server], place.gpu_resource, by_id[workload].wanted)


@often
@given(queue=queues, fleet=fleets)
def test_no_name_is_given_out_beyond_what_is_free_of_it(queue: Sequence[Request], fleet: Sequence[ServerCapacity]):
    found = plan(queue, Snapshot(tuple(fleet)))
    before = left(Plan({}), queue, fleet)
    assert all(count >= 0 or count == before[name] for name, count in left(found, queue, fleet).items())


@often
@given(queue=queues, fleet=fleets)
def test_who_waits_fits_nowhere_and_is_told_whether_there_is_such_a_gpu(
    queue: Sequence[Request], fleet: Sequence[ServerCapacity]
):
    found = plan(queue, Snapshot(tuple(fleet)))
    free = left(found, queue, fleet)
    for each in queue:
        answer = found.answers[each.workload_id]
        if isinstance(answer, Place):
            continue
        there = [(it, name) for it in fleet for name, count in it.gpus_total.items() if count]
        matching = [(it, name) for it, name in there if meets(it, name, each.wanted)]
        assert (answer.reason is Reason.NO_MATCHING_GPU) == bool(there and not matching)
        enough = [(it, name) for it, name in matching if free[it.name, name] >= each.gpu_count]
        assert not any(free[it.name, "cpu"] >= each.cpu_millis for it, _ in enough)


@often
@given(queue=queues, fleet=fleets, data=st.data())
def test_the_order_in_which_things_are_listed_changes_nothing(
    queue: Sequence[Request], fleet: Sequence[ServerCapacity], data: st.DataObject
):
    shuffled = data.draw(st.permutations(queue)), Snapshot(tuple(data.draw(st.permutations(fleet))))
    assert plan(queue, Snapshot(tuple(fleet))).answers == plan(*shuffled).answers
