"""Finding one's place in a log again: what lets a follower go on after a dropped connection, or in a kept log.

The cluster can be asked for the lines since a second, not since a line. So a reader remembers the youngest stamp that
it has passed and counts from there. Stamps may be equal, and a line may be a little older than the one before it, as a
container's two outputs are stamped apart; that changes nothing about the count. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from app.domain.log_lines import LONGEST_STAMP, nanoseconds_of, stamp_length

_SECOND = 10**9
_SLACK = timedelta(seconds=1)  # how much older than the lines before it a line may be and still be found again
_LONGEST_CHARACTER = 4  # bytes, in UTF-8


@dataclass(frozen=True)
class Place:
    """How far one has come in an attempt's log.

    `anchor` is the youngest stamp passed, in nanoseconds since 1970, 0 at the beginning; `lines` counts the whole lines
    from the first of that stamp on, `offset` the bytes of the line after those. `earliest`: the oldest stamp of these.
    """

    attempt: int
    anchor: int = 0
    earliest: int = 0
    lines: int = 0
    offset: int = 0

    @property
    def since(self) -> datetime | None:
        """What to ask the cluster for: everything behind this place is written after it. None: from the beginning."""
        return datetime.fromtimestamp(self.earliest // _SECOND, UTC) - _SLACK if self.anchor else None


class LogWalk:
    """Takes in a log from any line before `place`, in pieces of any size; gives out the text behind it, once."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.has_gap = False  # what was to be found again is not there any more
        self._bytes = bytearray()
        self._in_line = False
        self._is_passed = False  # the line that it is in
        self._seeks = place.anchor > 0
        self._lines_to_pass, self._bytes_to_pass = place.lines, place.offset

    def feed(self, piece: bytes) -> None:
        self._bytes += piece

    def take(self, most: int, *, is_end: bool = False) -> bytes:
        """Up to `most` bytes of text, and `place` is behind them; empty: there is none yet.

        No character is cut. `is_end`: nothing more will come, so what looks unfinished is given out as it is.
        """
        text = bytearray()
        while len(text) + _LONGEST_CHARACTER <= most and self._bytes:
            if not self._in_line and not self._begin_line(is_end=is_end):
                break
            before = len(self._bytes)
            text += self._go_on(most - len(text), is_end=is_end)
            if len(self._bytes) == before:
                break
        return bytes(text)

    def _begin_line(self, *, is_end: bool) -> bool:
        """Pass the line's stamp and see whether the line is wanted. False while the stamp has not come whole."""
        length = stamp_length(self._bytes)
        if not length and len(self._bytes) < LONGEST_STAMP and not is_end:
            return False
        stamp = nanoseconds_of(bytes(self._bytes[:length])) if length else self.place.anchor
        del self._bytes[:length]
        self._in_line, self._is_passed = True, self._passes(stamp)
        is_resumed = self._bytes_to_pass > 0
        if not self._is_passed and not is_resumed:
            self._arrive(stamp)
        return True

    def _passes(self, stamp: int) -> bool:
        """Whether the line lies before the place."""
        if self._seeks and stamp < self.place.anchor:
            return True
        if self._seeks and stamp > self.place.anchor:
            self.has_gap, self._lines_to_pass, self._bytes_to_pass = True, 0, 0
        self._seeks = False
        self._lines_to_pass -= 1
        return self._lines_to_pass >= 0

    def _arrive(self, stamp: int) -> None:
        if stamp > self.place.anchor:
            self.place = Place(self.place.attempt, stamp, stamp)
        else:
            self.place = replace(self.place, earliest=min(stamp, self.place.earliest), offset=0)

    def _go_on(self, most: int, *, is_end: bool) -> bytes:
        """What there is of the line: given out, or dropped where it lies before the place."""
        end = self._bytes.find(b"\n") + 1
        available = end or len(self._bytes)
        if self._is_passed:
            self._drop(available, is_line_end=end > 0)
            return b""
        if self._bytes_to_pass:
            passed = min(available, self._bytes_to_pass)
            self._bytes_to_pass = 0 if end else self._bytes_to_pass - passed
            self._drop(passed, is_line_end=False)
            return b""
        size = min(available, most)
        if size < end or not (end or is_end):
            size -= _unfinished(self._bytes[max(0, size - _LONGEST_CHARACTER) : size])
        text = bytes(self._bytes[:size])
        is_line_end = size > 0 and size == end
        lines = self.place.lines + is_line_end
        self.place = replace(self.place, lines=lines, offset=0 if is_line_end else self.place.offset + size)
        self._drop(size, is_line_end=is_line_end)
        return text

    def _drop(self, size: int, *, is_line_end: bool) -> None:
        del self._bytes[:size]
        self._in_line = not is_line_end


def _unfinished(tail: bytes | bytearray) -> int:
    """How many bytes at the end are the beginning of a character that is not whole; 0 where they are none at all."""
    for size in range(1, min(len(tail), _LONGEST_CHARACTER - 1) + 1):
        lead = tail[-size]
        if lead >= 0xC0:  # noqa: PLR2004 — UTF-8: the first byte of a character of several bytes
            return size if size < _length_of(lead) else 0
        if lead < 0x80:  # noqa: PLR2004 — ASCII
            return 0
    return 0


def _length_of(lead: int) -> int:
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4  # noqa: PLR2004
