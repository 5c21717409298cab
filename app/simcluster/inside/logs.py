"""The log of a simulated container: computed from its behaviour and stamps, nothing of it is stored. Pure."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from app.simcluster.inside.behaviour import Behaviour
from app.simcluster.inside.timeline import ROUNDING
from app.simcluster.meta import stamp


@dataclass(frozen=True, slots=True)
class LogScript:
    """All lines a container would write, and when: the text first, then `lines` numbered ones over the run."""

    text: tuple[str, ...]
    lines: int
    start: float
    seconds: float
    end: float | None  # None: it still runs
    is_told: bool = False  # to end: what was left is written at the end

    @classmethod
    def of(cls, behaviour: Behaviour, start: float, end: float | None) -> LogScript:
        text = tuple(behaviour.log_text.splitlines())
        is_told = behaviour.told is not None and behaviour.told.at == end
        return cls(text, behaviour.log_lines, start, behaviour.seconds, end, is_told)

    def written(self, now: float) -> int:
        """How many lines there are at this moment."""
        horizon = now if self.end is None else min(now, self.end)
        if horizon < self.start:
            return 0
        if not self.lines or not self.seconds or (self.is_told and horizon == self.end):
            return len(self.text) + self.lines
        numbered = int((horizon - self.start) / self.seconds * self.lines + ROUNDING) + 1
        return len(self.text) + min(self.lines, numbered)

    def moment(self, index: int) -> float:
        number = max(0, index - len(self.text))
        moment = self.start + (number * self.seconds / self.lines if self.lines else 0.0)
        return min(moment, self.end) if self.is_told and self.end is not None else moment

    def next_moment(self, now: float) -> float | None:
        written = self.written(now)
        return self.moment(written) if written < len(self.text) + self.lines else None

    def line(self, index: int, *, timestamps: bool) -> bytes:
        number = index - len(self.text) + 1
        words = self.text[index] if number <= 0 else f"line {number} of {self.lines}"
        return f"{_nano(self.moment(index))} {words}\n".encode() if timestamps else f"{words}\n".encode()

    def last_words(self, now: float) -> str:
        """What terminationMessagePolicy FallbackToLogsOnError takes: 80 lines or 2048 bytes, whichever is less."""
        written = self.written(now)
        lines = [self.line(index, timestamps=False) for index in range(max(0, written - 80), written)]
        return b"".join(lines)[-2048:].decode(errors="replace")

    def first_since(self, since: float, now: float) -> int:
        return bisect_left(range(self.written(now)), since, key=self.moment)


def _nano(moment: float) -> str:
    return f"{stamp(moment)[:-1]}.{int(moment % 1 * 1_000_000):06d}000Z"
