"""Spans of time, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.client.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3600", 3600), ("90s", 90), ("30m", 1800), ("1h30m", 5400), ("1.5h", 5400), ("2D", 172800), (" 1h ", 3600)],
)
def test_what_people_write(text: str, seconds: int):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "1x", "-1", "1h 30m", "1h30", "٣", "1e3", "1" * 40, "1:30"])
def test_anything_else_is_refused_with_examples(text: str):
    with pytest.raises(ValueError, match="1h30m"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0.9, "0s"), (8, "8s"), (60, "1m"), (192, "3m12s"), (7509, "2h5m"), (3605, "1h"), (273600, "3d4h")],
)
def test_two_units_are_enough(seconds: float, text: str):
    assert format_duration(seconds) == text


@given(st.integers(0, 10**8))
def test_what_is_written_reads_as_no_more(seconds: int):
    read = parse_duration(format_duration(seconds))
    assert read <= seconds
    assert seconds - read < max(60, seconds * 0.05)
