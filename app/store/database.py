"""Opening a database: connection settings, migrations, and the context that Tortoise finds its connections by.

Callers keep the `Database` and run their code under `with database.active():`; tasks created inside inherit it. All
state hangs on the context, so several databases may be open in one process.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg
from tortoise.context import TortoiseContext
from tortoise.exceptions import BaseORMException
from tortoise.fields import data
from tortoise.migrations.api import migrate

from app.store.locks import LockLostError, migration_lock
from app.store.reports import grouping_reports
from app.store.sharedread import sharing
from app.store.unfinished import keeping, settle
from app.store.writes import grouping

APP = "gpuyard"
_SQLITE_PRAGMAS = {
    "busy_timeout": "10000",
    "synchronous": "NORMAL",
    "foreign_keys": "ON",
    "case_sensitive_like": "ON",  # as on PostgreSQL; searching without regard to case folds both sides itself
    "install_regexp_functions": "true",  # which PostgreSQL has: how letters beyond ASCII are searched for
}
_POSTGRES_POOL = {"minsize": "1", "maxsize": "16"}

# As the library comes it reads SQLite's moments with a regular expression, which took half the time of reading a row.
data.parse_datetime = datetime.fromisoformat  # type: ignore[attr-defined]


class UnsupportedDatabaseError(ValueError):
    """The URL's scheme is none that GPUYard keeps its data in."""


def normalize_url(url: str) -> str:
    """A URL in Tortoise's spelling, with the settings GPUYard needs unless the URL names its own."""
    parts = urlsplit(url)
    scheme = {"postgresql": "asyncpg", "postgres": "asyncpg"}.get(parts.scheme, parts.scheme)
    if scheme not in ("asyncpg", "sqlite"):
        found = f"begins with {parts.scheme!r}" if parts.scheme else "names no kind of database"
        msg = f"the database's URL {found}; give sqlite:///path or postgres://user@host/name"
        raise UnsupportedDatabaseError(msg)
    defaults = _SQLITE_PRAGMAS if scheme == "sqlite" else _POSTGRES_POOL
    query = urlencode({**defaults, **dict(parse_qsl(parts.query))})
    if scheme == "sqlite":
        return f"sqlite://{_sqlite_path(parts.netloc + parts.path)}?{query}"
    return urlunsplit((scheme, parts.netloc, parts.path, query, ""))


def _sqlite_path(path: str) -> str:
    """`sqlite:////abs` and `sqlite:///rel` as most tools read them; Tortoise takes what follows `//` as it is."""
    return path.removeprefix("/")


def tortoise_config(url: str) -> dict[str, Any]:
    """The connection is named after the dialect: Tortoise caches its statements by that name for the whole process."""
    dialect = url.partition(":")[0]
    return {
        "connections": {dialect: url},
        "apps": {
            APP: {
                "models": ["app.store.models", "app.store.gpu_models"],
                "default_connection": dialect,
                "migrations": "app.store.migrations",
            }
        },
    }


class Database:
    """One open database."""

    def __init__(self, url: str) -> None:
        self.url = normalize_url(url)
        self._context = TortoiseContext()
        self._unfinished: set[asyncio.Task[Any]] = set()

    async def migrate(self) -> None:
        """Bring the schema up to date. On SQLite foreign keys are off meanwhile: a rebuilt table must not cascade."""
        url = self.url.replace("foreign_keys=ON", "foreign_keys=OFF")
        async with migration_lock(url), TortoiseContext():
            await migrate(config=tortoise_config(url))

    async def open(self) -> None:
        with self._context:
            await self._context.init(config=tortoise_config(self.url))

    async def close(self) -> None:
        """Once the writes and reads whose callers are gone already are done, too."""
        await settle(self._unfinished)
        with self._context:
            await self._context.close_connections()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, models use this database; tasks created inside inherit it."""
        with self._context, keeping(self._unfinished), grouping(), grouping_reports(), sharing():
            yield


class DatabaseUnavailableError(Exception):
    """The database can't be opened; the message says which and why, without its password."""


@contextmanager
def _explaining(url: str) -> Iterator[None]:
    try:
        yield
    except (
        LockLostError,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        BaseORMException,
        OSError,
        sqlite3.Error,
    ) as error:
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        msg = f"the database {place} of GPUYARD_DATABASE_URL can't be opened: {error or type(error).__name__}"
        raise DatabaseUnavailableError(msg) from error


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A migrated, open and active database, closed at the end."""
    database = Database(url)
    with _explaining(url):
        await database.migrate()
        await database.open()
    try:
        with database.active():
            yield database
    finally:
        await database.close()
