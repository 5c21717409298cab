"""The search box: what is taken as a word, what as an expression, and where what is wrong is said to be."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInputError
from app.domain.filters import MAX_CONDITIONS, MAX_SEARCH_WORDS, parse_conditions
from app.domain.search_box import MAX_TYPED, Search, parse_search_box


def problems(typed: str) -> list[str]:
    with pytest.raises(InvalidInputError) as caught:
        parse_search_box(typed)
    return [problem.message for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("typed", "expressions", "words"),
    [
        ("", [], ()),
        ("  \n ", [], ()),
        ("resnet  bob@example.org", [], ("resnet", "bob@example.org")),
        ("status==running gpuCount>=2 name=@train", ["status==running", "gpuCount>=2", "name=@train"], ()),
        ("resnet status==RUNNING gpu-1", ["status==RUNNING"], ("resnet", "gpu-1")),
        ('"fine tune" x', [], ("fine tune", "x")),
        ('name=@"fine tune"', ["name=@fine tune"], ()),
        ('"name=@fine tune"', [], ("name=@fine tune",)),
        ('"a=b" exitCode== server!=', ["exitCode==", "server!="], ("a=b",)),
        ('exitCode=="" ""', ["exitCode=="], ()),
        ("ghcr.io/acme/x:1@sha256 it's", [], ("ghcr.io/acme/x:1@sha256", "it's")),
        ("name=@a==b", ["name=@a==b"], ()),
    ],
)
def test_words_and_expressions(typed: str, expressions: list[str], words: tuple[str, ...]):
    assert parse_search_box(typed) == Search(parse_conditions(expressions), words)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("status=running", "at character 7: expected one of the operators == != <= >= =@ !@ =^ =$, found '=running'"),
        ("x gpuCount >= 2", "at character 12: expected a field's name, found '>='"),
        ("resnet gpus>=2", "at character 8: there is no field 'gpus'; there are id, name"),
        ("resnet status>=2", "at character 14: status is one of its enum's values and takes == !="),
        ("a gpuCount>=two", "at character 13: expected a whole number, found 'two'"),
        ('"a b" name=@', "at character 13: =@ needs a value"),
        ('name=@"x" gpuCount>="2 3"', "at character 22: expected a whole number, found '2 3'"),
        ('ab "cd', "at character 4: the quotation mark is never closed"),
    ],
)
def test_what_is_wrong_is_named_by_its_place_in_the_box(typed: str, said: str):
    [found] = problems(typed)
    assert found.startswith(said)


def test_everything_that_is_wrong_is_named_at_once():
    assert [said.split(":")[0] for said in problems("a=1 resnet b==2")] == ["at character 2", "at character 12"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("x" * (MAX_TYPED + 1), f"at most {MAX_TYPED} characters"),
        ("gpuCount>=1 " * (MAX_CONDITIONS + 1), f"at most {MAX_CONDITIONS} expressions"),
        ("x " * (MAX_SEARCH_WORDS + 1), f"at most {MAX_SEARCH_WORDS} words"),
        ("a\0b", "without NUL"),
    ],
)
def test_limits(typed: str, said: str):
    assert said in problems(typed)[0]
