"""Wake-ups inside the process: who writes something tells who waits for it, after the commit.

Level-triggered: a signal says only "look again", signals that come while someone is looking are one signal, and
everybody who waits also looks again by himself after a while. So a lost signal costs time, never a fact.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

LOOK_AGAIN_SECONDS = 2.0  # for who follows events: another process may have written; a lost wake-up costs no more


class Signal:
    """One waiter's flag. `wait` returns at once if anything happened since the last `wait` returned."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """True when signalled, False when `seconds` passed without a signal."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


def _nobody(*_: object) -> None:
    """Before the background runs, nobody listens: it begins by looking at everything."""


@dataclass(frozen=True)
class Listeners:
    """Who is told. Each must return at once."""

    queue: Callable[[], None] = _nobody
    nodes: Callable[[], None] = _nobody
    workload: Callable[[UUID], None] = _nobody


class Bus:
    """The process's wake-ups: the queue changed, a workload changed, the nodes changed, there are new events."""

    def __init__(self) -> None:
        self._listeners = Listeners()
        self._tails: dict[UUID, set[Signal]] = defaultdict(set)

    def listen(self, listeners: Listeners) -> None:
        """From now on wake-ups of the background go to these; before that nobody needs them."""
        self._listeners = listeners

    def wake_queue(self) -> None:
        """Something waits that did not, or capacity changed."""
        self._listeners.queue()

    def wake_workload(self, workload_id: UUID) -> None:
        self._listeners.workload(workload_id)

    def wake_nodes(self) -> None:
        self._listeners.nodes()

    def wake_events(self, organization_id: UUID) -> None:
        for signal in self._tails.get(organization_id, ()):
            signal.set()

    @contextmanager
    def following(self, organization_id: UUID) -> Generator[Signal, None, None]:
        """A signal that is set at every new event of the organization."""
        signal = Signal()
        self._tails[organization_id].add(signal)
        try:
            yield signal
        finally:
            self._tails[organization_id].discard(signal)
            if not self._tails[organization_id]:
                del self._tails[organization_id]
