"""Database work that outlives whoever asked for it, so that closing the database can wait for it.

A caller that is cancelled in the middle of a transaction would leave SQLite's one connection locked for everybody; and
work that goes on after the close would open a connection that nobody closes, which keeps the process from ending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

V = TypeVar("V")

_tasks: ContextVar[set[asyncio.Task[Any]]] = ContextVar("unfinished_work")


@contextmanager
def keeping(tasks: set[asyncio.Task[Any]]) -> Iterator[None]:
    """What is begun inside is kept in `tasks` until it is done; `Database.active` is inside it."""
    token = _tasks.set(tasks)
    try:
        yield
    finally:
        _tasks.reset(token)


def begin(work: Coroutine[Any, Any, V], name: str | None = None) -> asyncio.Task[V]:
    task = asyncio.create_task(work, name=name)
    tasks = _tasks.get()
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


async def to_its_end(work: Coroutine[Any, Any, V]) -> V:
    """Do it whole, even if the caller is cancelled meanwhile."""
    return await asyncio.shield(begin(work))


async def settle(tasks: set[asyncio.Task[Any]]) -> None:
    while tasks:
        await asyncio.wait(tasks)
