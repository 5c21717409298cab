"""The generic loop: workers that take keys from a work queue and never give up.

One of the two broad `except`s of the background lives here, the other in `app.cluster.watches`: whatever one key's
reconciliation raises is logged with its chain, and the key comes again after a growing, jittered pause.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, NoReturn, TypeVar

import structlog

from app.clock import Clock
from app.cluster.brake import HeldBackError
from app.cluster.port import UnavailableError
from app.reconcile.workqueue import WorkQueue

K = TypeVar("K")
_log = structlog.get_logger(__name__)
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 60.0


@dataclass
class LoopHealth:
    """What `/readyz` shows of a loop. `last_pass` is on the monotonic clock."""

    name: str
    last_pass: float | None = None
    last_error: str = ""
    failures: int = 0


@dataclass
class KeyedLoop(Generic[K]):
    """`reconcile` returns when to look at the key again although nothing changed, or None."""

    name: str
    clock: Clock
    reconcile: Callable[[K], Awaitable[datetime | None]]
    workers: int = 1
    queue: WorkQueue[K] = field(init=False)
    health: LoopHealth = field(init=False)
    _failures: dict[K, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.queue = WorkQueue(self.clock)
        self.health = LoopHealth(self.name)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self.workers):
                group.create_task(self._work())

    async def _work(self) -> NoReturn:
        while True:
            key = await self.queue.get()
            try:
                await self._attend(key)
            finally:
                self.queue.done(key)

    async def _attend(self, key: K) -> None:
        try:
            wake_at = await self.reconcile(key)
            delay = None if wake_at is None else (wake_at - self.clock.now()).total_seconds()
        except Exception as error:  # noqa: BLE001 — the loop's edge: logged, and tried again
            self._failed(key, error)
            return
        self._failures.pop(key, None)
        self.health.last_pass, self.health.last_error = self.clock.monotonic(), ""
        if delay is not None:
            self.queue.add(key, delay)

    def _failed(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = pause_after(failures, error)
        self.health.last_error = f"{type(error).__name__}: {error}"
        self.health.failures += 1
        if isinstance(error, UnavailableError):
            level = logging.DEBUG if isinstance(error, HeldBackError) else logging.WARNING  # one of those was told
            _log.log(
                level,
                "cluster unavailable",
                loop=self.name,
                key=str(key),
                error=error.message,
                retry_in=round(pause, 1),
            )
        else:
            _log.error("reconcile failed", loop=self.name, key=str(key), retry_in=round(pause, 1), exc_info=error)
        self.queue.add(key, pause)


def pause_after(failures: int, error: Exception | None = None) -> float:
    """Seconds before the next try: doubling from half a second to a minute, with jitter, or as the server asked."""
    asked = error.retry_after if isinstance(error, UnavailableError) and error.retry_after else 0.0
    grown = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 10))
    return max(asked, grown * random.uniform(0.7, 1.3))  # noqa: S311 — jitter, not a secret
