"""Keys that want attention: each once, each in its time, one worker at a time."""

from __future__ import annotations

import asyncio

import pytest

from app.reconcile.workqueue import WorkQueue
from tests.clock import ManualClock
from tests.reconcile.loop_clock import LoopClock

pytestmark = pytest.mark.looptime


@pytest.fixture
def queue() -> WorkQueue[str]:
    return WorkQueue(LoopClock())


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: WorkQueue[str], count: int) -> list[tuple[float, str]]:
    """The next keys with the moment at which each came."""
    found = []
    for _ in range(count):
        key = await queue.get()
        found.append((round(now(), 3), key))
        queue.done(key)
    return found


async def has_more(queue: WorkQueue[str], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return False
    return True


async def test_keys_come_in_the_order_they_were_asked_for(queue: WorkQueue[str]):
    for key in "cab":
        queue.add(key)
    assert await taken(queue, 3) == [(0, "c"), (0, "a"), (0, "b")]


async def test_a_key_that_is_asked_for_again_comes_once(queue: WorkQueue[str]):
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 1
    assert await taken(queue, 1) == [(0, "a")]
    assert not await has_more(queue, 100)


@pytest.mark.timeout(20)
async def test_a_key_whose_timer_fires_a_tick_early_comes_too(queue: WorkQueue[str]):
    """An event loop fires timers up to a nanosecond early, and the time of this one stands still meanwhile."""
    queue.add("a", 1.0000000005)
    assert await taken(queue, 1) == [(1, "a")]


async def test_a_key_comes_when_it_is_due(queue: WorkQueue[str]):
    queue.add("late", 10)
    queue.add("early", 3)
    queue.add("now", -5)
    assert await taken(queue, 3) == [(0, "now"), (3, "early"), (10, "late")]


@pytest.mark.parametrize("delays", [(10, 2, 5), (2, 10), (5, 2, 10, 2)])
async def test_the_earliest_wish_wins(queue: WorkQueue[str], delays: tuple[float, ...]):
    for delay in delays:
        queue.add("a", delay)
    assert await taken(queue, 1) == [(2, "a")]
    assert not await has_more(queue, 100)


async def test_a_wish_made_while_waiting_is_heard(queue: WorkQueue[str]):
    queue.add("a", 60)
    waiting = asyncio.create_task(taken(queue, 2))
    await asyncio.sleep(1)
    queue.add("b", 1)
    queue.add("a", 4)
    assert await waiting == [(2, "b"), (5, "a")]


async def test_an_empty_queue_waits(queue: WorkQueue[str]):
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(3600)
    assert not waiting.done()
    queue.add("a")
    assert await waiting == "a"


async def test_a_key_is_with_one_worker_at_a_time(queue: WorkQueue[str]):
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert not await has_more(queue, 10)
    queue.done("a")
    assert await taken(queue, 1) == [(10, "a")]
    assert not await has_more(queue, 10)


async def test_what_is_asked_for_meanwhile_comes_in_its_own_time(queue: WorkQueue[str]):
    queue.add("a")
    await queue.get()
    queue.add("a", 30)
    queue.add("a", 7)
    await asyncio.sleep(2)
    queue.done("a")
    assert await taken(queue, 1) == [(7, "a")]


async def test_other_keys_come_meanwhile(queue: WorkQueue[str]):
    queue.add("a")
    await queue.get()
    queue.add("b")
    assert await taken(queue, 1) == [(0, "b")]
    assert len(queue) == 1  # the one that is being worked on


async def test_several_workers_share_the_keys(queue: WorkQueue[str]):
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(1)
    for key in "abc":
        queue.add(key)
    assert sorted(await asyncio.gather(*workers)) == ["a", "b", "c"]


async def test_a_worker_that_gives_up_waiting_takes_nothing_along(queue: WorkQueue[str]):
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    waiting.cancel()
    queue.add("a")
    assert await taken(queue, 1) == [(0, "a")]


async def test_done_twice_is_done():
    queue: WorkQueue[str] = WorkQueue(ManualClock())
    queue.add("a")
    key = await queue.get()
    queue.done(key)
    queue.done(key)
    assert len(queue) == 0


async def test_what_is_looked_at_often_and_due_much_later_takes_no_more_and_more_room(queue: WorkQueue[str]):
    """As every running workload is: its limit ends tomorrow, and it is looked at each minute."""
    for _ in range(2000):
        for key in ("a", "b"):
            queue.add(key)
        for _ in range(2):
            key = await queue.get()
            queue.add(key, 86_400)
            queue.done(key)
    assert len(queue) == 2
    assert len(queue._heap) < 100
    assert sorted(key for _, key in await taken(queue, 2)) == ["a", "b"]
