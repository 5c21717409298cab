"""One line of a watch → a WatchEvent, or the error that it reports. Pure; called by the adapter for each line.

A line that isn't an event (a proxy's page, half an object) raises GoneError: what was missed is unknown, only a new
list can tell.
"""

from __future__ import annotations

from typing import Any

from app.cluster.answers import decoded_or_none, error_of
from app.cluster.observer import Observer
from app.cluster.port import EventKind, GoneError, Kind, WatchEvent

_KINDS = {
    "ADDED": EventKind.CHANGED,
    "MODIFIED": EventKind.CHANGED,
    "DELETED": EventKind.DELETED,
    "BOOKMARK": EventKind.BOOKMARK,
}
_SERVER_ERROR = 500


def read_event(line: bytes, kind: Kind, observer: Observer) -> WatchEvent:
    match decoded_or_none(line):
        case {"type": "ERROR", "object": dict(status)}:
            raise error_of(_code(status), status, {})
        case {"type": str(word), "object": {"metadata": {"resourceVersion": str(version)}} as raw} if word in _KINDS:
            event = _KINDS[word]
            item = None if event is EventKind.BOOKMARK else observer.observe(kind, raw)
            return WatchEvent(event, version, item)
        case _:
            raise GoneError(f"a watch of {kind} sent a line that is no event")


def _code(status: dict[str, Any]) -> int:
    code = status.get("code")
    return code if type(code) is int else _SERVER_ERROR


def is_older(version: str, other: str) -> bool:
    """By number, as the API says that versions of one kind compare; what is no number is never older."""
    both = (version, other)
    return all(v.isascii() and v.isdecimal() for v in both) and int(version) < int(other)
