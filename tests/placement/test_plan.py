"""Who goes where, and in which order. The sentences are tested in test_explain.py."""

from __future__ import annotations

import pytest

from app.domain.cuda import CudaVersion
from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.plan import Never, Place, Waits
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, out_of_contact
from tests.placement.builders import GI, GPU, answer, answers, capacity, request, server

CUDA_12 = CudaVersion(12, 2)


def placed_on(queue: list[Request], *servers: ServerCapacity) -> dict[int, str]:
    return {number: found.server for number, found in answers(queue, *servers).items() if isinstance(found, Place)}


CHOICES = [
    ("the fullest server that still fits", [server("a", 8), server("b", 3), server("c", 1)], 2, "b"),
    ("equal GPUs: the least CPU left", [server("a", 4), server("b", 4, cpu_free=8000)], 2, "b"),
    ("equal GPUs and CPU: the least memory left", [server("a", 4), server("b", 4, memory_free=64 * GI)], 2, "b"),
    ("all equal: by name", [server("b", 4), server("a", 4)], 2, "a"),
    ("too little CPU: the next fuller count", [server("a", 8), server("b", 2, cpu_free=500)], 2, "a"),
    ("too little memory: the next", [server("a", 2, memory_free=1), server("b", 2, cpu_free=65_000)], 2, "b"),
    (
        "too little CPU at two counts of free GPUs",
        [server("a", 2, cpu_free=500), server("b", 3, cpu_free=500), server("c", 3)],
        2,
        "c",
    ),
    ("an over-committed server is passed by", [server("a", -1), server("b", 2, cpu_free=-1), server("c")], 1, "c"),
    ("an unusable server is passed by", [server("a", 1, unusable="cordoned"), server("b")], 1, "b"),
    ("another organization's server is passed by", [server("a", 1, organization="other"), server("b")], 1, "b"),
]


@pytest.mark.parametrize(("servers", "gpus", "chosen"), [case[1:] for case in CHOICES], ids=[c[0] for c in CHOICES])
def test_the_chosen_server(servers: list[ServerCapacity], gpus: int, chosen: str):
    assert answer(request(gpus=gpus), *servers) == Place(chosen, GPU)


DRIVERS = [
    ("a driver of the CUDA major's minimum", (525, 60, 13), CUDA_12, True),
    ("an older driver", (525, 60, 12), CUDA_12, False),
    ("a driver that nobody reported", None, CUDA_12, True),
    ("an old driver for an image of unknown CUDA version", (470, 42), None, True),
    ("a CUDA major of which no minimum is known", (470, 42), CudaVersion(99, 0), True),
]


@pytest.mark.parametrize(("driver", "cuda", "fits"), [case[1:] for case in DRIVERS], ids=[case[0] for case in DRIVERS])
def test_the_driver_must_run_the_image(driver: tuple[int, ...] | None, cuda: CudaVersion | None, fits: bool):
    assert isinstance(answer(request(cuda=cuda), server("a", driver=driver)), Place) == fits


def test_a_newer_driver_is_found_though_an_older_one_is_fuller():
    servers = [server("old", 1, driver=(470, 42)), server("new", 8, driver=(580, 65, 6))]
    assert answer(request(cuda=CUDA_12), *servers) == Place("new", GPU)


def test_priority_goes_before_age_and_age_before_id():
    queue = [request(4), request(3), request(2, age=60), request(1, age=30), request(5, priority=1)]
    assert list(answers(queue, server("a"))) == [5, 2, 1, 3, 4]


def test_who_comes_first_gets_the_last_gpus():
    found = answers([request(1, 4), request(2, 4, age=60)], server("a", 4))
    assert found[2] == Place("a", GPU)
    assert isinstance(found[1], Waits)


def test_a_small_workload_goes_past_a_large_one_that_waits():
    assert placed_on([request(1, 8, age=60), request(2, 2)], server("a", 4)) == {2: "a"}


def test_each_placement_is_subtracted_from_the_server():
    queue = [request(number, 4, cpu_millis=30_000) for number in range(1, 6)]
    assert placed_on(queue, server("a"), server("b")) == {1: "a", 2: "a", 3: "b", 4: "b"}


def test_memory_is_subtracted_too():
    queue = [request(number, memory_bytes=40 * GI) for number in range(1, 4)]
    assert placed_on(queue, server("a", memory_free=100 * GI)) == {1: "a", 2: "a"}


