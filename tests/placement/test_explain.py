"""The sentences of those that no server can take whatever is free, and which reason comes first.

Those for whom something must become free are in test_explain_waiting.py. All are asserted through `plan`.
"""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.cuda import CudaVersion
from app.domain.states import Reason
from app.placement.plan import Waits
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity
from tests.placement.builders import GI, GPU, answer, answers, capacity, request, server, told

CUDA = CudaVersion(12, 2)
CORDONED: dict[str, Any] = {"unusable": "cordoned"}
LOST: dict[str, Any] = {"unusable": "not ready"}
NO_GPUS = "needs 1 GPU; the pool has no server with GPUs"
CLOSED = "1 is closed for 1, 1 is closed for 2, 1 is closed for 3, 1 is closed for 4"


NEVER = [
    (
        "more GPUs than the largest server has",
        request(gpus=16),
        [server("gpu-2"), server("gpu-1"), server("gpu-3", 4, 4)],
        "needs 16 GPUs on one server; the largest server, gpu-1, has 8",
    ),
    (
        "a cordoned server with unhealthy GPUs is the largest",
        request(gpus=16),
        [server("a", 4, 4), server("b", 0, 8, unhealthy=8, **CORDONED)],
        "needs 16 GPUs on one server; the largest server, b, has 8",
    ),
    (
        "two kinds of GPU on one server do not add up",
        request(gpus=8),
        [capacity("a", {}, {GPU: 4, "amd.com/gpu": 4})],
        "needs 8 GPUs on one server; the largest server, a, has 4 of one kind",
    ),
    ("no server at all", request(), [], NO_GPUS),
    (
        "more CPU than beside so many GPUs",
        request(gpus=8, cpu_millis=96_500),
        [server("a"), server("b", cpu_total=80_000), server("c", 4, 4, cpu_total=128_000)],
        "needs 8 GPUs and 96.5 cpu on one server; the most cpu beside so many GPUs is 80, on b",
    ),
    (
        "more memory than beside so many GPUs",
        request(gpus=1, memory_bytes=2**41),
        [server("a")],
        "needs 1 GPU and 2Ti memory on one server; the most memory beside so many GPUs is 512Gi, on a",
    ),
    (
        "each is there but not together",
        request(gpus=8, cpu_millis=96_000, memory_bytes=768 * GI),
        [server("a", cpu_total=128_000), server("b", memory_total=2**40)],
        "needs 8 GPUs, 96 cpu and 768Gi memory on one server; no server has all of it",
    ),
]


@pytest.mark.parametrize(
    ("wanted", "servers", "message"), [case[1:] for case in NEVER], ids=[case[0] for case in NEVER]
)
def test_never_fits(wanted: Request, servers: list[ServerCapacity], message: str):
    assert told(wanted, *servers) == (Reason.NEVER_FITS, message)


NO_USABLE = [
    (
        "two causes",
        [server("a", **CORDONED), server("b", **LOST), server("c", **CORDONED), server("small", 1, 1)],
        "needs 2 GPUs; of 3 servers large enough 2 are cordoned and 1 is not ready",
    ),
    ("one server", [server("gpu-1", **CORDONED)], "needs 2 GPUs; the only server large enough, gpu-1, is cordoned"),
    ("one cause", [server("a", **LOST), server("b", **LOST)], "needs 2 GPUs; all 2 servers large enough are not ready"),
    (
        "a taint and a condition are had",
        [server("a", unusable="taint team=a:NoSchedule"), server("b", unusable="DiskPressure")],
        "needs 2 GPUs; of 2 servers large enough 1 has DiskPressure and 1 has taint team=a:NoSchedule",
    ),
    (
        "several have them",
        [*(server(name, unusable="DiskPressure") for name in "ab"), server("c", **CORDONED)],
        "needs 2 GPUs; of 3 servers large enough 2 have DiskPressure and 1 is cordoned",
    ),
    (
        "causes beyond the fourth are counted together",
        [server(str(number), unusable=f"closed for {number}") for number in range(1, 7)],
        f"needs 2 GPUs; of 6 servers large enough {CLOSED} and 2 are not usable for other causes",
    ),
    (
        "a cause beyond the fourth",
        [server(str(number), unusable=f"closed for {number}") for number in range(1, 6)],
        f"needs 2 GPUs; of 5 servers large enough {CLOSED} and 1 is not usable for other causes",
    ),
]


