"""One process at a time, on both databases; and whoever held the lock hears of it when it is gone."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import asyncpg
import pytest

from app.store.database import Database, normalize_url
from app.store.locks import LOOPS, MIGRATION, Lock, LockLostError, open_lock, this_process

# Takes the lock, says so, and keeps it until it is killed.
HOLDER = """
import asyncio, sys
from app.store.locks import LOOPS, open_lock

async def hold():
    async with open_lock(sys.argv[1], LOOPS) as lock:
        assert await lock.try_acquire()
        print("held", flush=True)
        await lock.watch()

asyncio.run(hold())
"""


@pytest.fixture
def url(database_url: str) -> str:
    return normalize_url(database_url)


async def test_one_holds_it_and_the_other_learns_who(url: str):
    async with open_lock(url, LOOPS) as first, open_lock(url, LOOPS) as second:
        assert await first.try_acquire()
        assert not await second.try_acquire()
        assert await second.holder() == this_process()


async def test_it_is_free_again_once_the_holder_ends(url: str):
    async with open_lock(url, LOOPS) as second:
        async with open_lock(url, LOOPS) as first:
            assert await first.try_acquire()
        assert await second.try_acquire()


async def test_a_killed_process_holds_nothing(url: str):
    async with open_lock(url, LOOPS) as lock:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, url, stdout=pipe)
        assert process.stdout is not None
        assert await process.stdout.readline() == b"held\n"
        assert not await lock.try_acquire()
        assert await lock.holder() == this_process().replace(str(os.getpid()), str(process.pid))
        process.kill()
        await process.wait()
        await asyncio.wait_for(until_acquired(lock), 60)


async def until_acquired(lock: Lock) -> None:
    while True:
        if await lock.try_acquire():
            return
        await asyncio.sleep(0.02)


async def test_who_works_keeps_nobody_from_migrating(url: str, database_url: str):
    async with open_lock(url, LOOPS) as lock:
        assert await lock.try_acquire()
        await Database(database_url).migrate()


async def test_migrations_wait_for_each_other(url: str, database_url: str):
    async with open_lock(url, MIGRATION) as lock:
        assert await lock.try_acquire()
        migrating = asyncio.ensure_future(Database(database_url).migrate())
        done, _ = await asyncio.wait([migrating], timeout=0.3)
        assert not done
    await asyncio.wait_for(migrating, 60)


async def test_a_lost_session_is_heard_of_at_once(postgres_copy: str):
    url = normalize_url(postgres_copy)
    async with open_lock(url, LOOPS) as lock:
        assert await lock.try_acquire()
        watching = asyncio.ensure_future(lock.watch())
        await end_all_sessions(postgres_copy)
        await asyncio.wait_for(lock._closed.wait(), 60)  # type: ignore[attr-defined]  # without having asked
        with pytest.raises(LockLostError):
            await asyncio.wait_for(watching, 60)


async def test_a_session_that_can_not_be_had_is_no_lock(postgres_copy: str):
    url = normalize_url(postgres_copy)
    async with open_lock(url, LOOPS) as lock:
        await end_all_sessions(postgres_copy)
        with pytest.raises(LockLostError):
            await lock.try_acquire()
    with pytest.raises(LockLostError):
        async with open_lock(url.replace("test_", "missing_"), LOOPS):
            pass


async def end_all_sessions(url: str) -> None:
    connection = await asyncpg.connect(url.replace("asyncpg://", "postgres://"))
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await connection.close()


async def test_the_server_ends_the_session_of_a_silent_holder(postgres_copy: str):
    """Suspended, or cut off from the database: it can't say goodbye, and another process shall follow."""
    async with open_lock(normalize_url(postgres_copy), LOOPS) as lock:
        assert await lock.try_acquire()
        connection = await asyncpg.connect(postgres_copy.replace("asyncpg://", "postgres://"))
        settings = await connection.fetch(
            "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'gpuyard,%'"
        )
        await connection.close()
        assert len(settings) == 1
        session = lock._connection  # type: ignore[attr-defined]
        assert await session.fetchval("SHOW idle_session_timeout") == "30s"


@pytest.mark.parametrize("deed", ["removed", "replaced"])
async def test_a_lock_file_that_was_put_away_is_lost(sqlite_url: str, deed: str):
    url = normalize_url(sqlite_url)
    path = Path(f"{sqlite_url.removeprefix('sqlite:///')}.loops")
    async with open_lock(url, LOOPS) as lock, open_lock(url, LOOPS) as other:
        assert await lock.try_acquire()
        path.unlink()  # noqa: ASYNC240 — a moment
        if deed == "replaced":
            assert await other.try_acquire()
        with pytest.raises(LockLostError, match="removed or replaced"):
            await asyncio.wait_for(lock.watch(), 60)
