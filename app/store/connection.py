"""Transactions on the active database."""

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
