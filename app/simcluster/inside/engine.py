"""What drives the controllers: one queue of things to look at again and one heap of times.

Level-triggered: a key in the queue means "look at this object", never "this happened". Handlers are
synchronous and short; the engine gives the loop back between slices so that requests are answered meanwhile.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import OrderedDict
from collections.abc import Callable
from itertools import count

import structlog

from app.simcluster.meta import Clock

log = structlog.get_logger(__name__)

Handler = Callable[[str], None]
SLICE_SECONDS = 0.005
RETRY_SECONDS = 1.0


class Engine:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._handlers: dict[str, Handler] = {}
        self._queue: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._times: dict[tuple[str, str], float] = {}
        self._heap: list[tuple[float, int, tuple[str, str]]] = []
        self._order = count()
        self._awake = asyncio.Event()

    def handle(self, name: str, handler: Handler) -> None:
        self._handlers[name] = handler

    def wake(self, name: str, key: str = "") -> None:
        """Let the handler look at `key` soon; asked twice before that, it looks once."""
        self._queue[(name, key)] = None
        self._awake.set()

    def wake_at(self, when: float, name: str, key: str = "") -> None:
        """Likewise at a time. A key has one time: the earliest asked for, until it has passed."""
        item = (name, key)
        known = self._times.get(item)
        if known is not None and known <= when:
            return
        self._times[item] = when
        heapq.heappush(self._heap, (when, next(self._order), item))
        if self._heap[0][2] == item:
            self._awake.set()

    def settle(self) -> None:
        """Work until nothing is left to do at this moment."""
        while self._take_due() or self._queue:
            self._work_one()

    def next_time(self) -> float | None:
        while self._heap and self._times.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    async def run(self) -> None:
        while True:
            self._awake.clear()
            self._take_due()
            self._work_slice()
            await self._rest()

    async def _rest(self) -> None:
        if self._queue:
            await asyncio.sleep(0)
            return
        when = self.next_time()
        delay = None if when is None else max(0.0, when - self.clock())
        try:
            await asyncio.wait_for(self._awake.wait(), delay)
        except TimeoutError:
            return  # a time has come

    def _work_slice(self) -> None:
        until = time.monotonic() + SLICE_SECONDS
        while self._queue and time.monotonic() < until:
            self._work_one()

    def _work_one(self) -> None:
        if not self._queue:
            return
        (name, key), _ = self._queue.popitem(last=False)
        try:
            self._handlers[name](key)
        except Exception:  # the edge of the loop: one bad object must not stop the cluster
            log.exception("simcluster: a controller failed and will try again", controller=name, key=key)
            self.wake_at(self.clock() + RETRY_SECONDS, name, key)

    def _take_due(self) -> bool:
        now, found = self.clock(), False
        while (when := self.next_time()) is not None and when <= now:
            _, _, item = heapq.heappop(self._heap)
            del self._times[item]
            self._queue[item] = None
            found = True
        return found
