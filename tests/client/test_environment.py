"""`--env` and `--env-file`: values byte for byte, the last word wins, mistakes named by line."""

from __future__ import annotations

import pytest

from app.client.environment import variables


def test_values_are_kept_as_they_are():
    content = 'A=1\n# a remark\n\n  B= two words \nC="quoted"\nD=x=y#z\nE=\n'
    assert variables([("f", content)], [], {}) == [
        ("A", "1"),
        ("B", " two words "),
        ("C", '"quoted"'),
        ("D", "x=y#z"),
        ("E", ""),
    ]


def test_files_of_other_systems():
    assert variables([("f", "\ufeffA=1\r\nB=2\r\n")], [], {}) == [("A", "1"), ("B", "2")]


def test_the_last_word_wins_and_options_beat_files():
    files = [("f", "A=1\nB=1"), ("g", "A=2")]
    assert variables(files, ["B=3", "B=4"], {}) == [("A", "2"), ("B", "4")]


def test_a_name_alone_takes_its_value_from_here():
    assert variables([("f", "A")], ["B"], {"A": "1", "B": "2", "C": "3"}) == [("A", "1"), ("B", "2")]


def test_a_value_may_have_several_lines_on_the_command_line():
    assert variables([], ["A=1\n2"], {}) == [("A", "1\n2")]


@pytest.mark.parametrize(
    ("files", "given", "words"),
    [
        ([("f.env", "A=1\nB")], [], r"f\.env, line 2: 'B' has no '='"),
        ([], ["B"], "^'B' has no '='"),
        ([], ["=x"], "has no name"),
        ([("f.env", "=x")], [], "f.env, line 1: '=x' has no name"),
    ],
)
def test_mistakes_are_named(files: list[tuple[str, str]], given: list[str], words: str):
    with pytest.raises(ValueError, match=words):
        variables(files, given, {})
