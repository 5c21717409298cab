"""Whole GPUs, MIG slices and shares: each is what it is, whatever the resource is called."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.states import Reason
from app.placement.plan import Outlook, Place, plan
from app.placement.request import Request
from app.placement.room import Ask
from app.placement.snapshot import ServerCapacity, Snapshot
from tests.placement.builders import GI, GPU, answer, answers, capacity, request, server, told

MIG, SHARED = "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"
A100, H100, T4 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "Tesla-T4"
SLICE, SHARE = GpuRequirements(mig_profile="1g.10gb"), GpuRequirements(is_shared=True)
ONE_NAME = {GPU: 7}
MIXED = capacity("mixed", {GPU: 2, MIG: 7, SHARED: 4}, {GPU: 2, MIG: 7, SHARED: 4}, product=A100)
SINGLE = capacity("single", ONE_NAME, ONE_NAME, product=f"{A100}-MIG-1g.10gb")
SLICED = capacity("sliced", ONE_NAME, ONE_NAME, product=f"{A100}-SHARED")
INVALID = capacity("invalid", ONE_NAME, ONE_NAME, product=f"{A100}-MIG-INVALID")


def placed(wanted: Request, *servers: ServerCapacity) -> tuple[str, str] | None:
    found = answer(wanted, *servers)
    return (found.server, found.gpu_resource) if isinstance(found, Place) else None


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        (ANY_GPU, [("mixed", GPU), None, None, None]),
        (SLICE, [("mixed", MIG), ("single", GPU), None, None]),
        (SHARE, [("mixed", SHARED), None, ("sliced", GPU), None]),
        (GpuRequirements(mig_profile="2g.20gb"), [None, None, None, None]),
        (GpuRequirements(mig_profile="1g.10gb", is_shared=True), [None, None, None, None]),
    ],
)
def test_each_is_met_by_its_own_kind_alone(wanted: GpuRequirements, places: list[tuple[str, str] | None]):
    assert [placed(request(wanted=wanted), it) for it in (MIXED, SINGLE, SLICED, INVALID)] == places


def test_a_mixed_server_counts_nothing_twice():
    queue = [request(at, wanted=wanted) for at, wanted in enumerate([ANY_GPU] * 3 + [SLICE] * 8 + [SHARE] * 5)]
    taken = [found.gpu_resource for found in answers(queue, MIXED).values() if isinstance(found, Place)]
    assert {name: taken.count(name) for name in (GPU, MIG, SHARED)} == {GPU: 2, MIG: 7, SHARED: 4}


def test_slices_take_the_cpu_that_whole_gpus_would_need():
    narrow = capacity("a", {GPU: 1, MIG: 7}, {GPU: 1, MIG: 7}, cpu_free=3000)
    queue = [request(at, age=9 - at, wanted=SLICE) for at in range(3)] + [request(9)]
    found = answers(queue, narrow)
    assert [isinstance(found[number], Place) for number in (0, 1, 2, 9)] == [True, True, True, False]


def of(product: str, **fields: Any) -> GpuRequirements:
    return GpuRequirements(products=(product,), **fields)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (of("T4"), "t4"),
        (of("h100"), "h100"),
        (GpuRequirements(memory_bytes=40 * 10**9), "a100"),
        (GpuRequirements(memory_bytes=80 * 10**9, compute_capability=(9, 0)), "h100"),
        (GpuRequirements(compute_capability=(7, 5)), "t4"),
        (GpuRequirements(products=("H100", "A100"), compute_capability=(8, 0)), "a100"),
        (ANY_GPU, "t4"),
    ],
)
def test_the_cheapest_that_satisfies_is_taken(wanted: GpuRequirements, name: str):
    servers = [
        server("h100", product=H100, gpu_memory_mib=81_559, compute_capability=(9, 0)),
        server("a100", product=A100, gpu_memory_mib=40_960, compute_capability=(8, 0)),
        server("t4", product=T4, gpu_memory_mib=15_360, compute_capability=(7, 5)),
    ]
    assert placed(request(wanted=wanted), *servers) == (name, GPU)


def test_what_no_label_tells_meets_no_demand():
    plain = server("a")
    for wanted in (of("T4"), GpuRequirements(memory_bytes=1), GpuRequirements(compute_capability=(1, 0))):
        assert placed(request(wanted=wanted), plain) is None


T4S = [server(name, product=T4, gpu_memory_mib=15_360, compute_capability=(7, 5)) for name in "ab"]
A100S = server("c", product=A100, gpu_memory_mib=81_920, compute_capability=(8, 0))
UNMET = [
    (of("H100"), "needs 1 GPU of product H100; the 3 servers have NVIDIA-A100-SXM4-80GB and Tesla-T4"),
    (
        GpuRequirements(memory_bytes=100 * GI),
        "needs 1 GPU with 100Gi of memory or more; the most is 80Gi, of NVIDIA-A100-SXM4-80GB",
    ),
    (
        of("T4", memory_bytes=24 * 10**9),
        "needs 1 GPU of product T4 with 24G of memory or more; the most is 15Gi, of Tesla-T4",
    ),
    (
        of("T4", compute_capability=(8, 0)),
        "needs 1 GPU of product T4 with compute capability 8.0 or higher; the most is 7.5, of Tesla-T4",
    ),
    (SLICE, "needs 1 MIG slice 1g.10gb; the 3 servers have whole GPUs"),
    (SHARE, "needs 1 shared GPU; the 3 servers have whole GPUs"),
]


@pytest.mark.parametrize(("wanted", "message"), UNMET)
def test_what_no_server_has_is_told_beside_what_there_is(wanted: GpuRequirements, message: str):
    assert told(request(wanted=wanted), *T4S, A100S) == (Reason.NO_MATCHING_GPU, message)


def test_a_pool_of_slices_says_so_to_whoever_wants_whole_gpus():
    parts = capacity("a", {}, {MIG: 7, SHARED: 4})
    message = "needs 1 GPU; the only server with GPUs, a, has shared GPUs and MIG slices 1g.10gb"
    assert told(request(), parts) == (Reason.NO_MATCHING_GPU, message)
    unlabelled = told(request(wanted=of("T4")), server("a"))
    assert unlabelled[1].endswith("the only server with GPUs, a, has GPUs without a product label")
    unknown = told(request(wanted=GpuRequirements(memory_bytes=1)), server("a", product=T4))
    assert unknown[1].endswith("no label tells the memory of Tesla-T4")


def test_among_servers_that_have_the_right_ones_the_usual_reasons_hold():
    wanted = request(gpus=3, wanted=of("T4"))
    small = server("small", 2, 2, product=T4)
    assert told(wanted, small, A100S) == (
        Reason.NEVER_FITS,
        "needs 3 GPUs of product T4 on one server; the largest server with such, small, has 2",
    )
    full = server("full", 1, product=T4)
    assert told(wanted, full, A100S) == (
        Reason.WAITING_FOR_GPUS,
        "needs 3 GPUs of product T4 on one server; the largest free block on a server that qualifies is 1, on full",
    )
    closed = server("closed", 8, product=T4, unusable="cordoned")
    assert told(wanted, closed, A100S) == (
        Reason.NO_USABLE_SERVER,
        "needs 3 GPUs of product T4; the only server large enough, closed, is cordoned",
    )


def test_slices_that_are_taken_are_told_as_slices():
    taken = capacity("a", {MIG: 1}, {MIG: 7}, cpu_free=0)
    short = "1 MIG slice 1g.10gb is free on a, but it has 0 cpu free and 1 are needed"
    assert told(request(wanted=SLICE), taken) == (Reason.WAITING_FOR_CPU_OR_MEMORY, short)


def test_a_model_that_others_insist_on_is_left_to_them_whatever_word_they_use():
    picky = Ask(1, 1000, GI, wanted=of("t4"))
    wanted = request()
    servers = (server("a", 1, product=T4), server("b", 8, product=A100), MIXED)
    free, insisted = ({"acme": {Ask(1, 1000, GI): 5}}, {"acme": {Ask(1, 1000, GI): 1, picky: 9}})
    found = [
        plan([wanted], Snapshot(servers), Outlook(histories=it)).placements[wanted.workload_id].server
        for it in (free, insisted)
    ]
    assert found == ["a", "mixed"]
