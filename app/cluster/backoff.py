"""Waiting times that grow to a cap, with jitter, without an end. Used by the watch loops."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Backoff:
    """Half of each wait is jitter, so that the watches of every replica don't come back together after an outage."""

    first: float = 0.5
    longest: float = 15.0
    jitter: random.Random = field(default_factory=random.Random)
    _ceiling: float = 0.0

    def next(self, at_least: float = 0.0) -> float:
        """The next wait, no shorter than what a server asked for, and then with jitter on top."""
        self._ceiling = min(self.longest, self._ceiling * 2 or self.first)
        return max(at_least * self.jitter.uniform(1.0, 1.25), self._ceiling * self.jitter.uniform(0.5, 1.0))

    def reset(self) -> None:
        self._ceiling = 0.0
