"""Which installation a database is: made once, the same ever after, also by processes that begin together."""

from __future__ import annotations

import asyncio
from uuid import UUID

from app.store.database import opened
from app.store.installation import installation_id
from tests.clock import START


async def test_it_is_made_once_and_stays(database_url: str):
    async with opened(database_url):
        made = await installation_id(START)
        assert str(UUID(made)) == made
        assert await installation_id(START) == made
    async with opened(database_url):
        assert await installation_id(START) == made


async def test_processes_that_begin_together_agree(database_url: str):
    async with opened(database_url):
        found = await asyncio.gather(*(asyncio.create_task(installation_id(START)) for _ in range(8)))
    assert len(set(found)) == 1


async def test_two_databases_are_two_installations(sqlite_url: str, postgres_copy: str):
    made = []
    for url in (sqlite_url, postgres_copy):
        async with opened(url):
            made.append(await installation_id(START))
    assert made[0] != made[1]
