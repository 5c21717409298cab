"""The watch loops against a server that misbehaves in every way that has been seen. Pauses are recorded, not made.

Each test scripts the Nodes; Pods and Jobs list empty and stay silent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
import structlog

from app.cluster.backoff import Backoff
from app.cluster.port import ClusterPort, Kind
from app.cluster.projection import Change, Projection, WatchHealth
from app.cluster.watches import WatchLoop, run_watches
from tests.cluster.builders import NAMESPACE, Json, node_json
from tests.cluster.scripted_api import DROP, HANG, NO_ANSWER, Answer, ScriptedApi, answer, failure, stream

NODES = "/api/v1/nodes"
SILENT = stream(HANG)
EXPIRED = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


def listing(*nodes: Json, version: int = 10) -> Answer:
    return answer({"metadata": {"resourceVersion": str(version)}, "items": list(nodes)})


def event(word: str, name: str, version: int) -> dict[str, object]:
    return {"type": word, "object": node_json(name, version)}


def bookmark(version: int) -> dict[str, object]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


@dataclass
class Watching:
    api: ScriptedApi
    port: ClusterPort
    projection: Projection = field(default_factory=lambda: Projection(NAMESPACE))
    told: list[Change] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    skipped_seconds: float = 0.0
    listener: Callable[[Change], None] = lambda _: None
    task: asyncio.Task[None] | None = None

    def nodes(self, *answers: Answer, watch: bool = False) -> None:
        self.api.on("GET", NODES, *answers, watch=watch)

    def start(self) -> None:
        loops = run_watches(
            self.port, self.projection, self.clock, self.changed, recovered=self.recovered, sleep=self.sleep
        )
        self.task = asyncio.create_task(loops)

    async def stop(self) -> None:
        assert self.task
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task

    def recovered(self) -> None:
        self.recoveries.append(self.clock())

    def clock(self) -> float:
        return time.monotonic() + self.skipped_seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.skipped_seconds += seconds
        await asyncio.sleep(0)

    def changed(self, change: Change) -> None:
        self.told.append(change)
        self.listener(change)

    @property
    def health(self) -> WatchHealth:
        return self.projection.health[Kind.NODES]

    @property
    def positions(self) -> list[str]:
        return [request.query["resourceVersion"] for request in self.api.seen("GET", NODES, watch=True)]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.005)


@pytest.fixture
async def world(api: ScriptedApi, patient_port: ClusterPort) -> AsyncIterator[Watching]:
    for path in ("/api/v1/pods", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"):
        api.on("GET", path, listing())
        api.on("GET", path, SILENT, watch=True)
    watching = Watching(api, patient_port)
    yield watching
    await watching.stop()


async def test_it_lists_then_follows(world: Watching):
    world.nodes(listing(node_json("a")))
    world.nodes(stream(event("ADDED", "b", 11), event("DELETED", "a", 12), HANG), watch=True)
    world.start()
    await world.until(lambda: list(world.projection.nodes) == ["b"] and world.projection.synced)
    assert [change.name for change in world.told if change.kind is Kind.NODES] == ["a", "", "b", "a"]
    assert world.positions == ["10"]
    assert (world.health.failures, world.health.last_error) == (0, "")
    assert world.health.last_event_at is not None


async def test_a_clean_end_is_resumed_at_once_where_it_was(world: Watching):
    world.nodes(listing())
    world.nodes(stream(event("ADDED", "a", 11)), stream(bookmark(15)), stream(HANG), watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10", "11", "15"])
    assert len(world.api.seen("GET", NODES)) == 1
    assert world.slept == []


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_a_pause(world: Watching):
    world.nodes(listing())
    world.nodes(stream(), watch=True)
    world.start()
    await world.until(lambda: len(world.slept) >= 8)
    assert all(later > earlier / 2 for earlier, later in zip(world.slept, world.slept[1:], strict=False))
    assert 7.5 <= max(world.slept[6:]) <= 15
    assert len(world.api.seen("GET", NODES)) == 1
    assert "ended the watch at once" in world.health.last_error


async def test_a_dropped_connection_is_resumed_after_a_pause(world: Watching):
    world.nodes(listing())
    world.nodes(stream(event("ADDED", "a", 11), DROP), stream(bookmark(12), HANG), watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10", "11"] and world.health.failures == 0)
    assert world.recoveries == []  # a moment's trouble, and what was missed was told
    assert len(world.api.seen("GET", NODES)) == 1
    assert len(world.slept) == 1


@pytest.mark.parametrize(
    "lost", [failure(410, "Expired"), stream(EXPIRED), stream(b"<html>502 Bad Gateway</html>\n"), failure(403)]
)
async def test_a_lost_position_is_made_good_by_a_new_list(world: Watching, lost: Answer):
    world.nodes(listing(node_json("gone"), node_json("stays")), listing(node_json("stays"), version=20))
    world.nodes(lost, SILENT, watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10", "20"])
    assert list(world.projection.nodes) == ["stays"]
    assert [change.name for change in world.told if change.kind is Kind.NODES] == ["gone", "stays", "", "gone"]
    assert len(world.slept) == 1


async def test_a_watch_where_nothing_happens_goes_on(world: Watching, port: ClusterPort):
    """Without even a bookmark, as on a real cluster at night: somebody is there, so all is well."""
    world.port = port  # which has little patience
    world.nodes(listing(node_json("a")))
    world.nodes(stream(bookmark(10), HANG), watch=True)
    with structlog.testing.capture_logs() as lines:
        world.start()
        await world.until(lambda: len(world.positions) >= 3)
    assert set(world.positions) == {"10"}
    assert [request.query["limit"] for request in world.api.seen("GET", NODES)][:2] == ["2", "1"]
    assert (world.health.failures, [line for line in lines if line.get("kind") == Kind.NODES]) == (0, [])


async def test_a_silent_watch_of_a_cluster_that_was_set_back(world: Watching, port: ClusterPort):
    world.port = port
    world.nodes(listing(node_json("lost"), version=900), listing(node_json("restored"), version=500))
    world.nodes(SILENT, stream(bookmark(501), HANG), watch=True)
    world.start()
    await world.until(lambda: world.positions[:2] == ["900", "500"])
    assert list(world.projection.nodes) == ["restored"]


async def test_a_position_that_brings_errors_only_is_given_up(world: Watching):
    """As after a restore from a backup: the server can't know a version that is ahead of it."""
    world.nodes(listing(), listing(node_json("a"), version=20))
    world.nodes(*[failure(504, "Timeout", "Too large resource version")] * 3, SILENT, watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10", "10", "10", "20"])
    assert list(world.projection.nodes) == ["a"]


async def test_a_connection_that_fails_keeps_its_position(world: Watching):
    world.nodes(listing())
    world.nodes(*[stream(DROP)] * 9, stream(bookmark(11), HANG), watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10"] * 10)
    assert len(world.api.seen("GET", NODES)) == 1


async def test_a_watch_that_stays_open_works_although_nothing_changes(world: Watching):
    """Readiness shall not wait for the next bookmark, a minute away; nor believe one that was never answered."""
    world.nodes(listing())
    world.nodes(failure(410, "Expired"), NO_ANSWER, watch=True)
    loop = WatchLoop(Kind.NODES, world.port, world.projection, world.clock, world.sleep, lasting_seconds=0.05)
    world.task = asyncio.create_task(loop.run())
    await world.until(lambda: len(world.positions) == 2)
    await asyncio.sleep(0.2)
    assert world.health.failures == 1
    world.task.cancel()
    world.nodes(stream(DROP), SILENT, watch=True)
    world.task = asyncio.create_task(loop.run())
    await world.until(lambda: world.health.failures == 2)
    await world.until(lambda: world.health.failures == 0)


async def test_an_older_list_is_not_believed(world: Watching):
    """Of an API server that lags behind: what has gone would come back, what has come would go."""
    old, new = listing(node_json("gone"), version=5), listing(node_json("here"), version=12)
    world.nodes(listing(node_json("gone")), old, old, new)
    world.nodes(stream(event("DELETED", "gone", 11), event("ADDED", "here", 12), EXPIRED), SILENT, watch=True)
    world.start()
    await world.until(lambda: len(world.positions) == 2)
    names = [change.name for change in world.told if change.kind is Kind.NODES]
    assert (names, world.positions) == (["gone", "", "gone", "here"], ["10", "12"])
    assert len(world.api.seen("GET", NODES)) == 4


async def test_a_restored_cluster_is_believed_after_a_minute(world: Watching):
    world.nodes(listing(node_json("lost"), version=900), listing(node_json("restored"), version=500))
    world.nodes(failure(410, "Expired"), stream(bookmark(501), HANG), watch=True)
    with structlog.testing.capture_logs() as lines:
        world.start()
        await world.until(lambda: world.positions == ["900", "500"] and world.health.failures == 0)
    assert list(world.projection.nodes) == ["restored"]
    assert 60 <= sum(world.slept) <= 60 + 2 * 15
    assert len([line for line in lines if line["event"] == "cluster.watch.rewound"]) == 1


async def test_an_event_from_before_the_position_is_not_believed(world: Watching):
    world.nodes(listing(node_json("a")), listing(node_json("a"), version=20))
    world.nodes(stream(event("DELETED", "a", 9)), SILENT, watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10", "20"])
    assert [change.name for change in world.told if change.kind is Kind.NODES] == ["a", ""]


async def test_refused_in_the_middle_of_a_watch(world: Watching):
    world.nodes(listing())
    world.nodes(stream(event("ADDED", "a", 11)), failure(401, "Unauthorized"), stream(bookmark(12), HANG), watch=True)
    world.start()
    await world.until(lambda: world.positions == ["10", "11", "11"] and world.health.failures == 0)
    assert all("authorization" in request.headers for request in world.api.requests)


async def test_a_watch_answered_with_a_page_shows(world: Watching):
    """Of a proxy, with status 200 and without an end of line: nothing is lost, but it is no watch."""
    world.nodes(listing())
    world.nodes(Answer(200, [b"<html>502 Bad Gateway</html>"]), watch=True)
    world.start()
    await world.until(lambda: world.health.failures > 2)
    assert "ended the watch at once" in world.health.last_error


async def test_ten_thousand_objects_that_make_no_sense(world: Watching):
    """In the list and in the watch, each of another kind of nonsense: the others are all there."""
    odd = [[], 7, None, "x", {"a": 1}, [[]], True, -1.5]
    listed = [node_json(f"n{n}") | {"status": odd[n % 8], "spec": odd[n // 8 % 8]} for n in range(5000)]
    watched = [event("ADDED", f"w{n}", 11 + n) for n in range(5000)]
    for n, told in enumerate(watched):
        told["object"]["metadata"] = {"resourceVersion": str(11 + n), "name": odd[n % 8]}  # type: ignore[index]
    world.nodes(listing(*listed, node_json("good")))
    world.nodes(stream(*watched, event("ADDED", "better", 9999), HANG), watch=True)
    world.start()
    await world.until(lambda: "better" in world.projection.nodes)
    assert "good" in world.projection.nodes
    assert world.health.skipped > 8000
    assert world.health.failures == 0


async def test_a_server_asks_for_a_pause(world: Watching):
    world.nodes(listing())
    world.nodes(failure(429, "TooManyRequests", Retry_After="17"), SILENT, watch=True)
    world.start()
    await world.until(lambda: len(world.positions) == 2)
    assert 17 <= world.slept[0] <= 17 * 1.25  # not all at the same moment


async def test_it_never_gives_up_and_does_not_fill_the_log(world: Watching):
    world.nodes(*[failure(503)] * 60, listing(node_json("a")))
    world.nodes(stream(bookmark(11), HANG), watch=True)
    with structlog.testing.capture_logs() as lines:
        world.start()
        await world.until(lambda: world.health.failures > 3)
        assert "503" in world.health.last_error
        assert not world.projection.synced
        await world.until(lambda: world.health.synced and world.health.failures == 0)
    assert max(world.slept) <= 15
    assert len(world.recoveries) == 1
    assert [line["event"] for line in lines if "watch" in line["event"]] == [
        "cluster.watch.failed",
        "cluster.watch.recovered",
    ]


async def test_a_list_between_two_failed_watches_is_no_recovery(world: Watching):
    world.nodes(listing())
    world.nodes(failure(410, "Expired"), watch=True)
    with structlog.testing.capture_logs() as lines:
        world.start()
        await world.until(lambda: world.health.failures >= 10)
    assert len([line for line in lines if "watch" in line["event"]]) == 1
    assert max(world.slept) > 5


async def test_a_listener_that_fails_does_not_end_the_loop(world: Watching):
    complaints = iter([ValueError("no")])

    def listener(change: Change) -> None:
        if change.name == "a" and (error := next(complaints, None)):
            raise error

    world.listener = listener
    world.nodes(listing())
    world.nodes(stream(event("ADDED", "a", 11), HANG), stream(event("ADDED", "b", 12), HANG), watch=True)
    with structlog.testing.capture_logs() as lines:
        world.start()
        await world.until(lambda: "b" in world.projection.nodes)
    assert "cluster.watch.defect" in [line["event"] for line in lines]


async def test_trouble_with_one_kind_leaves_the_others(world: Watching):
    world.nodes(failure(403, "Forbidden", "nodes is forbidden"))
    world.start()
    await world.until(lambda: world.health.failures > 1)
    healthy = [world.projection.health[kind] for kind in (Kind.PODS, Kind.JOBS)]
    assert all(health.synced and not health.last_error for health in healthy)
    assert "nodes is forbidden" in world.health.last_error


async def test_what_is_not_understood_is_counted(world: Watching):
    world.nodes(listing({"metadata": {}}))
    world.nodes(stream({"type": "ADDED", "object": {"metadata": {"resourceVersion": "11"}}}, HANG), watch=True)
    world.start()
    await world.until(lambda: world.health.skipped == 2)
    assert world.projection.nodes == {}


def test_pauses_grow_to_a_cap_and_start_over():
    backoff = Backoff(first=1, longest=8)
    pauses = [backoff.next() for _ in range(6)]
    for pause, ceiling in zip(pauses, [1, 2, 4, 8, 8, 8], strict=True):
        assert ceiling / 2 <= pause <= ceiling
    assert 60 <= backoff.next(at_least=60) <= 75
    backoff.reset()
    assert backoff.next() <= 1
