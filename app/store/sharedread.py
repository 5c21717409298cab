"""Reads that are asked for by many at the same time are made once.

Not a cache: an answer is shared only among those who asked before it came, so nobody gets anything older than his own
question, but for the moment that the read itself takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from app.store.unfinished import begin

P = ParamSpec("P")
V = TypeVar("V")

_running: ContextVar[dict[Hashable, asyncio.Future[Any]]] = ContextVar("shared_reads")


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, reads marked with `shared_read` are shared; `Database.active` is inside it."""
    token = _running.set({})
    try:
        yield
    finally:
        _running.reset(token)


def shared_read(read: Callable[P, Coroutine[Any, Any, V]]) -> Callable[P, Awaitable[V]]:
    """Share the read among all who ask the same while it runs. It must depend on nothing but its arguments."""

    @wraps(read)
    async def shared(*args: P.args, **kwargs: P.kwargs) -> V:
        running, key = _running.get(), (read, args, tuple(sorted(kwargs.items())))
        future = running.get(key)
        if future is None:
            future = running[key] = begin(read(*args, **kwargs))
            future.add_done_callback(lambda _: running.pop(key, None))
        answer: V = await asyncio.shield(future)
        return answer

    return shared
