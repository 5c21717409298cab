"""Keeps everybody from an API that answers nobody: while all calls of a kind fail, only a few are sent to see.

Used by `transport` around each call. Each caller waits longer after each failure, but there may be hundreds of them;
what they ask together is bounded here. A single answer sets all free, so that some failing calls among many good ones
change nothing. Lists, watches and logs are left out: there are few of them, and who asks for them waits by itself.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.cluster.port import ClusterError, UnavailableError

PATIENCE = 5  # failures in a row before calls are held back
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
PROBE_SECONDS = 1.0  # how long one call that was let through keeps the others waiting


class HeldBackError(UnavailableError):
    """It was not sent: the calls before it failed, in the way that it repeats."""


@dataclass
class Brake:
    clock: Callable[[], float]
    jitter: random.Random
    _failures: int = 0  # in a row; of those that were under way together beyond PATIENCE none counts
    _held_until: float = 0.0
    _reason: str = ""

    def check(self) -> bool:
        """Whether this call is the one that is sent to see. Raises HeldBackError for those that wait for it."""
        if self._failures < PATIENCE:
            return False
        now = self.clock()
        if now < self._held_until:
            raise HeldBackError(self._reason, self._held_until - now)
        self._held_until = now + PROBE_SECONDS
        return True

    def note(self, error: UnavailableError | None, *, was_probe: bool) -> None:
        if error is None:
            self._failures = 0
        elif was_probe or self._failures < PATIENCE:
            self._failures += 1
            self._reason = _told(error)
            grown = FIRST_PAUSE * 2.0 ** min(self._failures - PATIENCE, 10)
            pause = min(LONGEST_PAUSE, grown) * self.jitter.uniform(0.75, 1.25)
            self._held_until = self.clock() + max(pause, error.retry_after or 0.0)


@dataclass
class Brakes:
    """One for each kind of call, as an API may take reads and fail every create (a webhook that is down).

    And for each namespace: what is wrong with one of them is nothing of the others'.
    """

    clock: Callable[[], float] = time.monotonic
    jitter: random.Random = field(default_factory=random.Random)
    _of_kind: dict[tuple[str, str], Brake] = field(default_factory=dict)

    @contextmanager
    def around(self, method: str, path: str) -> Generator[None, None, None]:
        brake = self._of_kind.setdefault((method, _collection(path)), Brake(self.clock, self.jitter))
        is_probe = brake.check()
        try:
            yield
        except UnavailableError as error:
            brake.note(error, was_probe=is_probe)
            raise
        except ClusterError:  # a verdict: the API is there
            brake.note(None, was_probe=is_probe)
            raise
        brake.note(None, was_probe=is_probe)


def _told(error: UnavailableError) -> str:
    """Without the API's own words: they may be about another's workload than that of who is held back."""
    return f"the cluster's API answers everything of this kind with {error.status}" if error.status else error.message


def _collection(path: str) -> str:
    """Where the object lies: its path without its name."""
    ends = (path.rfind(noun) + len(noun) for noun in ("/jobs", "/pods", "/nodes") if noun in path)
    return path[: max(ends, default=None)]
