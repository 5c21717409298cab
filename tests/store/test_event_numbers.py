"""Events are numbered in the order in which they become visible, apart for each organization."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID

from app.domain.people import Organization
from app.domain.states import Reason
from app.domain.workload import Event
from app.store import reads
from app.store.database import Database, opened
from app.store.writes import Change, apply_changes, explain_waiting
from tests.clock import START
from tests.store.builders import a_stored_workload, an_organization, events, loaded, placement

WRITERS = 8
ROUNDS = 6


async def write_a_life(organization: Organization) -> int:
    """Several kinds of writes, each with an event of its own; returns how many events."""
    for _ in range(ROUNDS):
        workload = await a_stored_workload(organization)
        await explain_waiting(organization.id, [workload.id], Reason.WAITING_FOR_GPUS, "none is free", START)
        workload = await loaded(workload)
        assert await apply_changes(organization.id, [placement(workload)], START) == [True]
        workload = await loaded(workload)
        running = replace(workload, reason=Reason.STARTING, message="pulls")
        assert await apply_changes(organization.id, [Change(workload, running)], START) == [True]
    return ROUNDS * 4


async def follow(organization_id: UUID, until: Callable[[], bool]) -> list[Event]:
    """Read on from the last number seen, as a subscriber does, until the writers are done and nothing is left."""
    seen: list[Event] = []
    while True:
        was_done = until()
        page = await reads.events_after(organization_id, seen[-1].sequence if seen else 0, 7)
        seen += page
        if was_done and not page:
            return seen
        await asyncio.sleep(0)


async def followed(organization: Organization, work: Awaitable[object]) -> list[Event]:
    """What one reader saw while the work was done."""
    writing = asyncio.ensure_future(work)
    seen = await follow(organization.id, writing.done)
    await writing
    return seen


async def test_a_reader_misses_no_event_of_concurrent_writers(database: Database):
    organization = await an_organization()
    written = asyncio.gather(*(write_a_life(organization) for _ in range(WRITERS)))
    seen = await followed(organization, written)
    assert seen == await events(organization)
    assert len(seen) == sum(written.result())
    numbers = [event.sequence for event in seen]
    assert numbers == sorted(set(numbers))


async def test_a_reader_misses_no_event_of_other_processes(database: Database, database_url: str):
    """Each writer has its own connections and shares no transaction with another."""
    organization = await an_organization()

    async def write_apart() -> int:
        async with opened(database_url):
            return await write_a_life(organization)

    written = asyncio.gather(*(asyncio.create_task(write_apart()) for _ in range(WRITERS)))
    seen = await followed(organization, written)
    assert seen == await events(organization)
    assert len(seen) == sum(written.result())


async def test_each_organization_counts_for_itself(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    await asyncio.gather(*(a_stored_workload(o) for o in (acme, other, acme, other, acme)))
    assert [e.sequence for e in await events(acme)] == [1, 2, 3]
    assert [e.sequence for e in await events(other)] == [1, 2]
    assert {e.organization_id for e in await events(other)} == {other.id}


async def test_the_last_number_is_where_a_new_reader_begins(database: Database):
    organization = await an_organization()
    assert await reads.last_event_sequence(organization.id) == 0
    workload = await a_stored_workload(organization)
    await apply_changes(organization.id, [placement(workload)], START)
    last = await reads.last_event_sequence(organization.id)
    assert last == (await events(organization))[-1].sequence
    assert await reads.events_after(organization.id, last, 10) == []


async def test_a_losing_change_leaves_a_gap_and_nothing_else(database: Database):
    organization = await an_organization()
    first, second = await a_stored_workload(organization), await a_stored_workload(organization)
    await apply_changes(organization.id, [placement(first)], START)
    await apply_changes(organization.id, [placement(first), placement(second)], START)
    await a_stored_workload(organization)
    numbers = [e.sequence for e in await events(organization)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 5
