"""Nothing that others wrote moves a terminal's cursor, colours it or turns its text around."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.client.printable import TerminalLog, as_json, printable


def test_controls_are_spelled_out():
    assert printable("a\x1b[2Jb\nc\td\x9b1m\u202e\x7fé漢") == "a\\x1b[2Jb\\nc\\td\\x9b1m\\u202e\\x7fé漢"


@given(st.text())
def test_one_line_of_visible_text(text: str):
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert all(character >= " " and not "\x7f" <= character <= "\x9f" for character in shown)


@given(st.recursive(st.text() | st.integers() | st.none(), lambda it: st.lists(it) | st.dictionaries(st.text(), it)))
def test_json_stays_the_same_value(value: object):
    text = as_json(value)
    assert json.loads(text) == value
    assert not any("\x7f" <= character <= "\x9f" or character in "\x1b\u202e" for character in text)


def passed_on(*pieces: str) -> str:
    log = TerminalLog()
    return "".join(log.pass_on(piece) for piece in pieces) + log.rest()


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["10%\r20%\n\tdone\n"], "10%\r20%\n\tdone\n"),
        (["\x1b[1;31mred\x1b[0m"], "\x1b[1;31mred\x1b[0m"),
        (["\x1b[1;3", "1mred\x1b", "[0m"], "\x1b[1;31mred\x1b[0m"),
        (["\x1b[2J\x1b]0;title\x07"], "\\x1b[2J\\x1b]0;title\\x07"),
        (["\x9b31m"], "\\x9b31m"),
        (["the end\x1b["], "the end\\x1b["),
    ],
)
def test_a_log_keeps_its_lines_and_colours_alone(pieces: list[str], shown: str):
    assert passed_on(*pieces) == shown


@given(st.text(alphabet="\x1b[0m1;a\n"), st.integers(0, 20))
def test_where_a_log_was_cut_makes_no_difference(text: str, cut: int):
    assert passed_on(text[:cut], text[cut:]) == passed_on(text)
