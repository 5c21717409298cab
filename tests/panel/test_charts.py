"""Charts: round axes, gaps that stay gaps, looks that differ, and a table of the same numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.metrics import edges
from app.panel.axes import Unit, moment_marks, number, round_marks
from app.panel.charts import HEIGHT, Role, Series, bar_chart, line_chart
from app.panel.rendering import environment
from tests.panel.world import Page

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PARTS = edges(NOON, NOON + timedelta(minutes=4), 4)
PERCENT = Unit("%", top=100.0)
GIB = Unit("GiB", divisor=1024.0)


@pytest.mark.parametrize(
    ("top", "marks"), [(100, [0, 20, 40, 60, 80, 100]), (0, [0, 1]), (7, [0, 2, 4, 6, 8]), (0.3, [0, 0.1, 0.2, 0.3])]
)
def test_marks_are_round(top: float, marks: list[float]):
    assert round_marks(top) == pytest.approx(marks)


@given(st.floats(1e-6, 1e12))
def test_marks_reach_from_nothing_to_the_top_and_are_few(top: float):
    marks = round_marks(top)
    assert marks[0] == 0
    assert marks[-1] >= top * (1 - 1e-6)
    assert marks[-1] <= 2 * top + 1e-9
    assert 2 <= len(marks) <= 6


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(minutes=3), ["12:00", "12:01", "12:02", "12:03"]),
        (timedelta(seconds=50), ["12:00:00", "12:00:10", "12:00:20", "12:00:30", "12:00:40", "12:00:50"]),
        (timedelta(hours=15), ["12:00", "15:00", "18:00", "21:00", "1 Dec", "03:00"]),
        (timedelta(days=4), ["1 Dec", "2 Dec", "3 Dec", "4 Dec"]),
        (timedelta(days=30), ["7 Dec", "14 Dec", "21 Dec", "28 Dec"]),
        (timedelta(days=300), ["Jan 2027", "Mar 2027", "May 2027", "Jul 2027", "Sep 2027"]),
    ],
)
def test_moments_are_round_and_say_what_tells_them_apart(length: timedelta, said: list[str]):
    assert [label for _, label in moment_marks(NOON, NOON + length)] == said


@given(st.integers(1, 10**9))
def test_there_is_room_for_the_moments(seconds: int):
    end = NOON + timedelta(seconds=seconds)
    marks = moment_marks(NOON, end)
    assert len(marks) <= 7
    assert all(NOON <= at <= end for at, _ in marks)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (12.34, "12.3"), (0.1234, "0.123"), (1234.5, "1,234"), (100.0, "100"), (0.00001, "0"), (99.96, "100")],
)
def test_numbers_have_the_digits_that_count(value: float, said: str):
    assert number(value) == said


def test_a_gap_is_never_joined():
    chart = line_chart("c", "C", PERCENT, PARTS, [Series("a", [0.0, 100.0, None, 50.0])])
    [line] = chart.lines
    assert line.path == f"M125.0 {HEIGHT}.0L375.0 0.0M750.0 {HEIGHT / 2}H1000.0", (
        "a single value is as wide as its part"
    )


def test_what_is_not_known_is_no_line():
    chart = line_chart("c", "C", PERCENT, PARTS, [Series("a", [None] * 4)])
    assert (chart.lines, chart.description) == ((), "a: nothing is known")


def test_the_table_has_the_same_numbers():
    series = [Series("both", [2048.0, None, 0.0, 1024.0], role=Role.WHOLE), Series("one", [1024.0, 512.0, 0.0, 1.0])]
    chart = line_chart("c", "C", GIB, PARTS, series)
    assert chart.table.headings == ("From (UTC)", "both (GiB)", "one (GiB)")
    assert chart.table.rows[1] == ("2026-11-30 12:01", "\u2013", "0.5")
    assert chart.table.rows[3] == ("2026-11-30 12:03", "1", "0.001")
    assert "both: 0 to 2 GiB, not known in 1 of 4 parts; one: 0 to 1 GiB" in chart.description


def test_many_lines_look_different():
    chart = line_chart("c", "C", PERCENT, PARTS, [Series(str(n), [1.0] * 4) for n in range(32)])
    assert len({it.look.classes for it in chart.lines}) == 32
    assert all(a.look.pattern != b.look.pattern for a, b in zip(chart.lines, chart.lines[1:], strict=False))


def test_the_look_of_each_does_not_depend_on_the_whole():
    each = [Series("a", [1.0] * 4), Series("b", [2.0] * 4)]
    alone = line_chart("c", "C", PERCENT, PARTS, each)
    beside = line_chart("c", "C", PERCENT, PARTS, [Series("all", [1.5] * 4, role=Role.WHOLE), *each])
    assert [it.look for it in alone.lines] == [it.look for it in beside.lines[1:]]
    assert beside.lines[0].look.classes == "whole"


def test_bars_stand_on_each_other():
    hours = Unit("GPU-hours", divisor=3600.0)
    chart = bar_chart("c", "C", hours, ["Mon", "Tue"], [Series("a", [3600.0, 0.0]), Series("b", [3600.0, 7200.0])])
    assert [(it.words, it.y, it.height) for it in chart.bars] == [
        ("Mon, a: 1 GPU-hours", HEIGHT / 2, HEIGHT / 2),
        ("Mon, b: 1 GPU-hours", 0.0, HEIGHT / 2),
        ("Tue, b: 2 GPU-hours", 0.0, HEIGHT),
    ]
    assert chart.bars[0].x + chart.bars[0].width <= 50 <= chart.bars[2].x


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_picture_has_a_name_a_description_and_its_table(kind: str):
    series = [Series("<a>", [1.0, None, 3.0, 2.0]), Series("b", [1.0, 1.0, 1.0, 1.0])]
    made = (
        line_chart("load", "Load", PERCENT, PARTS, series)
        if kind == "lines"
        else bar_chart("load", "Load", PERCENT, list("wxyz"), series)
    )
    template = environment().from_string('{% from "_chart.html" import chart %}{{ chart(it) }}')
    html = template.render(it=made)
    page = Page.of(html)
    [picture] = page.all("svg", role="img")
    assert set(picture["aria-labelledby"].split()) <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "<a>: 1 to 3 %, not known in 1 of 4 parts" in page.text
    assert len(page.all("th", scope="row")) == 4
    assert not re.search(r"\sstyle=|<style", html), "the content security policy refuses inline styles"
