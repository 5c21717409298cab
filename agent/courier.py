"""Takes reports to the service, for one node or for several simulated ones: after each look, and as a
sign of life when none came for two intervals; after a failure it waits, longer each time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Protocol

from agent.backoff import pause_after
from agent.clock import Clock
from agent.look import Look
from agent.outbox import Outbox
from agent.report import Receipt, Report
from agent.service import DeliveryError

_log = logging.getLogger(__name__)
_SHORTEST_INTERVAL = 1.0  # whatever a service asks for
_SILENCE = 2  # intervals; a look comes in one, so that this is for when none does
_LONGEST_WAIT = 60.0  # for ever is more than a platform can count; a wake-up ends it anyway
_LONGEST_PAUSE = 300.0  # whatever a service, or what stands before it, asks for: nobody is silenced for good
_REFUSED = "BAD_USER_INPUT"
_SKEW_SECONDS = 5.0  # a clock that is further off is worth a line in the log


class Delivers(Protocol):
    skew: float | None

    def deliver(self, report: Report) -> Receipt:
        """Raises DeliveryError."""


@dataclass
class Post:
    """One node's way to the app. `due` is on the monotonic clock. `interval` is what the app asked for, if it did,
    `pod_uids` are the pods whose use it wants to know."""

    box: Outbox
    due: float = inf  # nothing to tell before the first look
    failures: int = 0
    delivered: int = 0
    failed: int = 0
    interval: float | None = None
    pod_uids: tuple[str, ...] = ()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, look: Look, now: float) -> None:
        """What was seen is told soon, unless a failure is being waited out."""
        with self.lock:
            self.box.add(look)
            if not self.failures:
                self.due = min(self.due, now)

    def hush(self) -> None:
        """Nothing more is said, not even a sign of life, until there is a look again."""
        with self.lock:
            self.failures, self.due = 0, inf


class Courier:
    """Runs in a thread of its own until it is stopped."""

    def __init__(self, posts: Sequence[Post], service: Delivers, clock: Clock, interval: float) -> None:
        self._posts = posts
        self._service = service
        self._clock = clock
        self._interval = interval
        self._chance = Random()  # noqa: S311 — spreads load, guards nothing
        self._woken = threading.Event()
        self._is_stopped = False

    def run(self) -> None:
        while not self._is_stopped:
            self._woken.clear()
            self._woken.wait(min(self.step(), _LONGEST_WAIT))

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        self._is_stopped = True
        self._woken.set()

    def step(self) -> float:
        """Deliver what is due; the seconds until something is again."""
        for post in self._posts:
            if not self._is_stopped and post.due <= self._clock.monotonic():
                self._deliver(post)
        return max(0.0, min((post.due for post in self._posts), default=self._interval) - self._clock.monotonic())

    def _deliver(self, post: Post) -> None:
        with post.lock:
            report = post.box.next(self._clock.now())
        try:
            receipt = self._service.deliver(report)
        except DeliveryError as error:
            self._failed(post, report, error)
        else:
            self._delivered(post, report, receipt)

    def _delivered(self, post: Post, report: Report, receipt: Receipt) -> None:
        if post.failures:
            _log.info("reports of %s arrive again, after %d that did not", report.node, post.failures)
        elif not post.delivered:
            _log.info("the first report of %s has arrived", report.node)
        self._mind_skew(post)
        with post.lock:
            post.box.delivered(report, receipt)
            has_more = post.box.buffered or (post.box.is_news and not receipt.is_late)
            post.delivered, post.failures = post.delivered + 1, 0
            post.pod_uids = receipt.pod_uids
            post.interval = receipt.interval_seconds and max(_SHORTEST_INTERVAL, receipt.interval_seconds)
            post.due = self._clock.monotonic() + (0.0 if has_more else _SILENCE * (post.interval or self._interval))

    def _failed(self, post: Post, report: Report, error: DeliveryError) -> None:
        if not post.failures:
            _log.warning("the report of %s did not arrive: %s", report.node, error)
        with post.lock:
            (post.box.refused if error.code == _REFUSED else post.box.failed)(report)
            post.failures, post.failed = post.failures + 1, post.failed + 1
            pause = max(pause_after(post.failures, self._chance), min(error.pause, _LONGEST_PAUSE))
            post.due = self._clock.monotonic() + pause

    def _mind_skew(self, post: Post) -> None:
        skew = self._service.skew
        if not post.delivered and skew is not None and abs(skew) > _SKEW_SECONDS:
            _log.warning("this machine's clock differs from the service's by %.1f s", skew)