@pytest.mark.parametrize(("servers", "message"), [case[1:] for case in NO_USABLE], ids=[case[0] for case in NO_USABLE])
def test_no_usable_server(servers: list[ServerCapacity], message: str):
    assert told(request(gpus=2), *servers) == (Reason.NO_USABLE_SERVER, message)


def test_servers_that_are_too_small_in_memory_are_not_counted():
    servers = [server("a", **CORDONED), server("b", memory_total=GI, **LOST)]
    message = "needs 2 GPUs; the only server large enough, a, is cordoned"
    assert told(request(gpus=2, memory_bytes=2 * GI), *servers) == (Reason.NO_USABLE_SERVER, message)


OLD_DRIVER = [
    (
        "the newest is named",
        [server("gpu-3", driver=(450, 80, 2)), server("gpu-4", driver=(470, 42)), server("x", 1, 1, driver=(580,))],
        "needs driver 525.60.13 or newer for CUDA 12.2; the newest on a server large enough is 470.42, on gpu-4",
    ),
    (
        "the first by name among equals, its version as NVIDIA prints it",
        [server("b", driver=(450, 80, 2)), server("a", driver=(450, 80, 2))],
        "needs driver 525.60.13 or newer for CUDA 12.2; the newest on a server large enough is 450.80.02, on a",
    ),
    (
        "a closed server has a newer one",
        [server("a", driver=(470, 42)), server("b", driver=(580, 65, 6), **CORDONED)],
        "needs driver 525.60.13 or newer for CUDA 12.2; the newest on a usable server large enough is 470.42, on a",
    ),
]


@pytest.mark.parametrize(("servers", "message"), [case[1:] for case in OLD_DRIVER], ids=[c[0] for c in OLD_DRIVER])
def test_driver_too_old(servers: list[ServerCapacity], message: str):
    assert told(request(gpus=2, cuda=CUDA), *servers) == (Reason.DRIVER_TOO_OLD, message)


def test_the_reasons_come_in_a_fixed_order():
    """A fleet on which each reason holds; the servers are taken away from the front, reason by reason."""
    wanted = request(gpus=4, cpu_millis=8000, cuda=CUDA)
    fleet = [
        server("short-of-cpu", 4, cpu_free=1000, driver=(580,)),
        server("full", 1, driver=(580,)),
        server("old", 8, driver=(470,)),
        server("closed", 8, **CORDONED),
        server("small", 2, 2),
    ]
    assert [told(wanted, *fleet[at:])[0] for at in range(len(fleet))] == [
        Reason.WAITING_FOR_CPU_OR_MEMORY,
        Reason.WAITING_FOR_GPUS,
        Reason.DRIVER_TOO_OLD,
        Reason.NO_USABLE_SERVER,
        Reason.NEVER_FITS,
    ]


def test_each_cuda_version_is_named_to_its_own_workloads():
    queue = [request(1, cuda=CudaVersion(12, 2)), request(2, cuda=CudaVersion(12, 4))]
    found = answers(queue, server("a", driver=(470, 42)))
    assert [f"CUDA 12.{minor};" in found[at].message for at, minor in ((1, 2), (2, 4))] == [True, True]  # type: ignore[union-attr]


def test_all_of_one_shape_get_the_same_words():
    found = answers([request(number, 8) for number in range(1, 4)], server("a"))
    assert found[2] is found[3]


def test_the_reason_is_told_after_the_plan_has_taken_its_servers():
    found = answers([request(1, 4, age=9), request(2, 8)], server("a"))
    assert found[2] == Waits(Reason.WAITING_FOR_GPUS, "needs 8 GPUs on one server; the largest free block is 4, on a")
    assert answer(request(2, 8), server("a")) != found[2]
