"""The same sentences with several clusters: they name them, and say which one does not answer."""

from __future__ import annotations

import pytest

from app.domain.cuda import CudaVersion
from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.snapshot import ServerCapacity, out_of_contact
from tests.placement.builders import GI, GPU, request, server, told

SILENT = "in cluster x, which does not answer"


def away(name: str, gpus: int = 8, cpu: int | None = None, memory: int | None = None) -> ServerCapacity:
    return out_of_contact(ServerId(name, "x"), "acme", {GPU: gpus}, cpu, memory, SILENT)


def test_where_there_are_several_a_server_is_named_with_its_cluster():
    servers = server("a", 1, cluster="x"), server("a", 2, cluster="y")
    assert told(request(gpus=3), *servers)[1] == ("needs 3 GPUs on one server; the largest free block is 2, on y/a")
    assert told(request(gpus=9), *servers)[1] == "needs 9 GPUs on one server; the largest server, x/a, has 8"


def test_where_all_servers_of_the_pool_are_in_one_it_is_not():
    servers = server("a", 2, cluster="y"), server("b", 8, cluster="x", organization="other")
    assert told(request(gpus=3), *servers)[1] == "needs 3 GPUs on one server; the largest free block is 2, on a"


def test_a_request_that_only_a_silent_cluster_could_meet_is_not_impossible():
    reason, message = told(request(gpus=8), away("a"), server("b", 4, 4, cluster="y"))
    assert (reason, message) == (
        Reason.NO_USABLE_SERVER,
        f"needs 8 GPUs; the only server large enough, x/a, is {SILENT}",
    )


def test_silent_servers_are_counted_beside_closed_ones():
    servers = away("a"), away("b"), server("c", 8, cluster="y", unusable="cordoned")
    message = f"needs 8 GPUs; of 3 servers large enough 2 are {SILENT} and 1 is cordoned"
    assert told(request(gpus=8), *servers) == (Reason.NO_USABLE_SERVER, message)


WAITING = [
    ({}, server("b", 0, cluster="y"), Reason.WAITING_FOR_GPUS),
    ({"cpu_millis": 2000}, server("b", cluster="y", cpu_free=1000), Reason.WAITING_FOR_CPU_OR_MEMORY),
    ({"cuda": CudaVersion(13, 0)}, server("b", cluster="y", driver=(470, 42, 1)), Reason.DRIVER_TOO_OLD),
]


@pytest.mark.parametrize(("fields", "here", "reason"), WAITING, ids=[case[2].value for case in WAITING])
def test_whoever_waits_is_told_of_servers_that_nobody_can_ask(
    fields: dict[str, object], here: ServerCapacity, reason: Reason
):
    found, message = told(request(**fields), away("a"), away("c"), here)  # type: ignore[arg-type]
    assert found is reason
    assert message.endswith(f"; 2 more servers large enough are {SILENT}")


def test_silent_servers_that_would_not_do_are_not_told_of():
    servers = away("a", 1), away("c", 8, cpu=500), away("d", 8, memory=GI - 1), server("b", 0, cluster="y")
    assert "does not answer" not in told(request(gpus=2), *servers)[1]
