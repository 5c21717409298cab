"""One process at a time brings a schema up to date: Tortoise takes no lock, and two that begin together collide."""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from tortoise.backends.base.config_generator import expand_db_url

_KEY = 0x6770_7579  # "gpuy": the advisory lock's number, ours alone in our own database


@asynccontextmanager
async def migration_lock(url: str) -> AsyncIterator[None]:
    """Wait for, and hold, the lock of the database at the normalized `url`. It goes with the process."""
    is_sqlite = url.startswith("sqlite:")
    lock = _file_lock(expand_db_url(url)["credentials"]["file_path"]) if is_sqlite else _advisory_lock(url)
    async with lock:
        yield


@asynccontextmanager
async def _file_lock(path: str) -> AsyncIterator[None]:
    with closing(sqlite3.connect(path)):
        pass  # says at once that there is no such folder; Tortoise's own thread would hang about after that
    with open(f"{path}.lock", "a+") as handle:  # noqa: ASYNC230, PTH123 — a moment, at the start
        await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def _advisory_lock(url: str) -> AsyncIterator[None]:
    parts = urlsplit(url)
    connection = await asyncpg.connect(urlunsplit(("postgres", parts.netloc, parts.path, "", "")))
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", _KEY)
        yield
    finally:
        await connection.close()
