"""Opaque cursors: a place in an ordered list of workloads, in an organization's events, in a workload's log.

A cursor is taken only in the very spelling that it was given out in, so nothing forged or mangled reaches the store.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import astuple
from datetime import UTC, datetime
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.domain.filters import Kind, ListField, Order, SortField, Value
from app.domain.log_walk import Place
from app.store.listing import Position

_EVENT, _LOG, _WORKLOAD = "e", "l", "w"
_LONGEST = 6000  # characters; the longest sorted text is an image reference
_LAST_SEQUENCE = 2**63 - 1
_LAST_ATTEMPT = 2**31 - 1  # GraphQL's Int
_LAST_NANOSECOND = 2**62  # since 1970: the year 2116


def _encode(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    return urlsafe_b64decode(cursor[:_LONGEST] + "=" * (-len(cursor) % 4)).decode()


def event_cursor(organization_id: UUID, sequence: int) -> str:
    return _encode(f"{_EVENT}|{organization_id.hex}|{sequence}")


def parse_event_cursor(cursor: str, organization_id: UUID) -> int:
    """Raises InvalidInputError for anything that `event_cursor` did not make, or made for another organization."""
    try:
        _, owner, number = _decode(cursor).split("|")
        sequence = int(number)
        is_ours = cursor == event_cursor(UUID(hex=owner), sequence) and 0 <= sequence <= _LAST_SEQUENCE
    except ValueError:
        raise _not_ours(cursor) from None
    if not is_ours:
        raise _not_ours(cursor)
    if UUID(hex=owner) != organization_id:
        raise InvalidInputError.of("after", "the cursor is from another organization's events")
    return sequence


def log_cursor(workload_id: UUID, place: Place) -> str:
    return _encode("|".join([_LOG, workload_id.hex, *map(str, astuple(place))]))


def parse_log_cursor(cursor: str, workload_id: UUID) -> Place:
    """Raises InvalidInputError for anything that `log_cursor` did not make for this workload."""
    try:
        numbers = [int(part) for part in _decode(cursor).split("|")[2:]]
        place = Place(*numbers)
    except (ValueError, TypeError):
        raise _not_ours(cursor) from None
    is_within = all(0 <= number <= _LAST_NANOSECOND for number in numbers) and place.attempt <= _LAST_ATTEMPT
    if cursor != log_cursor(workload_id, place) or not is_within:
        raise _not_ours(cursor)
    return place


def workload_cursor(order: Order, position: Position) -> str:
    """A place in the list, and the order in which it is one."""
    value = position.value.astimezone(UTC).isoformat() if isinstance(position.value, datetime) else position.value
    text = value.hex if isinstance(value, UUID) else value
    parts = [_WORKLOAD, order.by, order.is_descending, text, position.id.hex]
    return _encode(json.dumps(parts, ensure_ascii=False, separators=(",", ":")))


def parse_workload_cursor(cursor: str, order: Order) -> Position:
    """Raises InvalidInputError for anything that `workload_cursor` did not make, or made for another order."""
    try:
        _, name, is_descending, value, workload_id = json.loads(_decode(cursor))
        given = Order(SortField(name), is_descending is True)
        position = Position(_sorted_value(given.field, value), UUID(hex=workload_id))
        is_ours = cursor == workload_cursor(given, position)
    except (ValueError, OverflowError, TypeError, AttributeError, RecursionError):
        raise _not_ours(cursor) from None
    if not is_ours:
        raise _not_ours(cursor)
    if given != order:
        raise InvalidInputError.of(
            "after", f"the cursor is from a list in the order {_words(given)}; this one is in the order {_words(order)}"
        )
    return position


def _sorted_value(field: ListField, value: object) -> Value | None:
    """As it was in the list. Raises ValueError for what the field can't hold."""
    if value is None:
        return None
    if field.kind is Kind.NUMBER:
        if type(value) is not int or abs(value) > field.largest:
            raise ValueError(value)
        return value
    if not isinstance(value, str) or "\0" in value or len(value) > field.longest:
        raise ValueError(value)
    if field.kind is Kind.CHOICE and value not in field.choices:
        raise ValueError(value)
    if field.kind is Kind.MOMENT:
        return datetime.fromisoformat(value).astimezone(UTC)
    return UUID(hex=value) if field.kind is Kind.ID else value


def _words(order: Order) -> str:
    return f"{order.by} {'DESC' if order.is_descending else 'ASC'}"


def _not_ours(cursor: str) -> InvalidInputError:
    return InvalidInputError.of("after", f"{cursor[:60]!r} is not a cursor that this field gave out")
