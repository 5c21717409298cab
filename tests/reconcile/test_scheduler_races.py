"""Somebody else writes between the look at the queue and the placement."""

from __future__ import annotations

import asyncio

from app.domain.states import Phase, Status
from app.domain.workload import EventType
from tests.reconcile.builders import World
from tests.reconcile.test_scheduler import tick
from tests.store.builders import loaded


async def test_a_cancel_and_a_placement_never_both_win(world: World):
    """At whatever moment of the tick the cancel comes."""
    for turns in range(40):
        workload = await world.submit()
        ticking = asyncio.ensure_future(tick(world))
        for _ in range(turns):
            await asyncio.sleep(0)
        await world.cancel(workload)
        await ticking
        now, attempts = await loaded(workload), await world.attempts(workload)
        assert (now.status, len(attempts)) in ((Status.CANCELLED, 0), (Status.PENDING, 1))
        if attempts:
            assert now.phase is Phase.STOPPING
            await world.settle(workload)
        assert (await loaded(workload)).status is Status.CANCELLED
        assert [e.type for e in await world.events(workload)].count(EventType.ENDED) == 1
    assert world.cluster.created == []


async def test_two_ticks_at_once_place_once(world: World):
    """Two processes, each with its own view: the store decides."""
    queue = [await world.submit() for _ in range(4)]
    await asyncio.gather(tick(world), tick(world))
    for workload in queue:
        assert len(await world.attempts(workload)) == 1
        assert [e.type for e in await world.events(workload)] == [EventType.SUBMITTED, EventType.PLACED]
