"""Curves and idleness: what was not measured is neither zero nor idle."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.metrics import Curve, MetricType, Span, allocated, curve, edges, inside, is_idle, round_parts, together
from app.domain.samples import Reading
from tests.clock import START

END = START + timedelta(minutes=15)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def readings(*values: float | None, every: int = 15, begins: int = 0) -> list[Reading]:
    return [Reading(at(begins + n * every), value, value) for n, value in enumerate(values)]


def test_a_part_is_the_mean_of_its_samples_and_an_empty_one_is_nothing():
    parts = edges(START, at(120), 4)
    assert curve(readings(10.0, 20.0, None, 40.0), MetricType.GPU_UTILIZATION, parts) == [15.0, 40.0, None, None]


@given(st.integers(1, 1000), st.integers(1, 10**7))
def test_parts_cover_the_time_without_gaps(count: int, seconds: int):
    parts = edges(START, at(seconds), count)
    assert (len(parts), parts[0][0], parts[-1][1]) == (count, START, at(seconds))
    assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))


@given(st.integers(0, 10**7), st.integers(1, 10**8))
def test_round_parts_hold_the_time_and_are_few(begins: int, seconds: int):
    start, end = at(begins), at(begins + seconds)
    parts = round_parts(start, end, [], 72)
    width = parts[0][1] - parts[0][0]
    assert parts[0][0] <= start < parts[0][1]
    assert parts[-1][0] <= end <= parts[-1][1]
    assert len(parts) <= 74 or width == timedelta(days=7)
    assert (parts[0][0] - datetime(1970, 1, 1, tzinfo=UTC)) % width == timedelta(0)


@pytest.mark.parametrize(("every", "width"), [(45, 120), (60, 120), (120, 300), (900, 1800)])
def test_no_part_is_narrower_than_two_readings_are_apart(every: int, width: int):
    parts = round_parts(START, at(6000), [readings(*[1.0] * 20, every=every), readings(1.0)], 72)
    assert parts[0][1] - parts[0][0] == timedelta(seconds=width)
    assert None not in curve(readings(*[1.0] * 400, every=every, begins=7), MetricType.GPU_UTILIZATION, parts[1:])


def test_all_together_is_known_only_where_each_is():
    parts, always = edges(START, at(40), 4), (Span(START, None),)
    curves = [([1.0, 2.0, None, 4.0], always), ([10.0, None, None, 40.0], always)]
    now = at(1000)
    assert together(curves, MetricType.GPU_MEMORY_USED, parts, now) == [11.0, None, None, 44.0]
    assert together(curves, MetricType.GPU_UTILIZATION, parts, now) == [5.5, None, None, 22.0]


def test_a_gpu_that_was_not_there_does_not_make_the_whole_unknown():
    parts = edges(START, at(20), 2)
    early: tuple[Curve, tuple[Span]] = ([1.0, 2.0], (Span(START, None),))
    curves = [early, ([None, 20.0], (Span(at(10), None),))]
    assert together(curves, MetricType.GPU_POWER, parts, at(1000)) == [1.0, 22.0]
    assert together([], MetricType.GPU_POWER, parts, at(1000)) == [None, None]


def test_what_the_gpu_did_for_others_is_left_out():
    spans = [Span(at(15), at(30)), Span(at(45), None)]
    found = inside(readings(0.0, 1.0, 2.0, 3.0), spans)
    assert [it.utilization for it in found] == [1.0, 3.0]


def test_allocated_gpus_by_time_and_not_of_the_future():
    spans = [Span(START, at(15), 4), Span(at(30), None, 2)]
    assert allocated(spans, edges(START, at(60), 6), at(40)) == [4.0, 2.0, 0.0, 2.0, None, None]


@pytest.mark.parametrize(
    ("taken", "idle"),
    [
        pytest.param(readings(*[0.0] * 60), True, id="nothing all the time"),
        pytest.param(readings(*[1.0] * 60), True, id="at the floor"),
        pytest.param(readings(*[0.0] * 30, 5.0, *[0.0] * 29), False, id="one moment of work"),
        pytest.param([], False, id="no sample"),
        pytest.param(readings(*[None] * 60), False, id="samples that tell nothing, as in MIG mode"),
        pytest.param(readings(*[0.0] * 20) + readings(*[0.0] * 20, begins=600), False, id="a gap in the middle"),
        pytest.param(readings(*[0.0] * 40), False, id="the last minutes are missing"),
        pytest.param(readings(*[0.0] * 45, begins=240), False, id="the first minutes are missing"),
        pytest.param(readings(*[0.0, None] * 30), True, id="every other one is missing, but no gap is long"),
        pytest.param(readings(*[0.0] * 15, every=60), True, id="thinned out to one a minute"),
    ],
)
def test_idle_is_what_is_known_to_have_done_nothing(taken: list[Reading], idle: bool):
    assert is_idle(taken, START, END) is idle
