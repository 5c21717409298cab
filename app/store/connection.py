"""Transactions on the active database, and reads that belong together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.transactions import in_transaction


@asynccontextmanager
async def transaction() -> AsyncIterator[BaseDBAsyncClient]:
    """One transaction. Start it with a write: SQLite can't upgrade a read lock while another process writes."""
    async with in_transaction() as connection:
        yield connection


@asynccontextmanager
async def snapshot() -> AsyncIterator[None]:
    """Reads inside are of one moment, whatever is written meanwhile; nothing can be written inside.

    SQLite gives every transaction that, PostgreSQL has to be asked. Whoever may be cancelled uses `to_its_end`.
    """
    async with in_transaction() as connection:
        if connection.capabilities.dialect == "postgres":
            await connection.execute_script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
