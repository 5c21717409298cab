"""The generic loop: one key at a time, pauses that grow, and no end but cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from app.cluster.port import RefusedError, UnavailableError
from app.reconcile.loop import KeyedLoop, pause_after
from tests.reconcile.loop_clock import LoopClock

pytestmark = pytest.mark.looptime

Outcome = Exception | float | None


class Script:
    """Reconciles by a list of outcomes: an error, seconds until the next look, or None. Notes when it was asked."""

    def __init__(self, *outcomes: Outcome, takes: float = 0.0) -> None:
        self.asked: list[tuple[float, str]] = []
        self.at_work: set[str] = set()
        self.most = 0
        self._outcomes = list(outcomes)
        self._takes = takes

    async def __call__(self, key: str) -> datetime | None:
        assert key not in self.at_work, "one key, one worker"
        self.asked.append((asyncio.get_running_loop().time(), key))
        self.at_work.add(key)
        self.most = max(self.most, len(self.at_work))
        await asyncio.sleep(self._takes)
        self.at_work.discard(key)
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return None if outcome is None else LoopClock().now() + timedelta(seconds=outcome)

    @property
    def times(self) -> list[float]:
        return [round(time, 3) for time, _ in self.asked]

    @property
    def pauses(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


@asynccontextmanager
async def running(script: Script, workers: int = 1) -> AsyncIterator[KeyedLoop[str]]:
    loop: KeyedLoop[str] = KeyedLoop("test", LoopClock(), script, workers)
    task = asyncio.create_task(loop.run())
    yield loop
    assert not task.done(), "the loop has ended"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_key_is_looked_at_again_when_it_asked_for_it():
    script = Script(5.0, 0.0, -3.0, None)
    async with running(script) as loop:
        loop.queue.add("a")
        await asyncio.sleep(100)
    assert script.times == [0, 5, 5, 5]
    assert len(loop.queue) == 0
    assert (loop.health.last_pass, loop.health.last_error) == (5, "")


async def test_one_key_is_never_with_two_workers_and_others_go_on():
    script = Script(takes=10)
    async with running(script, workers=4) as loop:
        for key in "ab":
            loop.queue.add(key)
        await asyncio.sleep(1)
        for key in "abc":
            loop.queue.add(key)
        await asyncio.sleep(100)
    assert sorted(script.asked) == [(0, "a"), (0, "b"), (1, "c"), (10, "a"), (10, "b")]
    assert script.most == 3


async def test_there_are_no_more_workers_than_asked_for():
    script = Script(takes=1)
    async with running(script, workers=2) as loop:
        for key in "abcdef":
            loop.queue.add(key)
        await asyncio.sleep(100)
    assert script.most == 2
    assert script.times == [0, 0, 1, 1, 2, 2]


async def test_pauses_grow_to_a_minute_and_have_no_end():
    script = Script(*[RuntimeError("x")] * 20)
    async with running(script) as loop:
        loop.queue.add("a")
        await asyncio.sleep(20 * 80)
    assert len(script.pauses) >= 19
    for number, pause in enumerate(script.pauses[:19]):
        expected = min(60.0, 0.5 * 2**number)
        assert 0.69 * expected <= pause <= 1.31 * expected
    assert loop.health.failures == 20


@pytest.mark.parametrize("asked", [7.0, 120.0])
async def test_the_pause_is_at_least_what_the_server_asked_for(asked: float):
    script = Script(UnavailableError("busy", retry_after=asked))
    async with running(script) as loop:
        loop.queue.add("a")
        await asyncio.sleep(200)
    assert script.pauses == [asked]


@pytest.mark.parametrize("retry_after", [None, 0.0])
async def test_a_server_that_asks_for_nothing_gets_the_usual_pause(retry_after: float | None):
    assert 0.35 <= pause_after(1, UnavailableError("down", retry_after)) <= 0.65
    assert 0.7 <= pause_after(2, UnavailableError("down", retry_after)) <= 1.3


async def test_pauses_differ_so_that_keys_do_not_come_together():
    assert len({pause_after(3) for _ in range(20)}) > 10


async def test_a_success_starts_the_pauses_anew():
    script = Script(RuntimeError("1"), RuntimeError("2"), RuntimeError("3"), 100.0, RuntimeError("4"), None)
    async with running(script) as loop:
        loop.queue.add("a")
        await asyncio.sleep(500)
    assert script.pauses[2] > 1.3
    assert script.pauses[3] == pytest.approx(100)
    assert script.pauses[4] <= 0.66


async def test_the_pauses_of_one_key_are_not_anothers():
    errors: dict[str, Callable[[], None]] = {}
    times: dict[str, list[float]] = {"good": [], "bad": []}

    async def reconcile(key: str) -> datetime | None:
        times[key].append(asyncio.get_running_loop().time())
        if key == "bad":
            raise RuntimeError("x")
        return LoopClock().now() + timedelta(seconds=10)

    loop: KeyedLoop[str] = KeyedLoop("test", LoopClock(), reconcile)
    task = asyncio.create_task(loop.run())
    loop.queue.add("bad")
    loop.queue.add("good")
    await asyncio.sleep(45)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert times["good"] == pytest.approx([0, 10, 20, 30, 40], abs=0.01)
    assert not errors


@pytest.mark.parametrize(
    "error",
    [
        ValueError("defect"),
        UnavailableError("down"),
        RefusedError(403, "Forbidden", "no"),
        TimeoutError(),
        ExceptionGroup("many", [ValueError("x")]),
        AssertionError("impossible"),
        RecursionError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_no_exception_ends_the_loop_and_health_shows_it(error: Exception):
    script = Script(error, None)
    async with running(script) as loop:
        loop.queue.add("a")
        await asyncio.sleep(0.01)
        assert loop.health.last_error.startswith(type(error).__name__)
        assert loop.health.failures == 1
        await asyncio.sleep(2)
        assert loop.health.last_error == ""
    assert len(script.asked) == 2


async def test_a_cancelled_loop_leaves_no_worker_behind():
    script = Script(takes=1000)
    loop: KeyedLoop[str] = KeyedLoop("test", LoopClock(), script, 3)
    task = asyncio.create_task(loop.run())
    loop.queue.add("a")
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
