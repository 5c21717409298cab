"""Opaque cursors: a place in an organization's events, in a workload's log. That in a list is `app.store.cursors`'.

A cursor is taken only in the very spelling that it was given out in, so nothing forged or mangled reaches the store.
"""

from __future__ import annotations

from dataclasses import astuple
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.domain.log_walk import Place
from app.store.cursors import decode, encode, not_ours

_EVENT, _LOG = "e", "l"
_LAST_SEQUENCE = 2**63 - 1
_LAST_ATTEMPT = 2**31 - 1  # GraphQL's Int
_LAST_NANOSECOND = 2**62  # since 1970: the year 2116


def event_cursor(organization_id: UUID, sequence: int) -> str:
    return encode(f"{_EVENT}|{organization_id.hex}|{sequence}")


def parse_event_cursor(cursor: str, organization_id: UUID) -> int:
    """Raises InvalidInputError for anything that `event_cursor` did not make, or made for another organization."""
    try:
        _, owner, number = decode(cursor).split("|")
        sequence = int(number)
        is_ours = cursor == event_cursor(UUID(hex=owner), sequence) and 0 <= sequence <= _LAST_SEQUENCE
    except ValueError:
        raise not_ours(cursor) from None
    if not is_ours:
        raise not_ours(cursor)
    if UUID(hex=owner) != organization_id:
        raise InvalidInputError.of("after", "the cursor is from another organization's events")
    return sequence


def log_cursor(workload_id: UUID, place: Place) -> str:
    return encode("|".join([_LOG, workload_id.hex, *map(str, astuple(place))]))


def parse_log_cursor(cursor: str, workload_id: UUID) -> Place:
    """Raises InvalidInputError for anything that `log_cursor` did not make for this workload."""
    try:
        numbers = [int(part) for part in decode(cursor).split("|")[2:]]
        place = Place(*numbers)
    except (ValueError, TypeError):
        raise not_ours(cursor) from None
    is_within = all(0 <= number <= _LAST_NANOSECOND for number in numbers) and place.attempt <= _LAST_ATTEMPT
    if cursor != log_cursor(workload_id, place) or not is_within:
        raise not_ours(cursor)
    return place
