"""Signals: at least one after something happened, one for many, and nobody else's."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from app.bus import Bus, Listeners, Signal

pytestmark = pytest.mark.looptime

ACME, OTHER = UUID(int=1), UUID(int=2)


async def test_a_signal_set_before_the_wait_is_not_lost():
    signal = Signal()
    signal.set()
    assert await signal.wait()
    assert asyncio.get_running_loop().time() == 0


async def test_many_signals_are_one():
    signal = Signal()
    for _ in range(5):
        signal.set()
    assert await signal.wait(1)
    assert not await signal.wait(1)


async def test_what_happens_while_somebody_looks_is_seen_at_the_next_wait():
    signal = Signal()
    signal.set()
    assert await signal.wait()
    signal.set()  # while the waiter reads
    assert await signal.wait(0)


async def test_a_wait_ends_without_a_signal_after_its_time():
    signal = Signal()
    assert not await signal.wait(30)
    assert asyncio.get_running_loop().time() == 30
    assert not await signal.wait(0)


async def test_a_waiter_is_woken_at_once():
    signal = Signal()
    waiting = asyncio.create_task(signal.wait(60))
    await asyncio.sleep(5)
    signal.set()
    assert await waiting
    assert asyncio.get_running_loop().time() == 5


async def test_a_waiter_that_is_cancelled_takes_no_signal_along():
    signal = Signal()
    waiting = asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    signal.set()
    assert await signal.wait(0)


async def test_events_wake_every_follower_of_their_organization():
    bus = Bus()
    with bus.following(ACME) as first, bus.following(ACME) as second, bus.following(OTHER) as other:
        bus.wake_events(ACME)
        assert await first.wait(0)
        assert await second.wait(0)
        assert not await other.wait(0)


async def test_who_has_gone_is_not_kept():
    bus = Bus()
    with bus.following(ACME) as stays:
        with bus.following(ACME) as gone:
            pass
        bus.wake_events(ACME)
        assert not await gone.wait(0)
        assert await stays.wait(0)
    bus.wake_events(ACME)
    assert not bus._tails


async def test_events_nobody_follows_leave_no_trace():
    bus = Bus()
    for _ in range(100):
        bus.wake_events(uuid4())
    assert not bus._tails


async def test_before_the_background_runs_wake_ups_go_nowhere():
    bus = Bus()
    bus.wake_queue()
    bus.wake_nodes()
    bus.wake_workload(ACME)


async def test_each_wake_up_reaches_its_listener():
    bus = Bus()
    heard: list[object] = []
    bus.listen(Listeners(lambda: heard.append("queue"), lambda: heard.append("nodes"), heard.append))
    bus.wake_queue()
    bus.wake_nodes()
    bus.wake_workload(ACME)
    assert heard == ["queue", "nodes", ACME]
