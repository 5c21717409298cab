"""The sentences of those for whom a large enough, usable server exists: its GPUs, CPU or memory are taken."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.cuda import CudaVersion
from app.domain.states import Reason
from app.placement.snapshot import ServerCapacity
from tests.placement.builders import GI, request, server, told

CUDA = CudaVersion(12, 2)
CORDONED: dict[str, Any] = {"unusable": "cordoned"}
CLOSED: dict[str, Any] = {"unusable": "cordoned by ada: fans", "is_closed": True}
CLOSED_FITS = (
    "needs 2 GPUs on one server; the largest free block on a server that qualifies is 1, on a; "
    "it would fit on b, which is cordoned by ada: fans"
)
ONE_FREE = "needs 2 GPUs on one server; the largest free block is 1, on a"


WAITING: list[tuple[str, int, list[ServerCapacity], str]] = [
    (
        "the largest block is named",
        8,
        [server("gpu-1", 2), server("gpu-2", 3), server("gpu-3", 3, cpu_free=32_000)],
        "needs 8 GPUs on one server; the largest free block is 3, on gpu-2",
    ),
    ("one GPU", 1, [server("a", 0)], "needs 1 GPU; none is free"),
    ("several, none free", 2, [server("a", 0), server("b", 0)], "needs 2 GPUs on one server; none is free"),
    ("over-committed is none free", 2, [server("a", -3)], "needs 2 GPUs on one server; none is free"),
    (
        "a small server has more free",
        8,
        [server("big", 3), server("small", 4, 4)],
        "needs 8 GPUs on one server; the largest free block on a server that qualifies is 3, on big",
    ),
    (
        "a cordoned server is all that is free",
        1,
        [server("a", 0), server("b", **CORDONED)],
        "needs 1 GPU; none is free on a server that qualifies",
    ),
    (
        "one of ours closed a server that would do",
        2,
        [server("a", 1), server("b", **CLOSED), server("c", 1, **CLOSED)],
        CLOSED_FITS,
    ),
    ("a closed server that is full is not told of", 2, [server("a", 1), server("b", 1, **CLOSED)], ONE_FREE),
    (
        "the unhealthy one is missing",
        8,
        [server("a", 7, 8, unhealthy=1)],
        "needs 8 GPUs on one server; the largest free block is 7, on a, where 1 more is unhealthy",
    ),
    (
        "two unhealthy ones are missing elsewhere",
        6,
        [server("a", 5), server("b", 4, 8, unhealthy=2)],
        "needs 6 GPUs on one server; the largest free block is 5, on a; on b 4 are free and 2 are unhealthy",
    ),
    (
        "all free ones are unhealthy",
        1,
        [server("a", 0), server("b", 0, 8, unhealthy=1)],
        "needs 1 GPU; none is free; on b 1 is unhealthy",
    ),
    (
        "one is free beside the unhealthy one, the fewest unhealthy ones are told of",
        3,
        [server("a", 2), server("b", 1, 8, unhealthy=2), server("c", 1, 8, unhealthy=3)],
        "needs 3 GPUs on one server; the largest free block is 2, on a; on b 1 is free and 2 are unhealthy",
    ),
    (
        "unhealthy GPUs that would not be enough are not told of",
        8,
        [server("a", 5, 8, unhealthy=1)],
        "needs 8 GPUs on one server; the largest free block is 5, on a",
    ),
    (
        "an unhealthy GPU that a pod holds is not free",
        1,
        [server("a", -1, 8, unhealthy=1)],
        "needs 1 GPU; none is free",
    ),
]


@pytest.mark.parametrize(("gpus", "servers", "message"), [case[1:] for case in WAITING], ids=[c[0] for c in WAITING])
def test_waiting_for_gpus(gpus: int, servers: list[ServerCapacity], message: str):
    assert told(request(gpus=gpus), *servers) == (Reason.WAITING_FOR_GPUS, message)


@pytest.mark.parametrize(
    "unfit",
    [{"driver": (470, 42)}, {"cpu_total": 1000}, CORDONED],
    ids=["an old driver", "too small", "cordoned"],
)
def test_unhealthy_gpus_are_not_told_of_where_they_would_not_help(unfit: dict[str, Any]):
    wanted = request(gpus=8, cuda=CUDA, cpu_millis=8000)
    servers = [server("a", 4), server("b", 0, unhealthy=8, **unfit)]
    message = "needs 8 GPUs on one server; the largest free block is 4, on a"
    assert told(wanted, *servers) == (Reason.WAITING_FOR_GPUS, message)


@pytest.mark.parametrize("unfit", [{"cpu_total": 1000}, CORDONED], ids=["too small", "cordoned"])
def test_avoided_servers_that_would_not_do_are_not_named(unfit: dict[str, Any]):
    wanted = request(avoid=frozenset({"a", "gone"}), cpu_millis=2000)
    message = "needs 1 GPU; none is free on a server that qualifies"
    assert told(wanted, server("a", 1, **unfit), server("b", 0)) == (Reason.WAITING_FOR_GPUS, message)


def test_avoided_servers_that_would_do_are_named():
    servers = [server("a"), server("b"), server("c", 0)]
    message = "needs 1 GPU; none is free on a server that qualifies; a is avoided after a failed attempt"
    assert told(request(avoid=frozenset("a")), server("a"), server("c", 0)) == (Reason.WAITING_FOR_GPUS, message)
    assert told(request(avoid=frozenset("ab")), *servers)[1].endswith("; a and b are avoided after a failed attempt")


SHORT: list[tuple[str, dict[str, Any], list[ServerCapacity], str]] = [
    (
        "cpu",
        {"cpu_millis": 16_000},
        [server("gpu-3", 4, cpu_free=2000)],
        "4 GPUs are free on gpu-3, but it has 2 cpu free and 16 are needed",
    ),
    (
        "memory",
        {"memory_bytes": 64 * GI},
        [server("a", 1, memory_free=64 * GI - 1)],
        "1 GPU is free on a, but it has 63.9Gi memory free and 64Gi are needed",
    ),
    (
        "both",
        {"cpu_millis": 1500, "memory_bytes": 64 * GI},
        [server("a", 2, cpu_free=-1000, memory_free=512 * 2**20)],
        "2 GPUs are free on a, but it has 0 cpu and 512Mi memory free, and 1.5 cpu and 64Gi are needed",
    ),
    (
        "the server with most CPU is told of",
        {"gpus": 2, "cpu_millis": 16_000},
        [server("a", 1), server("b", 2, cpu_free=4000), server("c", 4, cpu_free=8000), server("d", 5, cpu_free=1000)],
        "4 GPUs are free on c, but it has 8 cpu free and 16 are needed",
    ),
]


@pytest.mark.parametrize(
    ("fields", "servers", "message"), [case[1:] for case in SHORT], ids=[case[0] for case in SHORT]
)
def test_waiting_for_cpu_or_memory(fields: dict[str, Any], servers: list[ServerCapacity], message: str):
    assert told(request(**fields), *servers) == (Reason.WAITING_FOR_CPU_OR_MEMORY, message)
