"""A clock that moves only when a test moves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class ManualClock:
    moment: datetime = START
    _ticks: float = field(default=1000.0)

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self._ticks

    def set_by(self, seconds: float) -> None:
        """Somebody sets the clock; or the machine slept for so long, and the monotonic clock stood still."""
        self.moment += timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
        self._ticks += seconds
