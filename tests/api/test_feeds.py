"""An organization's events, read once for all who follow: each gets all of them, wherever it stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from app.auth import CALLER_SECONDS, TRUSTED_SECONDS
from app.auth.trust import Trust
from app.bus import Bus
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType
from app.graphql.feeds import BATCH, KEPT, Feed, Feeds
from app.store.connection import transaction
from app.store.database import Database
from app.store.models import EventRow
from tests.clock import START, ManualClock
from tests.store.builders import a_stored_workload, an_organization

MANY = KEPT + BATCH + 7


@pytest.fixture
async def organization(database: Database) -> tuple[UUID, UUID]:
    """An organization and a workload of it, whose submission is event 1."""
    made = await an_organization()
    return made.id, (await a_stored_workload(made)).id


async def write(organization: tuple[UUID, UUID], first: int, last: int) -> None:
    await EventRow.bulk_create(
        [
            EventRow(
                organization_id=organization[0],
                sequence=sequence,
                workload_id=organization[1],
                type=EventType.PROGRESSED.value,
                status=Status.PENDING.value,
                phase=Phase.CREATING.value,
                reason=Reason.STARTING.value,
                message="",
                at=START,
                attempt=1,
            )
            for sequence in range(first, last + 1)
        ]
    )


async def execute(statement: str) -> None:
    async with transaction() as connection:
        await connection.execute_script(statement)


@asynccontextmanager
async def fed(bus: Bus, organization_id: UUID, sequence: int) -> AsyncIterator[Feed]:
    with Feeds(bus).following(organization_id, sequence) as feed:
        async with asyncio.timeout(60):
            await feed.news.wait()  # its first look
        yield feed


async def told(feed: Feed, sequence: int, last: int) -> list[int]:
    """What a reader behind `sequence` gets until it has `last`."""
    found = [sequence]
    async with asyncio.timeout(60):
        while found[-1] < last:
            news = feed.news
            events = await feed.after(found[-1])
            found += [event.sequence for event in events]
            if not events:
                await news.wait()
    return found[1:]


async def test_each_reader_gets_every_event_once_wherever_it_stands(organization: tuple[UUID, UUID]):
    bus = Bus()
    async with fed(bus, organization[0], 1) as feed:
        readers = [asyncio.create_task(told(feed, 1, MANY)) for _ in range(3)]
        await write(organization, 2, MANY)
        bus.wake_events(organization[0])
        assert [await reader for reader in readers] == [list(range(2, MANY + 1))] * 3
        for behind in (0, 1, MANY - KEPT - 1, MANY - KEPT, MANY - BATCH, MANY - 1, MANY):
            assert await told(feed, behind, MANY) == list(range(behind + 1, MANY + 1))


async def test_a_look_that_fails_is_tried_again(organization: tuple[UUID, UUID]):
    bus = Bus()
    async with fed(bus, organization[0], 1) as feed:
        reader = asyncio.create_task(told(feed, 1, 2))
        await execute("ALTER TABLE events RENAME TO elsewhere")
        with capture_logs() as logged:
            bus.wake_events(organization[0])
            async with asyncio.timeout(60):
                while not any(entry["event"] == "events can't be read" for entry in logged):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        await execute("ALTER TABLE elsewhere RENAME TO events")
        await write(organization, 2, 2)
        bus.wake_events(organization[0])
        assert await reader == [2]


async def test_a_feed_is_one_for_all_and_ends_with_its_last_follower(organization: tuple[UUID, UUID]):
    bus = Bus()
    feeds = Feeds(bus)
    with feeds.following(organization[0], 1) as first:
        with feeds.following(organization[0], 1) as second:
            assert first is second
        await first.news.wait()
        assert bus._tails
    async with asyncio.timeout(60):
        while bus._tails:  # noqa: ASYNC110 — nothing tells of it
            await asyncio.sleep(0.01)
    assert not feeds._open


async def test_who_follows_a_feed_that_ended_is_told(organization: tuple[UUID, UUID]):
    async with fed(Bus(), organization[0], 1) as feed:
        reader = asyncio.create_task(told(feed, 1, 2))
        await asyncio.sleep(0)
        feed.end()
        with pytest.raises(RuntimeError, match="ended"):
            await reader


async def test_a_right_is_checked_again_before_it_was_trusted_too_long():
    clock, checks = ManualClock(), []

    async def check() -> None:
        checks.append(clock.monotonic())

    trusts = [Trust(clock, check) for _ in range(100)]
    for _ in range(int(TRUSTED_SECONDS * 10)):
        for trust in trusts:
            await trust.renew()
        clock.advance(0.1)
    assert len(checks) >= len(trusts)
    assert min(checks) > clock.monotonic() - TRUSTED_SECONDS  # not at once
    assert len({round(at, 1) for at in checks[:100]}) > 3  # nor all at the same moment
    assert checks[99] <= clock.monotonic() - CALLER_SECONDS
