"""A log is a function of stamps: lines, moments, and what was written when."""

from __future__ import annotations

from app.simcluster.inside.behaviour import Behaviour, Exit
from app.simcluster.inside.logs import LogScript

START = 1_780_000_000.0
SCRIPT = LogScript(("hello",), 4, START, 8.0, None)


def text(script: LogScript, now: float) -> list[str]:
    return [script.line(index, timestamps=False).decode().strip() for index in range(script.written(now))]


def test_lines_are_spread_over_the_run():
    assert text(SCRIPT, START - 1) == []
    assert text(SCRIPT, START) == ["hello", "line 1 of 4"]
    assert text(SCRIPT, START + 4) == ["hello", "line 1 of 4", "line 2 of 4", "line 3 of 4"]
    assert SCRIPT.written(START + 100) == 5
    assert SCRIPT.next_moment(START + 4) == START + 6
    assert SCRIPT.next_moment(START + 100) is None


def test_nothing_is_written_after_the_end():
    assert LogScript((), 4, START, 8.0, START + 3).written(START + 100) == 2


def test_what_is_told_to_end_writes_the_rest_at_once():
    told = Behaviour(8.0, 0.0, 4, told=Exit(START + 3, 0))
    script = LogScript.of(told, START, START + 3)
    assert (script.written(START + 2.9), script.written(START + 3)) == (2, 4)
    assert [script.moment(index) - START for index in range(4)] == [0, 2, 3, 3]
    assert LogScript.of(told, START, START + 1).written(START + 100) == 1


def test_a_stamp_has_nine_digits():
    assert SCRIPT.line(2, timestamps=True) == b"2026-05-28T20:26:42.000000000Z line 2 of 4\n"


def test_since_is_found_by_the_stamps():
    assert SCRIPT.first_since(START + 1, START + 8) == 2
    assert SCRIPT.first_since(START + 100, START + 8) == 5


def test_a_run_without_length_has_all_its_lines():
    behaviour = Behaviour(0.0, 0.0, 3, "a\nb")
    assert text(LogScript.of(behaviour, START, START), START) == ["a", "b", *(f"line {n} of 3" for n in (1, 2, 3))]


def test_last_words_are_bounded():
    script = LogScript(("x" * 100,) * 200, 0, START, 1.0, START)
    assert len(script.last_words(START)) == 2048
