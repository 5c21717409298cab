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
    OF_GPU,
    OF_POD,
    QUARTER,
    PodReading,
    Reading,
    by_quarter,
    day_of,
    mean,
    quarter_of,
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
    packed = OF_GPU.pack(BEGINS, given_)
    assert len(packed) == len(given_) * OF_GPU.record.size
    latest = {it.at: it for it in given_}
    found = OF_GPU.unpack(BEGINS, packed)
    assert [it.at for it in found] == sorted(latest)
    for it in found:
        for value, wanted, precision in zip(it.values, latest[it.at].values, (0.5, 1, 0.1, 1, 1), strict=True):
            assert (value is None) == (wanted is None)
            assert value is None or wanted is None or abs(value - wanted) <= precision / 2 + 1e-9


@given(readings(BEGINS, 900), readings(BEGINS, 900))
def test_packs_can_be_appended_and_sent_twice(first: list[Reading], second: list[Reading]):
    once = OF_GPU.pack(BEGINS, first) + OF_GPU.pack(BEGINS, second)
    again = once + OF_GPU.pack(BEGINS, second)
    assert (
        OF_GPU.unpack(BEGINS, once)
        == OF_GPU.unpack(BEGINS, again)
        == OF_GPU.unpack(BEGINS, OF_GPU.pack(BEGINS, [*first, *second]))
    )


@given(readings(MIDNIGHT, 86_400), st.sampled_from([BY_MINUTE, BY_QUARTER]))
def test_a_thinned_out_day_holds_the_means_of_what_was_told(given_: list[Reading], resolution: int):
    thin = OF_GPU.thinned(MIDNIGHT, given_, resolution)
    assert len({it.at for it in thin}) == len(thin)
    for it in thin:
        group = [x for x in given_ if it.at <= x.at < it.at + timedelta(seconds=resolution)]
        assert group
        told = [x.utilization for x in group if x.utilization is not None]
        assert it.utilization == (pytest.approx(sum(told) / len(told)) if told else None)
    assert {it.at for it in OF_GPU.unpack(MIDNIGHT, OF_GPU.pack(MIDNIGHT, thin, resolution), resolution)} == {
        it.at for it in thin
    }


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_every_moment_is_in_its_quarter_and_its_day(at: datetime):
    assert quarter_of(at) <= at < quarter_of(at) + QUARTER
    assert day_of(at) <= quarter_of(at) < day_of(at) + DAY
    [(begins, _)] = by_quarter([Reading(at)]).items()
    assert begins == quarter_of(at)


@pytest.mark.parametrize("nonsense", [-5.0, 1e18, float("inf"), float("-inf")])
def test_nonsense_is_cut_to_what_there_is_room_for(nonsense: float):
    [found] = OF_GPU.unpack(BEGINS, OF_GPU.pack(BEGINS, [Reading(BEGINS, *[nonsense] * 5)]))
    assert all(value is not None and 0 <= value < 2**32 for value in found.values)


def test_not_a_number_is_nothing():
    [found] = OF_GPU.unpack(BEGINS, OF_GPU.pack(BEGINS, [Reading(BEGINS, float("nan"))]))
    assert found.utilization is None


@given(st.lists(st.tuples(st.integers(0, 899), maybe(500), maybe(4_000_000)), max_size=80))
def test_pods_are_packed_the_same_way(rows: list[tuple[int, float | None, float | None]]):
    given_ = [PodReading(BEGINS + timedelta(seconds=second), *values) for second, *values in rows]
    packed = OF_POD.pack(BEGINS, given_)
    assert len(packed) == 10 * len(given_)
    latest = {it.at: it for it in given_}
    for it in OF_POD.unpack(BEGINS, packed):
        for value, wanted, precision in zip(it.values, latest[it.at].values, (0.001, 1), strict=True):
            assert (value is None) == (wanted is None)
            assert value is None or wanted is None or abs(value - wanted) <= precision / 2 + 1e-9
    assert {it.at for it in OF_POD.thinned(BEGINS, given_, 900)} == ({BEGINS} if given_ else set())


def test_nothing_has_no_mean():
    assert mean([]) is None
    assert mean([None, None]) is None
    assert mean([None, 4.0, 2.0]) == 3.0
