"""Spans of time as people write and read them: `90`, `1h30m`, `2d`."""

from __future__ import annotations

import re

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)([dhms])")
_LONGEST = 32


def parse_duration(text: str) -> int:
    """Whole seconds. A bare number is seconds; units are d, h, m and s, as in 1h30m. Raises ValueError."""
    wanted = text.strip().lower()
    if wanted.isascii() and wanted.isdigit() and len(wanted) <= _LONGEST:
        return int(wanted)
    parts = _PART.findall(wanted)
    if not parts or len(wanted) > _LONGEST or "".join(number + unit for number, unit in parts) != wanted:
        msg = f"{text[:_LONGEST]!r} is not a duration; write seconds, or units as in 90s, 30m, 1h30m, 2d"
        raise ValueError(msg)
    return round(sum(float(number) * _UNITS[unit] for number, unit in parts))


def format_duration(seconds: float) -> str:
    """The two largest units, rounded down: 3d4h, 2h5m, 3m12s, 8s. Less than nothing, by a clock's difference, is 0s."""
    left = max(0, int(seconds))
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count or parts:
            parts.append((count, unit))
    return "".join(f"{count}{unit}" for count, unit in parts[:2] if count) or "0s"
