"""Whoever waits for a write may be cancelled at any moment: a client hangs up, the process ends.

The write is then done or not done, whole, and the next writer finds the database as usable as before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from app.domain.people import Organization
from app.domain.states import Reason
from app.domain.workload import Workload
from app.store import reads
from app.store.database import Database, opened
from app.store.writes import apply_changes, explain_waiting, save_cleanup
from tests.clock import START
from tests.store.builders import a_placed_workload, a_stored_workload, an_organization, events, newest, placement

Write = Callable[[Organization, Workload], Awaitable[object]]
MOST_STEPS = 400


async def insert(organization: Organization, _: Workload) -> object:
    return await a_stored_workload(organization)


async def place(organization: Organization, workload: Workload) -> object:
    return await apply_changes(organization.id, [placement(workload)], START)


async def explain(organization: Organization, workload: Workload) -> None:
    await explain_waiting(organization.id, [workload.id], Reason.WAITING_FOR_GPUS, "none is free", START)


async def clean(organization: Organization, _: Workload) -> None:
    _, attempt = await a_placed_workload(organization)
    await save_cleanup(attempt, replace(attempt, cleaned_at=START))


async def cancelled_after(steps: int, write: Awaitable[object]) -> bool:
    """Cancel it when the event loop has turned so often; False when it was done before."""
    task = asyncio.ensure_future(write)
    for _ in range(steps):
        if task.done():
            break
        await asyncio.sleep(0)
    was_cancelled = task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return was_cancelled


@pytest.mark.parametrize("write", [insert, place, explain, clean])
async def test_a_cancelled_write_is_in_nobodys_way(database: Database, write: Write):
    organization = await an_organization()
    for steps in range(MOST_STEPS):
        workload = await a_stored_workload(organization)
        was_cancelled = await cancelled_after(steps, write(organization, workload))
        async with asyncio.timeout(60):
            await a_stored_workload(organization)
        if not was_cancelled:
            break
    told = await events(organization)
    assert len({e.sequence for e in told}) == len(told)
    assert {e.workload_id for e in told} == {w.id for w in await newest(organization.id, 10_000)}


async def test_the_others_of_a_shared_transaction_do_not_notice(database: Database):
    organization = await an_organization()
    for steps in range(12):
        others = [asyncio.create_task(a_stored_workload(organization)) for _ in range(4)]
        await cancelled_after(steps, a_stored_workload(organization))
        stored = [workload.id for workload in await asyncio.gather(*others)]
        assert set(await reads.workloads_by_id(stored)) == set(stored)


async def test_the_database_closes_behind_a_cancelled_writer(database_url: str):
    async with opened(database_url):
        organization = await an_organization()
    for steps in range(12):
        async with opened(database_url):
            await cancelled_after(steps, a_stored_workload(organization))
    async with opened(database_url):
        stored = await newest(organization.id, 100)
        assert {e.workload_id for e in await events(organization)} == {w.id for w in stored}
