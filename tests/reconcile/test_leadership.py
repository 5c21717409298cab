"""One process leads, another stands by and follows; whoever loses the lock stops before the next one begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest

from app.reconcile.leadership import Leadership
from app.store.locks import Lock, LockLostError

pytestmark = pytest.mark.looptime
Logged = list[MutableMapping[str, Any]]


@dataclass
class Shelf:
    """One lock, as a database has it. `refuses`: no session can be had."""

    holder: str = ""
    refuses: bool = False
    sessions: list[Session] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, me: str) -> AsyncIterator[Lock]:
        if self.refuses:
            raise LockLostError("connection refused")
        session = Session(self, me)
        self.sessions.append(session)
        try:
            yield session
        finally:
            self.sessions.remove(session)
            if self.holder == me:
                self.holder = ""

    def end_sessions(self) -> None:
        self.holder = ""
        for session in self.sessions:
            session.ended.set()


@dataclass
class Session:
    shelf: Shelf
    me: str
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def try_acquire(self) -> bool:
        if not self.shelf.holder:
            self.shelf.holder = self.me
        return self.shelf.holder == self.me

    async def holder(self) -> str:
        return self.shelf.holder

    async def watch(self) -> NoReturn:
        await self.ended.wait()
        raise LockLostError("the session is gone")


@dataclass
class Process:
    """One that would like to lead. `at_work` is shared by all, to see that never two are."""

    name: str
    shelf: Shelf
    at_work: set[str]
    error: Exception | None = None
    leadership: Leadership = field(init=False)
    task: asyncio.Task[NoReturn] = field(init=False)

    def __post_init__(self) -> None:
        self.leadership = Leadership(self._work)
        self.task = asyncio.create_task(self.leadership.run(lambda: self.shelf.open(self.name)))

    async def _work(self) -> None:
        assert not self.at_work, "two at work"
        self.at_work.add(self.name)
        try:
            if self.error:
                raise self.error
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.2)  # what is under way ends
            self.at_work.discard(self.name)

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def processes(shelf: Shelf, *names: str) -> AsyncIterator[list[Process]]:
    at_work: set[str] = set()
    started = []
    for name in names:
        started.append(Process(name, shelf, at_work))
        await asyncio.sleep(0.1)
    yield started
    for process in started:
        await process.end()


async def test_the_first_leads_and_the_second_says_who_does(logged: Logged):
    async with processes(Shelf(), "one", "two") as (one, two):
        await asyncio.sleep(30)
        assert (one.leadership.is_leading, one.leadership.leader) == (True, "")
        assert (two.leadership.is_leading, two.leadership.leader) == (False, "one")
        assert one.at_work == {"one"}
    told = [line for line in logged if "another process" in line["event"]]
    assert [line["leader"] for line in told] == ["one"]


async def test_the_second_follows_within_seconds():
    async with processes(Shelf(), "one", "two") as (one, two):
        await one.end()
        await asyncio.sleep(1.5)
        assert (two.leadership.is_leading, two.leadership.leader) == (True, "")
        assert two.at_work == {"two"}


async def test_who_loses_the_lock_stops_first_and_stands_by_again():
    async with processes(Shelf(), "one", "two") as (one, two):
        shelf = one.shelf
        shelf.end_sessions()
        await asyncio.sleep(0.1)
        assert not one.leadership.is_leading
        assert one.at_work == {"one"}  # not ended yet, and so it doesn't ask for the lock yet
        await asyncio.sleep(5)
        assert [one.leadership.is_leading, two.leadership.is_leading].count(True) == 1
        assert len(one.at_work) == 1


async def test_without_a_database_nobody_works_and_it_is_tried_again(logged: Logged):
    shelf = Shelf(refuses=True)
    async with processes(shelf, "one") as (one,):
        await asyncio.sleep(30)
        assert (one.leadership.is_leading, one.leadership.trouble) == (False, "connection refused")
        assert len([line for line in logged if line["log_level"] == "warning"]) == 1
        shelf.refuses = False
        await asyncio.sleep(2)
        assert (one.leadership.is_leading, one.leadership.trouble) == (True, "")


async def test_a_defect_of_the_work_ends_it():
    process = Process("one", Shelf(), set(), RuntimeError("a defect"))
    with pytest.raises(RuntimeError, match="a defect"):
        await process.task
