"""Environment variables: the text box, names, reserved names, sizes."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.environment import (
    MAX_TOTAL_BYTES,
    MAX_VALUE_BYTES,
    MAX_VARIABLES,
    RESERVED_NAMES,
    check_environment,
    parse_environment,
)
from app.domain.errors import InvalidInputError, Problem


@pytest.mark.parametrize(
    ("box", "pairs"),
    [
        pytest.param(
            "MODEL_PATH=/data/model BATCH_SIZE=32",
            (("MODEL_PATH", "/data/model"), ("BATCH_SIZE", "32")),
            id="the specification's own example",
        ),
        pytest.param("", (), id="an empty box"),
        pytest.param(" \n\t ", (), id="a box of white space"),
        pytest.param("A=1\nB=2\r\n\tC=3", (("A", "1"), ("B", "2"), ("C", "3")), id="newlines and tabs part"),
        pytest.param("GREETING='hello world'", (("GREETING", "hello world"),), id="single quotes protect"),
        pytest.param('A="x y" B=z', (("A", "x y"), ("B", "z")), id="double quotes protect"),
        pytest.param("'A=x y'", (("A", "x y"),), id="quotes around the whole word"),
        pytest.param("A='line 1\nline 2'", (("A", "line 1\nline 2"),), id="a newline inside quotes stays"),
        pytest.param("URL=http://h/?a=1&b=2", (("URL", "http://h/?a=1&b=2"),), id="'=' in a value"),
        pytest.param("A=", (("A", ""),), id="an empty value"),
        pytest.param("A='' B=\"\"", (("A", ""), ("B", "")), id="empty quotes"),
        pytest.param("A=a\\ b", (("A", "a b"),), id="a backslash protects"),
        pytest.param("A=$HOME", (("A", "$HOME"),), id="'$' is text"),
        pytest.param("A=#1 B=2#", (("A", "#1"), ("B", "2#")), id="'#' starts no comment"),
        pytest.param("A=1 A=2", (("A", "1"), ("A", "2")), id="duplicates are for the check"),
        pytest.param("=x", (("", "x"),), id="an empty name is for the check"),
    ],
)
def test_the_box_is_split_as_a_shell_would(box: str, pairs: tuple[tuple[str, str], ...]) -> None:
    assert parse_environment(box) == pairs


@pytest.mark.parametrize(
    ("box", "named"),
    [
        pytest.param("A=1 VERBOSE", "'VERBOSE' has no '='", id="a word without '='"),
        pytest.param("export A=1", "'export'", id="a shell command"),
        pytest.param("A = 1", "'A'", id="blanks around '='"),
        pytest.param("A='x", "closing quotation", id="an open quote"),
        pytest.param("A=x\\", "escaped character", id="a backslash at the end"),
    ],
)
def test_what_can_not_be_read_is_refused_with_the_word(box: str, named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_environment(box)
    (problem,) = caught.value.problems
    assert problem.field == "envVars"
    assert named in problem.message


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(st.lists(st.tuples(NAMES, TEXT), max_size=5))
def test_what_a_shell_would_quote_comes_back(pairs: list[tuple[str, str]]) -> None:
    box = "\n".join(shlex.quote(f"{name}={value}") for name, value in pairs)
    assert list(parse_environment(box)) == pairs


@pytest.mark.parametrize("name", ["A", "_", "a1", "CUDA_HOME", "NVIDIA_DRIVER_CAPABILITIES", "x" * 300])
def test_ordinary_names_are_taken(name: str) -> None:
    assert check_environment([(name, "1")]) == []


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A.B", "A B", "A=B", "É", "A\n", "$A", "A\0"])
def test_other_names_are_refused_and_quoted(name: str) -> None:
    (problem,) = check_environment([("OK", "1"), (name, "1")])
    assert problem.field == "envVars[1].name"
    assert repr(name) in problem.message


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_the_device_plugins_own_names_are_refused(name: str) -> None:
    (problem,) = check_environment([(name, "all")])
    assert problem.field == "envVars[0].name"
    assert name in problem.message
    assert "device plugin" in problem.message


def test_the_device_selectors_of_the_design_are_reserved() -> None:
    assert {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} <= RESERVED_NAMES


def test_a_name_given_twice_is_refused_at_its_second_place() -> None:
    assert check_environment([("A", "1"), ("B", "2"), ("A", "1")]) == [Problem("envVars[2].name", "A is given twice")]


def test_every_problem_is_reported() -> None:
    problems = check_environment([("1A", "x"), ("OK", "a\0b"), ("CUDA_VISIBLE_DEVICES", "0"), ("OK", "")])
    assert [p.field for p in problems] == ["envVars[0].name", "envVars[1].value", "envVars[2].name", "envVars[3].name"]


@pytest.mark.parametrize("value", ["", " ", "$(A) $$ ${B}", "é\U0001f600", "line\nline", "\x01", "="])
def test_any_other_text_is_a_value(value: str) -> None:
    assert check_environment([("A", value)]) == []


@pytest.mark.parametrize(("value", "named"), [("a\0b", "NUL"), ("a\ud800b", "Unicode")])
def test_what_no_environment_carries_is_refused(value: str, named: str) -> None:
    (problem,) = check_environment([("A", value)])
    assert problem.field == "envVars[0].value"
    assert named in problem.message
    assert "A" in problem.message


def test_a_variable_may_fill_the_kernels_limit_for_one_string() -> None:
    longest = MAX_VALUE_BYTES - len("NAME=")
    assert check_environment([("NAME", "x" * longest)]) == []
    (problem,) = check_environment([("NAME", "x" * (longest + 1))])
    assert problem.field == "envVars[0].value"


def test_the_size_in_the_message_is_above_the_limit_in_the_message() -> None:
    name = "N" * 20
    (problem,) = check_environment([(name, "x" * (MAX_VALUE_BYTES - len(name)))])
    assert str(MAX_VALUE_BYTES) in problem.message
    assert str(MAX_VALUE_BYTES + 1) in problem.message


def test_bytes_count_not_characters() -> None:
    assert check_environment([("A", "é" * (MAX_VALUE_BYTES // 2 - 1))]) == []
    assert len(check_environment([("A", "é" * (MAX_VALUE_BYTES // 2))])) == 1


def test_all_variables_together_have_a_limit() -> None:
    pairs = [(f"N{i}", "x" * 100_000) for i in range(6)]
    (problem,) = check_environment(pairs)
    assert problem.field == "envVars"
    assert str(MAX_TOTAL_BYTES) in problem.message
    assert check_environment(pairs[:5]) == []


def test_the_number_of_variables_has_a_limit() -> None:
    pairs = [(f"N{i}", "") for i in range(MAX_VARIABLES + 1)]
    (problem,) = check_environment(pairs)
    assert (problem.field, str(MAX_VARIABLES + 1) in problem.message) == ("envVars", True)
    assert check_environment(pairs[:-1]) == []


def test_a_name_that_utf8_can_not_carry_is_a_problem_like_any_other() -> None:
    (problem,) = check_environment([("\ud800", "1")])
    assert problem.field == "envVars[0].name"


@pytest.mark.parametrize("pairs", [[("N" * 200_000, "")], [("N" * 70_000, "")] * 2], ids=["too long", "given twice"])
def test_a_long_name_is_cut_in_the_message(pairs: list[tuple[str, str]]) -> None:
    assert [p for p in check_environment(pairs) if len(p.message) > 500] == []


ANY_TEXT = st.text(st.characters(), max_size=8)


@given(st.lists(st.tuples(NAMES | ANY_TEXT, ANY_TEXT), max_size=4))
def test_any_text_is_taken_or_refused_in_words_that_can_be_shown(pairs: list[tuple[str, str]]) -> None:
    for problem in check_environment(pairs):
        assert problem.field.startswith("envVars")
        problem.message.encode()
