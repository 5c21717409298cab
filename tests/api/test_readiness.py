"""What /readyz says of several clusters, and when it is 503."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from starlette.requests import Request

from app.bus import Bus
from app.cluster.port import Kind
from app.cluster.projection import Projection
from app.health import HealthPage
from app.reconcile.background import Background
from app.reconcile.clusters import Cluster, Lost
from tests.clock import START, ManualClock
from tests.reconcile.builders import POLICY
from tests.reconcile.fake_port import FakeCluster

NO_REQUEST = cast("Request", None)
LOST = Lost(START, "connection refused")


def a_cluster(name: str, clock: ManualClock, *, lost: Lost | None = None, listed: bool = True) -> Cluster:
    cluster = Cluster(name, FakeCluster(), Projection("gpuyard"))
    cluster.contact.lost, cluster.contact.last_at = lost, START
    for health in cluster.projection.health.values():
        health.synced, health.last_event_at = listed, clock.monotonic()
    return cluster


def a_page(clock: ManualClock, *clusters: Cluster) -> HealthPage:
    return HealthPage(Background(clusters, Bus(), clock, POLICY), clock)


async def ready(page: HealthPage) -> tuple[int, dict[str, Any]]:
    answer = await page.ready(NO_REQUEST)
    return answer.status_code, json.loads(bytes(answer.body))


async def test_all_work(clock: ManualClock):
    page = a_page(clock, a_cluster("x", clock), a_cluster("y", clock))
    clock.advance(7)
    status, body = await ready(page)
    assert (status, body["status"], body["problems"]) == (200, "ok", [])
    assert body["clusters"]["x"]["last_contact"] == START.isoformat(timespec="seconds")
    assert body["clusters"]["x"]["watches"]["pods"] == {"synced": True, "age": 7, "failures": 0, "error": None}


async def test_while_one_works_requests_are_answered_and_the_other_is_told_of(clock: ManualClock):
    status, body = await ready(a_page(clock, a_cluster("x", clock, lost=LOST, listed=False), a_cluster("y", clock)))
    assert (status, body["status"]) == (200, "degraded")
    assert body["problems"] == ["cluster x: it does not answer: connection refused"]
    assert (body["clusters"]["x"]["status"], body["clusters"]["y"]["status"]) == ("not ready", "ok")


@pytest.mark.parametrize("count", [1, 2])
async def test_where_none_works_it_is_not_ready(clock: ManualClock, count: int):
    names = ("x", "y")[:count]
    status, body = await ready(a_page(clock, *(a_cluster(name, clock, lost=LOST) for name in names)))
    assert (status, body["status"]) == (503, "not ready")


async def test_what_has_not_been_listed_is_named(clock: ManualClock):
    _, body = await ready(a_page(clock, a_cluster("x", clock, listed=False)))
    assert body["problems"] == [f"cluster x: {kind} have not been listed" for kind in Kind]


async def test_what_an_operator_has_to_do_is_a_problem(clock: ManualClock):
    page = a_page(clock, a_cluster("x", clock), a_cluster("y", clock))
    page.background.per_cluster["y"].missing = ("the namespace gpuyard doesn't exist",)
    status, body = await ready(page)
    assert (status, body["problems"]) == (200, ["cluster y: the namespace gpuyard doesn't exist"])


async def test_a_background_that_has_ended_is_told_first(clock: ManualClock):
    page = a_page(clock, a_cluster("x", clock), a_cluster("y", clock))
    page.background.has_ended = True
    status, body = await ready(page)
    assert (status, body["status"]) == (503, "not ready")
    assert body["problems"][0].startswith("a loop of the background has ended")


async def test_a_list_after_a_failure_is_as_good_as_a_watch(clock: ManualClock):
    cluster = a_cluster("x", clock)
    pods = cluster.projection.health[Kind.PODS]
    cluster.projection.health[Kind.PODS] = replace(pods, failures=2, failed_at=clock.monotonic() - 1, last_error="500")
    assert (await ready(a_page(clock, cluster)))[0] == 200
    cluster.projection.health[Kind.PODS].failed_at = clock.monotonic()
    status, body = await ready(a_page(clock, cluster))
    assert (status, body["problems"]) == (503, ["cluster x: the watch of pods fails: 500"])
