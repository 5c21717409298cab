"""Keys that want attention, each once, each with a time: what every keyed loop here runs on.

One key is handed to one worker at a time; a key that is added meanwhile comes again afterwards. So the things behind
one key are reconciled in order, and different keys in parallel.
"""

from __future__ import annotations

import asyncio
import heapq
from typing import Generic, TypeVar

from app.clock import Clock

K = TypeVar("K")
_SPARE = 64  # replaced entries that are not worth the work
_TICK = 1e-6  # seconds. Timers may fire a tick of the clock early; who waits for the rest of it spins


class WorkQueue(Generic[K]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._busy: set[K] = set()
        self._again: dict[K, float] = {}
        self._count = 0
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._due) + len(self._busy)

    def add(self, key: K, delay: float = 0.0) -> None:
        """Ask for the key in `delay` seconds, or earlier if it was asked for earlier."""
        due = self._clock.monotonic() + max(0.0, delay)
        if key in self._busy:
            self._again[key] = min(due, self._again.get(key, due))
        elif key not in self._due or due < self._due[key]:
            self._push(key, due)

    def clear(self) -> None:
        """Nobody wants anything any more. What is being worked on is not interrupted."""
        self._due.clear()
        self._heap.clear()
        self._again.clear()

    def _push(self, key: K, due: float) -> None:
        self._due[key] = due
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 2 * len(self._due) + _SPARE:
            self._drop_replaced()
        self._changed.set()

    def _drop_replaced(self) -> None:
        """What was asked for tomorrow and then for now would stay until tomorrow, one entry for each time."""
        self._heap = list({entry[2]: entry for entry in self._heap if self._due.get(entry[2]) == entry[0]}.values())
        heapq.heapify(self._heap)

    async def get(self) -> K:
        """The key that has been due longest; waits for one. Call `done` when finished with it."""
        while True:
            wait = self._until_next()
            if wait is not None and wait <= _TICK:
                _, _, key = heapq.heappop(self._heap)
                del self._due[key]
                self._busy.add(key)
                return key
            self._changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _until_next(self) -> float | None:
        """Seconds until the next key is due; None without one. Drops entries that an earlier wish has replaced."""
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) == due:
                return due - self._clock.monotonic()
            heapq.heappop(self._heap)
        return None

    def done(self, key: K) -> None:
        self._busy.discard(key)
        if (due := self._again.pop(key, None)) is not None:
            self._push(key, due)
