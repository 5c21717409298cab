"""A place in an ordered list of workloads as opaque text, for programs and for addresses of pages.

A cursor is taken only in the very spelling that it was given out in, so nothing forged or mangled reaches the database.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.domain.filters import Kind, ListField, Order, SortField, Value
from app.store.listing import Position

_WORKLOAD = "w"
_LONGEST = 6000  # characters; the longest sorted text is an image reference


def encode(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str) -> str:
    """Raises ValueError for what is no such text."""
    return urlsafe_b64decode(cursor[:_LONGEST] + "=" * (-len(cursor) % 4)).decode()


def not_ours(cursor: str) -> InvalidInputError:
    return InvalidInputError.of("after", f"{cursor[:60]!r} is not a cursor that this field gave out")


def workload_cursor(order: Order, position: Position) -> str:
    """A place in the list, and the order in which it is one."""
    value = position.value.astimezone(UTC).isoformat() if isinstance(position.value, datetime) else position.value
    text = value.hex if isinstance(value, UUID) else value
    parts = [_WORKLOAD, order.by, order.is_descending, text, position.id.hex]
    return encode(json.dumps(parts, ensure_ascii=False, separators=(",", ":")))


def parse_workload_cursor(cursor: str, order: Order) -> Position:
    """Raises InvalidInputError for anything that `workload_cursor` did not make, or made for another order."""
    try:
        _, name, is_descending, value, workload_id = json.loads(decode(cursor))
        given = Order(SortField(name), is_descending is True)
        position = Position(_sorted_value(given.field, value), UUID(hex=workload_id))
        is_ours = cursor == workload_cursor(given, position)
    except (ValueError, OverflowError, TypeError, AttributeError, RecursionError):
        raise not_ours(cursor) from None
    if not is_ours:
        raise not_ours(cursor)
    if given != order:
        raise InvalidInputError.of(
            "after", f"the cursor is from a list in the order {_words(given)}; this one is in the order {_words(order)}"
        )
    return position


def _sorted_value(field: ListField, value: object) -> Value | None:
    """As it was in the list. Raises ValueError for what the field can't hold."""
    if value is None:
        return None
    if field.kind is Kind.BOOLEAN and type(value) is bool:
        return value
    if field.kind in (Kind.NUMBER, Kind.PRIORITY):
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
