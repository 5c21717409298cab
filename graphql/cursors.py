"""Opaque cursors: a place in the list of workloads, a place in an organization's events.

A cursor is taken only in the very spelling that it was given out in, so nothing forged or mangled reaches the store.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.store.reads import Position

_EVENT, _WORKLOAD = "e", "w"
_LONGEST = 200
_LAST_SEQUENCE = 2**63 - 1


def _encode(*parts: str) -> str:
    return urlsafe_b64encode("|".join(parts).encode()).decode().rstrip("=")


def _decode(cursor: str) -> list[str]:
    return urlsafe_b64decode(cursor[:_LONGEST] + "=" * (-len(cursor) % 4)).decode().split("|")


def event_cursor(sequence: int) -> str:
    return _encode(_EVENT, str(sequence))


def parse_event_cursor(cursor: str) -> int:
    """Raises InvalidInputError for anything that `event_cursor` did not make."""
    try:
        _, number = _decode(cursor)
        sequence = int(number)
    except ValueError:
        raise _not_ours(cursor) from None
    if cursor != event_cursor(sequence) or not 0 <= sequence <= _LAST_SEQUENCE:
        raise _not_ours(cursor)
    return sequence


def workload_cursor(created_at: datetime, workload_id: UUID) -> str:
    return _encode(_WORKLOAD, created_at.astimezone(UTC).isoformat(), workload_id.hex)


def parse_workload_cursor(cursor: str) -> Position:
    """Raises InvalidInputError for anything that `workload_cursor` did not make."""
    try:
        _, created_at, workload_id = _decode(cursor)
        position = Position(datetime.fromisoformat(created_at).astimezone(UTC), UUID(hex=workload_id))
    except (ValueError, OverflowError):
        raise _not_ours(cursor) from None
    if cursor != workload_cursor(position.created_at, position.id):
        raise _not_ours(cursor)
    return position


def _not_ours(cursor: str) -> InvalidInputError:
    return InvalidInputError.of("after", f"{cursor[:60]!r} is not a cursor that this field gave out")
