"""A container's log as text: lines that each begin with the time they were written at, as a kubelet gives them.

Kept and passed around with these stamps, because a reader finds its place again by them; shown without.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

LONGEST_STAMP = 36  # bytes: RFC 3339 with nanoseconds, an offset and the space behind it
# https://github.com/kubernetes/cri-api and the kubelet's own printing: RFC3339Nano, in whatever zone the runtime has.
_STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) ")
_STAMPS = re.compile(rb"^" + _STAMP.pattern, re.MULTILINE)
_PARTS = re.compile(rb"(.{19})(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
_NUL = "\0"
REPLACEMENT = "\ufffd"


@lru_cache(maxsize=16)
def _seconds_of(moment: bytes, zone: bytes) -> int:
    text = moment.decode() + ("+00:00" if zone == b"Z" else zone.decode())
    return int(datetime.fromisoformat(text).timestamp())


def nanoseconds_of(stamp: bytes) -> int:
    """Since 1970. 0 for one that no calendar has."""
    moment, fraction, zone = _PARTS.match(stamp).groups()  # type: ignore[union-attr]
    try:
        return _seconds_of(moment, zone) * 10**9 + int((fraction or b"0").ljust(9, b"0"))
    except ValueError:
        return 0


def stamp_length(lines: bytes | bytearray, at: int = 0) -> int:
    """How many bytes of the line that begins there are its stamp; 0 where it has none."""
    found = _STAMP.match(lines, at)
    return found.end() - at if found else 0


def without_stamps(lines: bytes) -> bytes:
    return _STAMPS.sub(b"", lines)


def last_lines(lines: bytes, most_lines: int, most_bytes: int) -> tuple[bytes, bool]:
    """The end of a log, stamps not counted, and whether something before it is left out.

    It begins at a line's start, unless the last line alone is longer than `most_bytes`.
    """
    start, count, left = len(lines), 0, most_bytes
    while start > 0 and count < most_lines:
        begin = lines.rfind(b"\n", 0, start - 1) + 1
        stamp = stamp_length(lines, begin)
        if start - begin - stamp > left:
            break
        left -= start - begin - stamp
        start, count = begin, count + 1
    if count == 0 and start > 0 and most_lines > 0:
        begin = lines.rfind(b"\n", 0, start - 1) + 1
        stamped = lines[begin : begin + stamp_length(lines, begin)]
        return stamped + lines[start - most_bytes :], True
    return lines[start:], start > 0


def readable(text: bytes) -> str:
    """As text that may be sent and stored: what isn't UTF-8 is replaced, and so is NUL; carriage returns stay."""
    return text.decode("utf-8", "replace").replace(_NUL, REPLACEMENT)