def test_one_that_does_not_fit_says_nothing_of_those_that_ask_for_less():
    greedy = request(1, 2, age=60, cpu_millis=16_000)
    modest = request(2, 2, age=30, cpu_millis=8_000), request(3, 2, memory_bytes=2 * GI, cuda=CUDA_12)
    assert placed_on([greedy, *modest], server("a", cpu_free=9000)) == {2: "a", 3: "a"}


def test_unhealthy_gpus_are_not_given_out():
    assert isinstance(answer(request(gpus=8), server("a", 7, 8, unhealthy=1)), Waits)


def test_gpus_of_two_resource_names_are_never_mixed():
    both = {GPU: 2, "amd.com/gpu": 3}
    assert answer(request(gpus=3), capacity("a", both, both)) == Place("a", "amd.com/gpu")
    assert isinstance(answer(request(gpus=4), capacity("a", both, both)), Never)


def test_two_resource_names_of_one_server_share_its_cpu():
    both = {GPU: 2, "amd.com/gpu": 2}
    queue = [request(number, 2, cpu_millis=2000) for number in (1, 2)]
    found = answers(queue, capacity("a", both, both, cpu_free=3000))
    assert found[1] == Place("a", "amd.com/gpu")
    assert found[2].reason is Reason.WAITING_FOR_CPU_OR_MEMORY  # type: ignore[union-attr]


@pytest.mark.parametrize("resource", ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"])
def test_a_slice_is_never_given_for_a_whole_gpu(resource: str):
    assert isinstance(answer(request(), capacity("a", {resource: 7}, {resource: 7})), Never)


AVOIDED = [
    ("an avoided server is passed by", [server("a", 1), server("b")], {"a"}, "b"),
    ("the only server is used though it is avoided", [server("a")], {"a"}, "a"),
    ("the only one that is large enough is used", [server("a"), server("b", 1, 1)], {"a"}, "a"),
    ("the only one that has the driver is used", [server("a", driver=(580,)), server("b", driver=(470,))], {"a"}, "a"),
    ("while another is full it waits", [server("a"), server("b", 0)], {"a"}, None),
    ("another that is cordoned is no reason to wait", [server("a"), server("b", unusable="cordoned")], {"a"}, "a"),
    ("nor is one whose healthy GPUs are too few", [server("a"), server("b", 1, 2, unhealthy=1)], {"a"}, "a"),
    ("where all are avoided none is", [server("a"), server("b", 4)], {"a", "b"}, "b"),
    ("a server that is gone can be avoided", [server("a")], {"gone"}, "a"),
    ("another pool's server is no alternative", [server("a"), server("b", organization="other")], {"a"}, "a"),
]


@pytest.mark.parametrize(("servers", "avoid", "chosen"), [case[1:] for case in AVOIDED], ids=[c[0] for c in AVOIDED])
def test_avoided_servers(servers: list[ServerCapacity], avoid: set[str], chosen: str | None):
    found = answer(request(gpus=2, cuda=CUDA_12, avoid=avoid), *servers)
    assert found == Place(chosen, GPU) if chosen else isinstance(found, Waits)


def test_too_large_for_every_server_is_never_and_not_waits():
    found = answer(request(gpus=16), server("a"))
    assert isinstance(found, Never)
    assert found.reason is Reason.NEVER_FITS


def test_an_organization_without_servers_is_answered_too():
    assert isinstance(answer(request(organization="other"), server("a")), Never)


def test_an_empty_queue_makes_an_empty_plan():
    assert answers([], server("a")) == {}


def test_those_who_wait_are_told_of_what_the_plan_leaves():
    found = answers([request(1, 8, age=60), request(2, 6)], server("a", 7))
    assert found[1] == Waits(Reason.WAITING_FOR_GPUS, "needs 8 GPUs on one server; the largest free block is 1, on a")


def test_namesakes_of_two_clusters_are_two_servers():
    found = answers([request(1, 4), request(2, 4)], server("a", 4, cluster="x"), server("a", 4, cluster="y"))
    assert found == {1: Place("a", GPU, "x"), 2: Place("a", GPU, "y")}


def test_equals_go_by_name_before_cluster():
    assert answer(request(), server("b", cluster="x"), server("a", cluster="y")) == Place("a", GPU, "y")


def test_a_server_is_avoided_in_its_cluster_only():
    found = answer(request(avoid=("x/a",)), server("a", cluster="x"), server("a", cluster="y"))
    assert found == Place("a", GPU, "y")


def test_a_server_out_of_contact_takes_nothing():
    away = out_of_contact(ServerId("a", "x"), "acme", {GPU: 8}, None, None, "in cluster x, which does not answer")
    assert answer(request(), away, server("b", 8, cluster="y")) == Place("b", GPU, "y")
