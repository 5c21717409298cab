"""Looks at a server's GPUs each interval, and at once when something happened; in a thread of its own, since a driver
may hang."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from random import Random

from agent.clock import Clock
from agent.look import Look, Source
from agent.report import DriverState, Inventory

_log = logging.getLogger(__name__)
_JITTER = 0.05
_PATIENCE_SECONDS = 60.0
_SHORTEST_SECONDS = 1.0  # between two looks, however many events come: a broken GPU may have thousands


class Collector:
    """`tell` gets each look; `interval` is asked before each pause, as the app may change it; `woken` ends a pause,
    but no sooner than after `shortest` seconds."""

    def __init__(
        self,
        source: Source,
        clock: Clock,
        interval: Callable[[], float],
        tell: Callable[[Look], None],
        woken: threading.Event,
        shortest: float = _SHORTEST_SECONDS,
    ) -> None:
        self._source = source
        self._clock = clock
        self._interval = interval
        self._tell = tell
        self._chance = Random()  # noqa: S311 — spreads load, guards nothing
        self._woken = woken
        self._shortest = shortest
        self._stopped = threading.Event()
        self._began: float | None = None
        self.latest: Look | None = None

    def run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            self.look()
            pause = self._interval() * self._chance.uniform(1 - _JITTER, 1 + _JITTER)
            if not self._stopped.wait(min(pause, self._shortest)):
                self._woken.wait(max(0.0, pause - self._shortest))
        self._source.close()

    def look(self) -> None:
        self._began = self._clock.monotonic()
        found = self._source.look()
        self._began = None
        self._note(found)

    def stop(self) -> None:
        self._stopped.set()
        self._woken.set()

    def stuck_seconds(self) -> float:
        """For how long the look that is under way has been too long; else 0."""
        began = self._began
        if began is None:
            return 0.0
        taken = self._clock.monotonic() - began
        return taken if taken > _PATIENCE_SECONDS else 0.0

    def watch_over(self) -> None:
        """Say in the source's place that it does not answer; whoever looks is held fast. Said once."""
        seconds = self.stuck_seconds()
        if not seconds or (self.latest and self.latest.inventory.state is DriverState.ERROR):
            return
        words = f"the driver has not answered for {seconds:.0f} s; the kernel's log (dmesg) may tell more"
        self._note(Look(self._clock.now(), Inventory(DriverState.ERROR, words)))

    def _note(self, found: Look) -> None:
        was = self.latest and self.latest.inventory.state
        if found.inventory.state is not was:
            _log.info("driver: %s %s", found.inventory.state.name, found.inventory.message)
        self.latest = found
        self._tell(found)
