"""The bounded past of one kind, and those who wait for its next change.

A watcher holds an index into the log, not a queue of its own: a slow reader costs no memory and falls out
of the log's end instead, which Kubernetes says with 410 Expired.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple


class Facts(NamedTuple):
    """What selectors look at; kept with each change so that the old object needn't be."""

    namespace: str
    labels: dict[str, str]
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    rv: int
    body: bytes  # the object as JSON, encoded once for disk, reads and every watch: its last form if removed
    old: Facts | None  # None: it was created
    new: Facts | None  # None: it was removed


class ExpiredError(Exception):
    """The asked resource version is older than the log; `oldest` could still be served."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


class History:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._slack = limit // 4
        self._changes: list[Change] = []
        self._first = 0  # index of _changes[0] over the log's whole life
        self._forgotten_rv = 0  # the newest version that is gone from the log
        self._waiting: set[asyncio.Event] = set()

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > self._limit + self._slack:  # in steps: each trim moves the whole list
            self._forget(len(self._changes) - self._limit)
        for event in self._waiting:
            event.set()

    def forget_all(self, rv: int) -> None:
        """Nothing before `rv` can be asked for any more, and who watches is told so."""
        self._forget(len(self._changes))
        self._forgotten_rv = max(self._forgotten_rv, rv)
        self._first += 1  # so that open watches have fallen out as well
        for event in self._waiting:
            event.set()

    def _forget(self, count: int) -> None:
        if count:
            self._forgotten_rv = self._changes[count - 1].rv
            del self._changes[:count]
            self._first += count

    def start_after(self, rv: int) -> int:
        """The index of the first change after `rv`."""
        if rv < self._forgotten_rv:
            raise ExpiredError(self._forgotten_rv)
        return self._first + bisect_right(self._changes, rv, key=lambda change: change.rv)

    def end(self) -> int:
        return self._first + len(self._changes)

    def read(self, index: int, limit: int = 500) -> list[Change]:
        if index < self._first:
            raise ExpiredError(self._forgotten_rv)
        at = index - self._first
        return self._changes[at : at + limit]

    def wait_on(self, event: asyncio.Event) -> None:
        self._waiting.add(event)

    def leave(self, event: asyncio.Event) -> None:
        self._waiting.discard(event)
