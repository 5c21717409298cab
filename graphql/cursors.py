"""Opaque cursors: a place in the list of workloads, a place in an organization's events."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.store.reads import Position

_EVENT, _WORKLOAD = "e", "w"


def _encode(*parts: str) -> str:
    return urlsafe_b64encode("|".join(parts).encode()).decode().rstrip("=")


def _decode(cursor: str, kind: str) -> list[str]:
    try:
        parts = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split("|")
    except ValueError:
        parts = []
    if not parts or parts[0] != kind:
        raise InvalidInputError.of("after", f"{cursor[:60]!r} is not a cursor that this field gave out")
    return parts[1:]


def event_cursor(sequence: int) -> str:
    return _encode(_EVENT, str(sequence))


def parse_event_cursor(cursor: str) -> int:
    """Raises InvalidInputError for anything that `event_cursor` did not make."""
    [number] = _decode(cursor, _EVENT)[:1] or [""]
    if not number.isdecimal():
        raise InvalidInputError.of("after", f"{cursor[:60]!r} is not an event cursor")
    return int(number)


def workload_cursor(created_at: datetime, workload_id: UUID) -> str:
    return _encode(_WORKLOAD, created_at.isoformat(), workload_id.hex)


def parse_workload_cursor(cursor: str) -> Position:
    """Raises InvalidInputError for anything that `workload_cursor` did not make."""
    try:
        created_at, workload_id = _decode(cursor, _WORKLOAD)
        return Position(datetime.fromisoformat(created_at), UUID(hex=workload_id))
    except ValueError:
        raise InvalidInputError.of("after", f"{cursor[:60]!r} is not a cursor of this list") from None
