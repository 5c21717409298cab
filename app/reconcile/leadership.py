"""Which process runs the loops: the one that holds the database's lock; any other stands by and follows it.

Called by `app.reconcile.background`. What a process in the wrong belief to lead could do harms nobody: its writes lose
against the versions in the store, and every call of the cluster may come twice (`app.cluster.port`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import structlog

from app.store.locks import Lock, LockLostError

_log = structlog.get_logger(__name__)

OpenLock = Callable[[], AbstractAsyncContextManager[Lock]]

TRY_SECONDS = 1.0
_ELSEWHERE = "another process works on this database: its loops run there"


@dataclass
class Leadership:
    """`work` is what one process only may do; it ends by cancellation alone.

    `leader` names the other process while there is one, `trouble` says why nobody can be told to lead.
    """

    work: Callable[[], Coroutine[Any, Any, None]]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    is_leading: bool = field(init=False, default=False)
    leader: str = field(init=False, default="")
    trouble: str = field(init=False, default="")
    is_settled: asyncio.Event = field(init=False, default_factory=asyncio.Event)  # it is known who leads

    @property
    def note(self) -> str | None:
        """A sentence for `/readyz` where this process does not lead, once the reason is known."""
        if self.trouble:
            return f"the database's lock can't be had, so nothing is started or stopped: {self.trouble}"
        return f"{_ELSEWHERE} ({self.leader})" if self.leader else None

    async def run(self, open_lock: OpenLock) -> NoReturn:
        """Stand by, lead, stand by again, until cancelled."""
        while True:
            try:
                async with open_lock() as lock:
                    await self._stand_by(lock)
                    await self._lead(lock)
            except LockLostError as error:
                if not self.trouble:
                    _log.warning("the lock on the database can't be had; no loops run here", error=str(error))
                self.trouble = str(error)
            await self.sleep(TRY_SECONDS)

    async def _stand_by(self, lock: Lock) -> None:
        while True:
            if await lock.try_acquire():
                self.leader = self.trouble = ""
                return
            leader = await lock.holder()
            if leader != self.leader:
                _log.warning(_ELSEWHERE, leader=leader)
            self.leader, self.trouble = leader, ""
            self.is_settled.set()
            await self.sleep(TRY_SECONDS)

    async def _lead(self, lock: Lock) -> None:
        """Work until the lock is lost. What the work raises by itself is a defect, and goes up."""
        _log.info("the loops run in this process")
        working = asyncio.create_task(self.work(), name="work")
        watching = asyncio.create_task(lock.watch(), name="watch the lock")
        self.is_leading = True
        self.is_settled.set()
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.is_leading = False
            await _stopped(watching, working)
        for task in (working, watching):
            if not task.cancelled():
                task.result()


async def _stopped(*tasks: asyncio.Task[None]) -> None:
    """Cancel them and wait until they have ended, so that nothing of them goes on beside the next leader."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
