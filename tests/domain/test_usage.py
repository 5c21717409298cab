"""GPU-seconds against an oracle that counts every second by itself."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInputError
from app.domain.metrics import Span
from app.domain.usage import Period, Stretch, UsageGroup, periods, used

START = datetime(2026, 11, 30, 23, 58, tzinfo=UTC)
SECONDS = 300
NOW = START + timedelta(seconds=250)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def a_stretch(number: int, begins: int, length: int | None, gpus: int, project: str) -> Stretch:
    end = None if length is None else at(begins + length)
    return Stretch(UUID(int=number), Span(at(begins), end, gpus), project, "ada", "H100", "gpu-1", "default")


STRETCHES = st.lists(
    st.builds(
        a_stretch,
        st.integers(0, 3),
        st.integers(-100, 350),
        st.none() | st.integers(0, 300),
        st.integers(1, 8),
        st.sampled_from(["", "vision", "speech"]),
    ),
    max_size=8,
)


def naive(stretches: list[Stretch], parts: list[tuple[datetime, datetime]]) -> Counter[tuple[datetime, str]]:
    """Every second of every stretch, one by one."""
    counted: Counter[tuple[datetime, str]] = Counter()
    for second in range(SECONDS):
        begin = next(start for start, end in parts if start <= at(second) < end)
        for it in stretches:
            is_on = it.span.start <= at(second) and (it.span.end is None or at(second) < it.span.end)
            if is_on and at(second) < NOW:
                counted[begin, it.project] += it.span.amount
    return counted


@given(STRETCHES, st.sampled_from([None, Period.HOUR, Period.DAY, Period.MONTH]))
def test_gpu_seconds_are_those_that_one_counts_by_hand(stretches: list[Stretch], period: Period | None):
    parts = periods(START, at(SECONDS), period)
    found = {(it.start, it.group[0]): it.gpu_seconds for it in used(stretches, parts, [UsageGroup.PROJECT], NOW)}
    assert found == dict(naive(stretches, parts))


@given(STRETCHES)
def test_groups_add_up_to_the_whole(stretches: list[Stretch]):
    parts = periods(START, at(SECONDS), Period.DAY)
    whole = sum(it.gpu_seconds for it in used(stretches, parts, [], NOW))
    assert whole == sum(it.gpu_seconds for it in used(stretches, parts, [UsageGroup.PROJECT, UsageGroup.SERVER], NOW))


def test_workloads_are_counted_once_each():
    again = [a_stretch(1, 0, 10, 1, ""), a_stretch(1, 20, 10, 1, ""), a_stretch(2, 0, 10, 1, "")]
    [found] = used(again, periods(START, at(SECONDS), None), [], NOW)
    assert (found.gpu_seconds, found.workloads) == (30, 2)


@pytest.mark.parametrize(
    ("period", "begins"),
    [
        (Period.HOUR, ["2026-11-30T23:58", "2026-12-01T00:00", "2026-12-01T01:00"]),
        (Period.DAY, ["2026-11-30T23:58", "2026-12-01T00:00"]),
        (Period.WEEK, ["2026-11-30T23:58"]),
        (Period.MONTH, ["2026-11-30T23:58", "2026-12-01T00:00"]),
        (None, ["2026-11-30T23:58"]),
    ],
)
def test_periods_are_those_of_the_calendar(period: Period | None, begins: list[str]):
    found = periods(START, START + timedelta(hours=2), period)
    assert [start.isoformat()[:16] for start, _ in found] == begins
    assert found[-1][1] == START + timedelta(hours=2)
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("end", "period", "words"),
    [
        (START, None, "must be after"),
        (START + timedelta(days=3700), None, "at most 3660 days"),
        (START + timedelta(days=20), Period.HOUR, "more than 400 periods"),
    ],
)
def test_what_makes_no_sense_is_refused(end: datetime, period: Period | None, words: str):
    with pytest.raises(InvalidInputError, match=words):
        periods(START, end, period)
