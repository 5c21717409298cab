"""Logs of ended attempts: stored once, read back byte for byte, purged when their time is over. On both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.workload import Attempt
from app.store import logs, reads
from app.store.database import opened
from app.store.logs import StoredLog
from app.store.models import AttemptLogRow
from app.store.writes import save_cleanup
from tests.clock import START
from tests.store.builders import a_placed_workload, an_organization

LINES = b"2026-11-30T12:00:00.000000001Z \xff\x00 f\xc3\xbcr 'alle' % {} $\r2026-11-30T12:00:00Z\n" * 2000


@pytest.fixture
async def attempt(database_url: str) -> AsyncIterator[Attempt]:
    async with opened(database_url):
        _, placed = await a_placed_workload(await an_organization())
        yield placed


async def test_what_is_stored_is_read_back_byte_for_byte(attempt: Attempt):
    assert await logs.find_log(attempt.workload_id, 1) is None
    await logs.store_log(attempt, StoredLog(LINES, was_cut=True), START)
    assert await logs.find_log(attempt.workload_id, 1) == StoredLog(LINES, was_cut=True)
    assert await logs.find_log(attempt.workload_id, 2) is None
    assert await reads.find_attempt(attempt.workload_id, 1) == replace(attempt, log_taken_at=START)
    row = await AttemptLogRow.get(workload_id=attempt.workload_id)
    assert row.lines is not None
    assert (row.size, len(row.lines) < len(LINES) // 10) == (len(LINES) - 31 * 2000, True)


async def test_there_is_a_reason_where_there_is_no_log(attempt: Attempt):
    await logs.store_log(attempt, StoredLog(why_none="It never started.\0"), START)
    assert await logs.find_log(attempt.workload_id, 1) == StoredLog(why_none="It never started.\ufffd")


async def test_the_first_log_stays(attempt: Attempt):
    """Two processes by mistake, or a try that seemed lost."""
    await logs.store_log(attempt, StoredLog(b"one"), START)
    await logs.store_log(attempt, StoredLog(b"two"), START + timedelta(seconds=1))
    assert await logs.find_log(attempt.workload_id, 1) == StoredLog(b"one")
    assert await reads.find_attempt(attempt.workload_id, 1) == replace(attempt, log_taken_at=START)


async def test_a_cleanup_decided_before_does_not_forget_it(attempt: Attempt):
    await logs.store_log(attempt, StoredLog(b"one"), START)
    await save_cleanup(attempt, replace(attempt, cleaned_at=START))
    assert await reads.find_attempt(attempt.workload_id, 1) == replace(attempt, log_taken_at=START, cleaned_at=START)


async def test_old_logs_are_purged_a_few_at_a_time(attempt: Attempt):
    organization = await an_organization("other", is_default=False)
    for hours in range(5):
        _, placed = await a_placed_workload(organization)
        await logs.store_log(placed, StoredLog(LINES), START + timedelta(hours=hours))
    old = START + timedelta(hours=3)
    assert [await logs.purge_logs(old, 2) for _ in range(3)] == [2, 1, 0]
    assert await AttemptLogRow.all().order_by("stored_at").values_list("stored_at", flat=True) == [
        START + timedelta(hours=3),
        START + timedelta(hours=4),
    ]
