"""The three loops that keep the projection up to date: list, then watch from there, for ever.

Started by `app.reconcile.cluster_loops` for each cluster. A watch that ends or breaks is resumed from the last version
it told of. When that version is no longer held, or something came that was no event, the kind is listed again and
compared, so that what was missed shows as changes. Nothing ends a loop but its cancellation: it waits longer and
longer, `WatchHealth` turns bad and says why, and the log gets one line when trouble starts and one when it is over. One
of the two broad `except`s of the background is here, the other in `app.reconcile.loop`.

Time does not run backwards: a list or an event older than what was seen (of an API server that lags behind the others)
is not believed, unless the server keeps to it for a minute: then the cluster's store was restored from a backup.

The client library's own watch is left out: it gives up on errors, resumes without a pause and never lists again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Never

import structlog

from app.cluster.backoff import Backoff
from app.cluster.port import ClusterError, ClusterPort, EventKind, GoneError, Kind, UnavailableError, WatchEvent
from app.cluster.projection import Change, Projection, WatchHealth
from app.cluster.watch_events import is_older

log = structlog.get_logger(__name__)

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

LASTING_SECONDS = 10.0
REWIND_SECONDS = 60.0
_LASTING_FAILURES = 3  # in a row, some seconds
_MOST_TRIES = 3  # watches from one position that the server answers with an error, before the kind is listed again


async def run_watches(
    port: ClusterPort,
    projection: Projection,
    clock: Clock,
    changed: Callable[[Change], None],
    *,
    recovered: Callable[[], None] = lambda: None,
    sleep: Sleep = asyncio.sleep,
) -> Never:
    """Run until cancelled. `clock` counts seconds, as time.monotonic does; `changed` is told what looks different.

    `recovered` is called when a kind is followed again after more than a moment's trouble: others waited longer and
    longer meanwhile, too.
    """
    projection.changed = changed
    async with asyncio.TaskGroup() as loops:
        for kind in Kind:
            loop = WatchLoop(kind, port, projection, clock, sleep, recovered)
            loops.create_task(loop.run(), name=f"watch {kind}")
    raise AssertionError("a watch loop has ended")


@dataclass
class WatchLoop:
    kind: Kind
    port: ClusterPort
    projection: Projection
    clock: Clock
    sleep: Sleep
    recovered: Callable[[], None] = lambda: None
    backoff: Backoff = field(default_factory=Backoff)
    lasting_seconds: float = LASTING_SECONDS
    _position: str = ""  # empty: unknown, list first
    _newest: str = ""  # version ever seen
    _older_since: float | None = None  # lists are refused for being older
    _failed_watches: int = 0  # from this position

    async def run(self) -> Never:
        while True:
            wait = await self._step()
            if wait:
                await self.sleep(wait)

    async def _step(self) -> float:
        """List when needed, then watch until it ends. Returns how long to wait before the next."""
        try:
            if not self._position:
                await self._list()
            made_progress = await self._watch()
        except UnavailableError as error:
            self._doubt_position(error)
            return self._failed(error.message, error.retry_after or 0.0)
        except ClusterError as error:
            self._position = ""
            return self._failed(error.message)
        except Exception as error:  # the loop's edge: a defect, ours or a listener's, must not blind the app for good
            self._position = ""
            if not self._health.failures:
                log.exception("cluster.watch.defect", kind=self.kind)
            return self._failed(f"{type(error).__name__}: {error}")
        if not made_progress:  # a server that ends every watch at once would otherwise be asked without a pause
            return self._failed("the cluster's API ended the watch at once")
        self.backoff.reset()
        return 0.0

    async def _list(self) -> None:
        self.projection.begin_list(self.kind)
        listing = await self.port.list_all(self.kind)
        self._believe(listing.resource_version)
        self.projection.replace(self.kind, listing.items)
        self._position = self._newest = listing.resource_version
        self._failed_watches = 0
        self._health.skipped += listing.skipped
        self._health.last_event_at = self.clock()
        if not self._health.synced:
            self._health.synced = True
            self.projection.changed(Change(self.kind, "", affects_capacity=True))  # even of nothing: it is known now

    def _believe(self, version: str) -> None:
        """Raises UnavailableError for a list that is older than what was seen, for a minute."""
        if not is_older(version, self._newest):
            self._older_since = None
            return
        now = self.clock()
        if self._older_since is None:
            self._older_since = now
        if now - self._older_since < REWIND_SECONDS:
            raise UnavailableError(f"the cluster's API lists {self.kind} of version {version}, seen was {self._newest}")
        log.warning("cluster.watch.rewound", kind=self.kind, version=version, seen=self._newest)
        self._older_since = None

    async def _watch(self) -> bool:
        """Whether it was of use: it brought an event or a bookmark, or at least it lasted."""
        started, events_seen = self.clock(), 0
        with self._noting_that_it_lasts() as opened:
            async with aclosing(self.port.watch(self.kind, self._position, opened)) as events:
                async for event in events:
                    self._follow(event)
                    events_seen += 1
        made_progress = events_seen > 0 or self.clock() - started > self.lasting_seconds
        if made_progress:
            self._works()
        return made_progress

    def _doubt_position(self, error: UnavailableError) -> None:
        """A position that the server answers with errors only may be one that it can't know, after a restore."""
        self._failed_watches += error.status is not None
        if self._failed_watches >= _MOST_TRIES:
            self._position = ""

    @contextmanager
    def _noting_that_it_lasts(self) -> Generator[Callable[[], None], None, None]:
        """To be told when the watch is open: it works when it has stayed so, although nothing changes."""
        timers: list[asyncio.TimerHandle] = []

        def opened() -> None:
            self._health.last_event_at = self.clock()
            timers.append(asyncio.get_running_loop().call_later(self.lasting_seconds, self._works))

        try:
            yield opened
        finally:
            for timer in timers:
                timer.cancel()

    def _follow(self, event: WatchEvent) -> None:
        if is_older(event.resource_version, self._position):
            raise GoneError(f"a watch of {self.kind} from {self._position} told of {event.resource_version}")
        self._take(event)
        self._position = self._newest = event.resource_version
        self._works()

    def _take(self, event: WatchEvent) -> None:
        if event.kind is EventKind.BOOKMARK:
            return
        if event.item is None:
            self._health.skipped += 1
        elif event.kind is EventKind.DELETED:
            self.projection.drop(event.item)
        else:
            self.projection.put(event.item)

    @property
    def _health(self) -> WatchHealth:
        return self.projection.health[self.kind]

    def _works(self) -> None:
        """Watching works. That a list worked ends no trouble: it is what follows each failed watch."""
        health = self._health
        health.last_event_at = self.clock()
        failures, health.failures, health.last_error = health.failures, 0, ""
        self._failed_watches = 0
        if failures:
            log.info("cluster.watch.recovered", kind=self.kind, failures=failures)
        if failures >= _LASTING_FAILURES:
            self.recovered()

    def _failed(self, message: str, at_least: float = 0.0) -> float:
        health = self._health
        if not health.failures:
            log.warning("cluster.watch.failed", kind=self.kind, error=message)
        health.failures += 1
        health.failed_at = self.clock()
        health.last_error = message
        return self.backoff.next(at_least)
