"""Keeping the logs of ended attempts: read the tail → store it → let the reconciler go on and release the pod.

The end is recorded by then, and waits for none of this. Until a log is stored its pod is held by our finalizer, also
while GPUYard is down; so a server that can't give one is asked a few times only, and then the reason is stored instead.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.bus import Bus
from app.clock import Clock
from app.cluster.log_tail import log_tail
from app.cluster.port import ClusterError, ClusterPort, UnavailableError
from app.cluster.projection import Projection
from app.domain import log_words as words
from app.domain.ends import LOST_CONTAINERS
from app.domain.observed import ObservedPod
from app.domain.workload import Attempt
from app.reconcile.log_rescue import AttemptKey, LogRescue, key_of
from app.reconcile.logs import MOST_BYTES, why_gone
from app.store import logs, reads
from app.store.logs import StoredLog

READ_SECONDS = 10.0  # for one try
PAUSES = (1, 3, 10, 30)  # seconds between the tries


@dataclass
class LogKeeper:
    """`begin` says which attempts are to come into the queue that `keep` is called from."""

    port: ClusterPort
    projection: Projection
    bus: Bus
    clock: Clock
    rescue: LogRescue = field(init=False)
    _tries: dict[AttemptKey, int] = field(default_factory=dict)  # of those that are under way

    def __post_init__(self) -> None:
        self.rescue = LogRescue(self.port, self.clock)

    def begin(self, attempt: Attempt) -> bool:
        """The attempt has ended: its log is to be kept. False where that is under way already."""
        is_new = key_of(attempt) not in self._tries
        self._tries.setdefault(key_of(attempt), 0)
        return is_new

    def forget(self) -> None:
        """Nothing is under way any more: the loops have ended, and another process may have worked since."""
        self._tries.clear()

    async def keep(self, key: AttemptKey) -> datetime | None:
        """Store the log, or why there is none; or say when to try again. UnavailableError while nobody can be asked."""
        attempt = await reads.find_attempt(*key)
        if attempt is not None and attempt.ended_at is not None and attempt.log_taken_at is None:
            log = await self._take(attempt)
            if log is None:
                return self._next_try(key)
            if log.why_none:
                await self.rescue.finish(attempt)
            await logs.store_log(attempt, log, self.clock.now())
            self.rescue.forget(attempt)
            self.bus.wake_workload(attempt.workload_id)
        self._tries.pop(key, None)
        return None

    def _next_try(self, key: AttemptKey) -> datetime:
        tries = self._tries[key] = self._tries.get(key, 0) + 1
        return self.clock.now() + timedelta(seconds=PAUSES[tries - 1])

    async def _take(self, attempt: Attempt) -> StoredLog | None:
        """None: worth another try."""
        if attempt.started_at is None and attempt.termination not in LOST_CONTAINERS:
            return StoredLog(why_none=words.NEVER_STARTED)
        pod = await self._pod(attempt)
        if pod is None:
            return StoredLog(why_none=words.POD_GONE)
        try:
            async with asyncio.timeout(READ_SECONDS):
                tail = await log_tail(self.port, pod, MOST_BYTES)
        except TimeoutError:
            return self._unless_tried(attempt, words.not_given(attempt.server, f"no answer within {READ_SECONDS:g} s"))
        except UnavailableError as error:
            return self._unless_tried(attempt, words.not_given(attempt.server, error.message))
        except ClusterError as error:
            return StoredLog(why_none=why_gone(attempt, error))
        return StoredLog(tail.lines, tail.was_cut)

    def _unless_tried(self, attempt: Attempt, why: str) -> StoredLog | None:
        return StoredLog(why_none=why) if self._tries.get(key_of(attempt), 0) >= len(PAUSES) else None

    async def _pod(self, attempt: Attempt) -> ObservedPod | None:
        """After a failure the cluster itself is asked first: if it doesn't answer either, the server isn't to blame."""
        _, pod = self.projection.observe(attempt.job_name, attempt.job_uid, attempt.namespace)
        if pod is None or self._tries.get(key_of(attempt), 0):
            _, pod = await self.port.find(attempt.job_name, attempt.job_uid, attempt.namespace)
        return pod
