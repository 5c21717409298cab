"""The end of a workload's log, read from the cluster when someone looks; or the reason why there is none.

The pod is looked up in the projection first, then in the cluster itself: an ended one may have left the watch.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from app.cluster.log_tail import log_tail
from app.cluster.port import ClusterError, ClusterPort, RefusedError
from app.cluster.projection import Projection
from app.domain.observed import ObservedPod
from app.domain.states import Phase, Status
from app.domain.workload import Workload, job_name
from app.panel.wording import plain_text

MOST_BYTES = 64 * 1024
_LONGEST_WAIT = 4.0  # seconds that a page waits for the cluster
_NOT_FOUND = 404

NOT_STARTED = "The container has not started; there is no log yet."
REMOVED = "The Job has been removed from the cluster, and its log with it."
NEVER_STARTED = "The container never started, so there is no log."
EMPTY = "The log is empty so far."
WROTE_NOTHING = "The container wrote nothing."
UNAVAILABLE = "The cluster is not available, so the log can't be read now"


@dataclass(frozen=True)
class LogTail:
    """`why_none` is a sentence where there is no text. `was_cut`: there is more before it."""

    text: str = ""
    was_cut: bool = False
    why_none: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.text}{self.why_none}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class LogReader:
    port: ClusterPort
    projection: Projection

    async def read(self, workload: Workload) -> LogTail:
        if not workload.attempt or workload.waits:
            return LogTail(why_none=_without_pod(workload))
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                pod = await self._pod(job_name(workload.id, workload.attempt))
                return await self._tail(workload, pod) if pod else LogTail(why_none=_without_pod(workload))
        except TimeoutError:
            return LogTail(why_none=f"{UNAVAILABLE}: it did not answer within {_LONGEST_WAIT:g} s.")
        except ClusterError as error:
            return LogTail(why_none=_without_log(workload, error))

    async def _pod(self, name: str) -> ObservedPod | None:
        _, pod = self.projection.observe(name)
        return pod or (await self.port.find(name))[1]

    async def _tail(self, workload: Workload, pod: ObservedPod) -> LogTail:
        tail = await log_tail(self.port, pod, MOST_BYTES)
        if not tail.text:
            return LogTail(why_none=WROTE_NOTHING if workload.status.is_terminal else EMPTY)
        return LogTail(plain_text(tail.text), tail.was_cut)


def _without_pod(workload: Workload) -> str:
    if not workload.status.is_terminal:
        return NOT_STARTED
    return REMOVED if workload.started_at else NEVER_STARTED


def _without_log(workload: Workload, error: ClusterError) -> str:
    """A refusal means that there is no container yet, or no pod any more."""
    if not isinstance(error, RefusedError):
        return f"{UNAVAILABLE}: {error.message}"
    if error.status == _NOT_FOUND or workload.status.is_terminal:
        return _without_pod(workload)
    return NOT_STARTED if workload.status is Status.PENDING else f"The cluster gives no log: {error.message}"


def is_followed(workload: Workload) -> bool:
    """Whether more may come: while it executes, and while it is being stopped."""
    return workload.status is Status.RUNNING or workload.phase is Phase.STOPPING
