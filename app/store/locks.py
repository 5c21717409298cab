"""Locks on a database, each for one process at a time: to bring its schema up to date, and to run the loops.

PostgreSQL: an advisory lock of a session of its own. SQLite: a lock on a file beside the database. Both go with the
process, however that ends. A lock excludes nobody by itself: a process that was suspended does not know that another
holds it by now. So every write is guarded by a version too, and every call of the cluster may come twice.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, Protocol
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from tortoise.backends.base.config_generator import expand_db_url

_TRY_SECONDS = 0.1
_CHECK_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
# Past this the server ends a silent holder's session, so that another process may follow one that is suspended or cut
# off. Longer than a holder takes to notice by itself that it is cut off.
_SILENT_SECONDS = 30
_LONGEST_NAME = 63  # bytes of PostgreSQL's application_name


@dataclass(frozen=True)
class Purpose:
    """What a lock is for. `number` is the advisory lock's, ours alone in our own database; `suffix` the file's.

    `is_watched`: its holder asks for it every second, so that silence means that there is none any more.
    """

    number: int
    suffix: str
    is_watched: bool = False


MIGRATION = Purpose(0x6770_7579, ".lock")
LOOPS = Purpose(0x6770_757A, ".loops", is_watched=True)


class LockLostError(Exception):
    """The lock is not to be had, or may no longer be ours; the message says why."""


class Lock(Protocol):
    """A lock to take, and to watch once it is held."""

    async def try_acquire(self) -> bool:
        """Whether it is ours now. Raises LockLostError where the database does not answer."""
        ...

    async def holder(self) -> str:
        """Who holds it, in words; empty where that can't be told."""
        ...

    async def watch(self) -> NoReturn:
        """Raise LockLostError as soon as a lock that was ours may be somebody else's."""
        ...


@asynccontextmanager
async def open_lock(url: str, purpose: Purpose) -> AsyncIterator[Lock]:
    """The lock of the database at the normalized `url`, not taken yet; let go at the end."""
    is_sqlite = url.startswith("sqlite:")
    opened = (
        _file_lock(expand_db_url(url)["credentials"]["file_path"], purpose) if is_sqlite else _session(url, purpose)
    )
    async with opened as lock:
        yield lock


@asynccontextmanager
async def migration_lock(url: str) -> AsyncIterator[None]:
    """Wait for, and hold, the right to migrate: Tortoise takes no lock, and two that begin together collide."""
    async with open_lock(url, MIGRATION) as lock:
        while True:
            if await lock.try_acquire():
                break
            await asyncio.sleep(_TRY_SECONDS)
        yield


def this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


@asynccontextmanager
async def _file_lock(path: str, purpose: Purpose) -> AsyncIterator[Lock]:
    with closing(sqlite3.connect(path)):
        pass  # says at once that there is no such folder; Tortoise's own thread would hang about after that
    lock = _FileLock(Path(f"{path}{purpose.suffix}"))
    try:
        yield lock
    finally:
        lock.let_go()


@dataclass
class _FileLock:
    path: Path
    _file: IO[str] | None = None

    async def try_acquire(self) -> bool:
        return self._take()

    async def holder(self) -> str:
        return _read(self.path)

    async def watch(self) -> NoReturn:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            if not self._is_in_place():
                raise LockLostError(f"the lock file {self.path} was removed or replaced by somebody")

    def let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self) -> bool:
        self._file = self.path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.let_go()
            return False
        if not self._is_in_place():
            self.let_go()
            return False
        self._file.truncate(0)
        self._file.write(this_process())
        self._file.flush()
        return True

    def _is_in_place(self) -> bool:
        """Or else others take another file, which was put in the place of ours."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


@asynccontextmanager
async def _session(url: str, purpose: Purpose) -> AsyncIterator[Lock]:
    """A session of PostgreSQL for the lock alone: not one of the pool, which may close it or lend it to others."""
    parts = urlsplit(url)
    settings = {"application_name": f"gpuyard, {this_process()}".encode()[:_LONGEST_NAME].decode(errors="ignore")}
    if purpose.is_watched:
        settings["idle_session_timeout"] = f"{_SILENT_SECONDS}s"
    address = urlunsplit(("postgres", parts.netloc, parts.path, "", ""))
    with _explaining():
        connection = await asyncpg.connect(address, server_settings=settings, timeout=_ANSWER_SECONDS)
    try:
        yield _AdvisoryLock(connection, purpose.number)
    finally:
        with suppress(LockLostError), _explaining():
            await connection.close(timeout=_ANSWER_SECONDS)


# The last is what asyncpg makes of a connection that ends while it is used.
_TROUBLE = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except _TROUBLE as error:
        raise LockLostError(str(error) or type(error).__name__) from error


_HOLDER = """
SELECT session.application_name FROM pg_locks lock JOIN pg_stat_activity session USING (pid)
WHERE lock.locktype = 'advisory' AND lock.granted AND lock.classid = 0 AND lock.objid = $1 AND lock.objsubid = 1
AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class _AdvisoryLock:
    def __init__(self, connection: Any, number: int) -> None:
        self._connection = connection
        self._number = number
        self._closed = asyncio.Event()
        connection.add_termination_listener(lambda _: self._closed.set())

    async def try_acquire(self) -> bool:
        return bool(await self._ask("SELECT pg_try_advisory_lock($1)", self._number))

    async def holder(self) -> str:
        return str(await self._ask(_HOLDER, self._number) or "").removeprefix("gpuyard, ")

    async def watch(self) -> NoReturn:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await self._closed.wait()
            await self._ask("SELECT 1")

    async def _ask(self, statement: str, *values: object) -> object:
        with _explaining():
            return await self._connection.fetchval(statement, *values, timeout=_ANSWER_SECONDS)
