"""Packed samples: nothing is lost but precision, nothing missing becomes a number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.samples import (
    BY_MINUTE,
    BY_QUARTER,
    DAY,
    QUARTER,
    RECORD_BYTES,
    Reading,
    by_quarter,
    day_of,
    mean,
    pack,
    quarter_of,
    thinned,
    unpack,
)

BEGINS = datetime(2026, 11, 30, 12, 15, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)


def maybe(most: float) -> st.SearchStrategy[float | None]:
    return st.none() | st.floats(0, most, allow_nan=False)


VALUES = st.tuples(maybe(100), maybe(400_000), maybe(3000), maybe(120), maybe(4000))


def readings(begins: datetime, seconds: int) -> st.SearchStrategy[list[Reading]]:
    moments = st.integers(0, seconds - 1).map(lambda it: begins + timedelta(seconds=it))
    return st.lists(st.builds(lambda at, values: Reading(at, *values), moments, VALUES), max_size=80)


@given(readings(BEGINS, 900))
def test_what_is_unpacked_is_what_was_packed_in_order_of_time(given_: list[Reading]):
    packed = pack(BEGINS, given_)
    assert len(packed) == len(given_) * RECORD_BYTES
    latest = {it.at: it for it in given_}
    found = unpack(BEGINS, packed)
    assert [it.at for it in found] == sorted(latest)
    for it in found:
        for value, wanted, precision in zip(it.values, latest[it.at].values, (0.5, 1, 0.1, 1, 1), strict=True):
            assert (value is None) == (wanted is None)
            assert value is None or wanted is None or abs(value - wanted) <= precision / 2 + 1e-9


@given(readings(BEGINS, 900), readings(BEGINS, 900))
def test_packs_can_be_appended_and_sent_twice(first: list[Reading], second: list[Reading]):
    once = pack(BEGINS, first) + pack(BEGINS, second)
    again = once + pack(BEGINS, second)
    assert unpack(BEGINS, once) == unpack(BEGINS, again) == unpack(BEGINS, pack(BEGINS, [*first, *second]))


@given(readings(MIDNIGHT, 86_400), st.sampled_from([BY_MINUTE, BY_QUARTER]))
def test_a_thinned_out_day_holds_the_means_of_what_was_told(given_: list[Reading], resolution: int):
    thin = thinned(MIDNIGHT, given_, resolution)
    assert len({it.at for it in thin}) == len(thin)
    for it in thin:
        group = [x for x in given_ if it.at <= x.at < it.at + timedelta(seconds=resolution)]
        assert group
        told = [x.utilization for x in group if x.utilization is not None]
        assert it.utilization == (pytest.approx(sum(told) / len(told)) if told else None)
    assert {it.at for it in unpack(MIDNIGHT, pack(MIDNIGHT, thin, resolution), resolution)} == {it.at for it in thin}


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_every_moment_is_in_its_quarter_and_its_day(at: datetime):
    assert quarter_of(at) <= at < quarter_of(at) + QUARTER
    assert day_of(at) <= quarter_of(at) < day_of(at) + DAY
    [(begins, _)] = by_quarter([Reading(at)]).items()
    assert begins == quarter_of(at)


@pytest.mark.parametrize("nonsense", [-5.0, 1e18, float("inf"), float("-inf")])
def test_nonsense_is_cut_to_what_there_is_room_for(nonsense: float):
    [found] = unpack(BEGINS, pack(BEGINS, [Reading(BEGINS, *[nonsense] * 5)]))
    assert all(value is not None and 0 <= value < 2**32 for value in found.values)


def test_not_a_number_is_nothing():
    [found] = unpack(BEGINS, pack(BEGINS, [Reading(BEGINS, float("nan"))]))
    assert found.utilization is None


def test_nothing_has_no_mean():
    assert mean([]) is None
    assert mean([None, None]) is None
    assert mean([None, 4.0, 2.0]) == 3.0
