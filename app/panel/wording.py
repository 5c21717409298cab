"""How the panel writes moments, spans and long ids. `static/gpuyard.js` keeps ages current by the same rules."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_SHORT_ID = 8
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What terminals obey, by ECMA-48: CSI, OSC and other strings, and two-character escapes.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x1b\\|\x07|$)|[ -/]*[0-~])", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def ago(moment: datetime, now: datetime) -> str:
    """One unit, rounded down. What lies ahead by a clock's difference reads as now."""
    seconds = int((now - moment).total_seconds())
    if seconds < 5:  # noqa: PLR2004
        return "just now"
    if seconds < _MINUTE:
        return f"{seconds} s ago"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h ago"
    return f"{seconds // _DAY} d ago"


def span(duration: timedelta | float) -> str:
    """Two units at most: `42 s`, `3 min 20 s`, `1 h 05 min`, `2 d 4 h`."""
    seconds = int(duration.total_seconds() if isinstance(duration, timedelta) else duration)
    seconds = max(0, seconds)
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return _two(seconds, _MINUTE, "min", 1, "s")
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    return _two(seconds, _DAY, "d", _HOUR, "h")


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    whole, rest = divmod(seconds, large)
    part = rest // small
    return f"{whole} {large_name}" + (f" {part:02} {small_name}" if part else "")


def exact(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def microseconds(moment: datetime) -> int:
    """Since 1970: the order of rows, exact where a float is not."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def clock_time(moment: datetime) -> str:
    return f"{moment:%H:%M} UTC"


def short_id(text: str) -> str:
    """The first digits of a UUID, with what comes before them: `GPU-5ad5c1e0-…` is `GPU-5ad5c1e0`."""
    head, digits = re.fullmatch(r"((?:[A-Za-z]+-)*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    return head + digits[:_SHORT_ID]


def sentence(text: str) -> str:
    """A clause of the domain's as a sentence of its own."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!", "…")) else ".") if text else ""


def plain_text(raw: bytes) -> str:
    """A log as text: without what only a terminal understands. The page escapes it like any other text."""
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\ufffd", _ESCAPES.sub("", text))
