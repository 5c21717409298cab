"""Writes that come at the same time share one transaction.

A commit costs a disk sync, and all writes of one organization queue for its counter row anyway. So while one
transaction runs, the writes that arrive wait together and become the next one. A lone write waits for nobody. Where a
shared transaction fails, its writes are tried one by one, so that each caller gets its own error and nobody else's.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from app.store.unfinished import begin

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")
R = TypeVar("R")

_LARGEST = 200


class GroupCommit(Generic[K, W, R]):
    """`commit(key, writes)` stores all writes of one key in one transaction and returns a result for each."""

    def __init__(self, commit: Callable[[K, Sequence[W]], Awaitable[Sequence[R]]]) -> None:
        self._commit = commit
        self._waiting: dict[K, list[tuple[W, asyncio.Future[R]]]] = defaultdict(list)
        self._workers: dict[K, asyncio.Task[None]] = {}

    async def write(self, key: K, write: W) -> R:
        """The write's result, once it is committed. A caller that is cancelled meanwhile takes nothing back."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting[key].append((write, future))
        if key not in self._workers:
            self._workers[key] = begin(self._drain(key), f"group commit {key}")
        return await future

    async def _drain(self, key: K) -> None:
        try:
            while group := self._waiting[key][:_LARGEST]:
                del self._waiting[key][: len(group)]
                await self._store(key, group)
        finally:
            del self._workers[key], self._waiting[key]

    async def _store(self, key: K, group: Sequence[tuple[W, asyncio.Future[R]]]) -> None:
        try:
            results = await self._commit(key, [write for write, _ in group])
        except Exception as error:  # noqa: BLE001 — it goes to the caller whose write it is
            if len(group) > 1:
                for alone in group:
                    await self._store(key, [alone])
            elif not group[0][1].done():
                group[0][1].set_exception(error)
            return
        for (_, future), result in zip(group, results, strict=True):
            if not future.done():
                future.set_result(result)
