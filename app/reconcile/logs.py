"""The log of an attempt, for whoever shows it: from the store once it is kept there, before that from the cluster.

Panel and GraphQL read through this. The pod is looked up in the projection first, then in the cluster itself: an ended
one may have left the watch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from app.cluster.log_tail import log_tail
from app.cluster.port import ClusterError, ClusterPort, LogGoneError, LogRange, RefusedError, UnavailableError
from app.domain import log_words as words
from app.domain.errors import InvalidInputError
from app.domain.log_lines import last_lines, without_stamps
from app.domain.log_walk import LogWalk, Place
from app.domain.observed import ObservedPod
from app.domain.wording import plural
from app.domain.workload import Attempt, Workload
from app.reconcile.clusters import Cluster
from app.store import logs
from app.store.logs import StoredLog

MOST_BYTES = 2**20  # of text, stamps not counted: what is kept of a log, and what is shown of a live one
MOST_LINES = 50_000
MOST_STREAMS = 64  # connections that stay open; who follows when there are so many asks again and again instead
_LONGEST_WAIT = 4.0  # seconds that a reader waits for the cluster
_NOT_FOUND = 404


@dataclass(frozen=True)
class LogText:
    """`why_none` is a sentence where there is no text. `was_cut`: there is more before it. `is_complete`: nothing will
    be added to it.
    """

    attempt: int | None = None
    text: bytes = b""
    was_cut: bool = False
    is_complete: bool = False
    why_none: str = ""


@dataclass(frozen=True)
class Most:
    """How much of the end of a log is wanted."""

    size: int = MOST_BYTES
    lines: int = MOST_LINES


class LogUnavailableError(Exception):
    """There is no log; the message is a sentence."""


def is_kept(attempt: Attempt) -> bool:
    """Whether its log is in the store, or nowhere."""
    return attempt.log_taken_at is not None or attempt.cleaned_at is not None


def choose_attempt(attempts: Sequence[Attempt], number: int | None) -> Attempt | None:
    """The attempt of that number, the last without one; None where there is none yet. Else InvalidInputError."""
    if number is None:
        return attempts[-1] if attempts else None
    found = next((attempt for attempt in attempts if attempt.number == number), None)
    if found is None:
        raise InvalidInputError.of(
            "attempt", f"there is no attempt {number}; it has {plural(len(attempts), 'attempt')}"
        )
    return found


@dataclass(frozen=True)
class LogReader:
    clusters: Mapping[str, Cluster]
    retention_seconds: int
    _streams: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_STREAMS))

    async def read(self, workload: Workload, attempt: Attempt | None, most: Most) -> LogText:
        """What there is now. `attempt` None: the workload has none."""
        if attempt is None:
            is_over = workload.status.is_terminal
            return LogText(is_complete=is_over, why_none=words.NEVER_STARTED if is_over else words.NOT_STARTED)
        if not is_kept(attempt):
            return await self._live(attempt, most)
        kept = await logs.find_log(attempt.workload_id, attempt.number)
        return self._stored(attempt, kept, most)

    def _stored(self, attempt: Attempt, kept: StoredLog | None, most: Most) -> LogText:
        if kept is None:
            why = words.expired(self.retention_seconds) if attempt.log_taken_at else words.NOT_KEPT
            return LogText(attempt.number, is_complete=True, why_none=why)
        lines, was_cut = last_lines(kept.lines, most.lines, most.size)
        why = kept.why_none or ("" if lines else words.WROTE_NOTHING)
        return LogText(attempt.number, without_stamps(lines), was_cut or kept.was_cut, is_complete=True, why_none=why)

    async def _live(self, attempt: Attempt, most: Most) -> LogText:
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                pod = await self.find_pod(attempt)
                if pod is None:
                    return LogText(attempt.number, why_none=_without_pod(attempt))
                tail = await log_tail(self.port_of(attempt), pod, most.size, most.lines)
        except TimeoutError:
            why = words.unavailable(f"it did not answer within {_LONGEST_WAIT:g} s")
            return LogText(attempt.number, why_none=why)
        except ClusterError as error:
            return LogText(attempt.number, why_none=_without_log(attempt, error))
        is_over = attempt.ended_at is not None
        why = "" if tail.lines else (words.WROTE_NOTHING if is_over else words.EMPTY)
        return LogText(attempt.number, tail.text, tail.was_cut, is_complete=is_over, why_none=why)

    async def whole(self, attempt: Attempt) -> AsyncGenerator[bytes, None]:
        """All there is now, in pieces. LogUnavailableError where there is nothing, or where it breaks off."""
        if is_kept(attempt):
            log = self._stored(attempt, await logs.find_log(attempt.workload_id, attempt.number), Most())
            if log.why_none:
                raise LogUnavailableError(log.why_none)
            yield log.text
            return
        try:
            async with aclosing(self._pieces(attempt)) as pieces:
                async for piece in pieces:
                    yield piece
        except ClusterError as error:
            raise LogUnavailableError(_without_log(attempt, error)) from error

    async def _pieces(self, attempt: Attempt) -> AsyncGenerator[bytes, None]:
        walk, pod = LogWalk(Place(attempt.number)), await self.find_pod(attempt)
        if pod is None:
            raise LogUnavailableError(_without_pod(attempt))
        async with aclosing(self.port_of(attempt).read_log(pod, LogRange())) as pieces:
            async for piece in pieces:
                walk.feed(piece)
                yield walk.take(len(piece))
        yield walk.take(MOST_BYTES, is_end=True)

    @asynccontextmanager
    async def stream(self) -> AsyncIterator[bool]:
        """Whether a connection to the cluster may stay open inside."""
        if self._streams.locked():
            yield False
            return
        async with self._streams:
            yield True

    def port_of(self, attempt: Attempt) -> ClusterPort:
        """The way to the cluster it ran in. UnavailableError where the settings name none."""
        return self._cluster(attempt).port

    async def find_pod(self, attempt: Attempt) -> ObservedPod | None:
        cluster = self._cluster(attempt)
        place = (attempt.job_name, attempt.job_uid, attempt.namespace)
        _, pod = cluster.projection.observe(*place)
        return pod or (await cluster.port.find(*place))[1]

    def _cluster(self, attempt: Attempt) -> Cluster:
        try:
            return self.clusters[attempt.cluster]
        except KeyError:
            raise UnavailableError(f"the settings name no cluster {attempt.cluster}") from None


def _without_pod(attempt: Attempt) -> str:
    if attempt.started_at is None:
        return words.NOT_STARTED if attempt.ended_at is None else words.NEVER_STARTED
    return words.POD_GONE


def _without_log(attempt: Attempt, error: ClusterError) -> str:
    """A refusal means that there is no container yet, or no pod or log any more."""
    if not isinstance(error, RefusedError):
        return words.unavailable(error.message)
    return _without_pod(attempt) if attempt.started_at is None else why_gone(attempt, error)


def why_gone(attempt: Attempt, error: ClusterError) -> str:
    """The cluster's verdict on the log of an ended container."""
    if attempt.started_at is None:
        return words.NEVER_STARTED
    if isinstance(error, LogGoneError):
        return words.log_gone(attempt.server, error.message)
    is_unknown = isinstance(error, RefusedError) and error.status == _NOT_FOUND
    return words.POD_GONE if is_unknown else words.refused(error.message)
