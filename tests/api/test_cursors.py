"""Cursors: what was given out leads back to its place; nothing else gets through, whatever it is made of."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from app.domain.errors import InvalidInputError
from app.domain.filters import Kind, ListField, Order, SortField
from app.domain.log_walk import Place
from app.domain.priority import Priority
from app.graphql.cursors import event_cursor, log_cursor, parse_event_cursor, parse_log_cursor
from app.store.cursors import parse_workload_cursor, workload_cursor
from app.store.listing import Position
from tests.depth import examples

OURS = UUID(int=7)
ORDERS = st.builds(Order, st.sampled_from(list(SortField)), st.booleans())
often = settings(max_examples=examples(100))


def values(field: ListField) -> SearchStrategy[Any]:
    """What a list may have in a field."""
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=field.longest)
    of_kind: dict[Kind, SearchStrategy[Any]] = {
        Kind.TEXT: text,
        Kind.NUMBER: st.integers(-field.largest, field.largest),
        Kind.BOOLEAN: st.booleans(),
        Kind.PRIORITY: st.sampled_from(list(map(int, Priority))),
        Kind.MOMENT: st.datetimes(timezones=st.just(UTC)),
        Kind.ID: st.uuids(),
        Kind.CHOICE: st.sampled_from(sorted(field.choices) or [""]),
    }
    return st.none() | of_kind[field.kind]


@often
@given(ORDERS.flatmap(lambda order: st.tuples(st.just(order), st.builds(Position, values(order.field), st.uuids()))))
def test_a_place_in_the_list_is_found_again(drawn: tuple[Order, Position]):
    order, position = drawn
    assert parse_workload_cursor(workload_cursor(order, position), order) == position


@often
@given(st.uuids(), st.integers(0, 2**63 - 1), st.builds(Place, st.integers(0, 2**31 - 1), *[st.integers(0, 2**62)] * 4))
def test_a_place_in_events_and_logs_is_found_again(owner: UUID, sequence: int, place: Place):
    assert parse_event_cursor(event_cursor(owner, sequence), owner) == sequence
    assert parse_log_cursor(log_cursor(owner, place), owner) == place


EDGES = [-1, 0, 1, 2**31 - 1, 2**31, 2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64, 10**30]
NUMBERS = st.sampled_from(EDGES) | st.integers()
PARTS = NUMBERS.map(str) | st.sampled_from(["e", "l", "w", OURS.hex, str(OURS), "", " 1", "1_0", "٣", "+1"]) | st.text()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | st.text() | st.sampled_from([*SortField, OURS.hex]),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=8,
)
WORKLOAD_PARTS = st.tuples(
    st.just("w") | JSON, st.sampled_from(list(SortField)) | JSON, st.booleans() | JSON, JSON, st.just(OURS.hex) | JSON
)


def encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode(errors="surrogatepass")).decode().rstrip("=")


FORGED = (
    st.lists(PARTS, min_size=2, max_size=8).map("|".join).map(encoded)
    | st.tuples(st.sampled_from(["e", "l"]), st.just(OURS.hex), *[NUMBERS.map(str)] * 5).map("|".join).map(encoded)
    | st.tuples(st.just("e"), st.just(OURS.hex), NUMBERS.map(str)).map("|".join).map(encoded)
    | (WORKLOAD_PARTS | JSON).map(lambda parts: encoded(json.dumps(parts, ensure_ascii=False, separators=(",", ":"))))
    | st.text()
)


def read(parse: Callable[[], Any]) -> Any | None:
    """What a cursor means, or None where it is refused as a wrong `after`."""
    try:
        return parse()
    except InvalidInputError as refusal:
        fields = [problem.field for problem in refusal.problems]
    assert fields == ["after"]
    return None


@settings(max_examples=examples(300))
@given(FORGED, ORDERS)
def test_what_was_not_given_out_is_refused_or_means_what_it_says(cursor: str, order: Order):
    """What is read has the very cursor that was given, and its numbers are such as can be stored and told."""
    sequence = read(lambda: parse_event_cursor(cursor, OURS))
    assert sequence is None or (cursor == event_cursor(OURS, sequence) and 0 <= sequence < 2**63)
    place = read(lambda: parse_log_cursor(cursor, OURS))
    if place is not None:
        assert cursor == log_cursor(OURS, place)
        assert 0 <= place.attempt < 2**31
        assert all(0 <= number <= 2**62 for number in (place.anchor, place.earliest, place.lines, place.offset))
        assert place.since is None or place.since <= datetime(2117, 1, 1, tzinfo=UTC)
    position = read(lambda: parse_workload_cursor(cursor, order))
    assert position is None or cursor == workload_cursor(order, position)
    assert position is None or not isinstance(position.value, int) or abs(position.value) <= order.field.largest
