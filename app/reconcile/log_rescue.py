"""The logs of pods that are being deleted: a kubelet removes a deleted pod's container, and with it the log, within a
second of its end, whatever finalizer the pod carries; so the log is read before and followed from then on.

What is read so is stored at once, and counts where the log can't be read afterwards.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import structlog

from app.clock import Clock
from app.cluster.log_tail import Tail, log_tail
from app.cluster.port import ClusterError, ClusterPort, RefusedError
from app.domain.observed import ObservedPod
from app.domain.workload import Attempt
from app.reconcile.logs import MOST_BYTES
from app.store import logs
from app.store.logs import StoredLog

_log = structlog.get_logger(__name__)

AttemptKey: TypeAlias = tuple[UUID, int]

READ_SECONDS = 2.0  # what a stop waits for its log at most
SILENCE_SECONDS = 30.0  # a server that did not answer holds up no other stop for so long
LAST_WORDS_SECONDS = 2.0  # what the storing waits for a follower that has not come to the end
MOST_FOLLOWED = 16  # each may hold some mebibytes; of more only what was written before the stop is sure


def key_of(attempt: Attempt) -> AttemptKey:
    return attempt.workload_id, attempt.number


@dataclass
class LogRescue:
    port: ClusterPort
    clock: Clock
    _secured: set[AttemptKey] = field(default_factory=set)
    _silent: dict[str, float] = field(default_factory=dict)  # servers that did not answer, and until when they are left
    _followers: dict[AttemptKey, asyncio.Task[None]] = field(default_factory=dict)

    async def secure(self, attempt: Attempt, pod: ObservedPod) -> None:
        """Store the log up to now and follow it on. Asking again changes nothing; a failure leaves it to the end."""
        key = key_of(attempt)
        if key in self._secured or self.clock.monotonic() < self._silent.get(attempt.server, 0.0):
            return
        try:
            async with asyncio.timeout(READ_SECONDS):
                tail = await log_tail(self.port, pod, MOST_BYTES)
        except (TimeoutError, ClusterError) as error:
            _log.info("log not read before a stop", job=attempt.job_name, error=str(error) or "no answer")
            if not isinstance(error, RefusedError):
                self._silent[attempt.server] = self.clock.monotonic() + SILENCE_SECONDS
                return
        else:
            await self._store(attempt, tail)
        self._secured.add(key)
        if len(self._followers) < MOST_FOLLOWED:
            follower = asyncio.create_task(self._follow(attempt, pod), name=f"last words of {attempt.job_name}")
            self._followers[key] = follower
            follower.add_done_callback(lambda _: self._followers.pop(key, None))

    async def _follow(self, attempt: Attempt, pod: ObservedPod) -> None:
        try:
            await self._store(attempt, await log_tail(self.port, pod, MOST_BYTES, follow=True))
        except ClusterError as error:
            _log.info("log not followed to its end", job=attempt.job_name, error=error.message)

    async def _store(self, attempt: Attempt, tail: Tail) -> None:
        await logs.secure_log(attempt, StoredLog(tail.lines, tail.was_cut), self.clock.now())

    async def finish(self, attempt: Attempt) -> None:
        """The container has ended and its log is gone: let a follower store the last words."""
        if follower := self._followers.get(key_of(attempt)):
            await asyncio.wait({follower}, timeout=LAST_WORDS_SECONDS)

    def forget(self, attempt: Attempt) -> None:
        self._secured.discard(key_of(attempt))
        if follower := self._followers.get(key_of(attempt)):
            follower.cancel()

    def close(self) -> None:
        """The loops end."""
        self._secured.clear()
        for follower in self._followers.values():
            follower.cancel()
