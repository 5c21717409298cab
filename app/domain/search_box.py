"""What is typed into a search box: words and filter expressions together, `status==running gpuCount>=2 resnet`. Pure.

White space parts them; double quotes protect it, in a word or in a value: `"fine tune"`, `name=@"fine tune"`. Whatever
has one of = ! < > outside quotes is meant as an expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.errors import InvalidInputError, Problem
from app.domain.filters import (
    MAX_CONDITIONS,
    Condition,
    ExpressionError,
    at_character,
    check_words,
    parse_expression,
    too_many_conditions,
)

FIELD = "search"
MAX_TYPED = 2000
_QUOTE = '"'
_PART = re.compile(r'(?:[^\s"]|"[^"]*")+')
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Search:
    """What must hold and what must be found."""

    conditions: tuple[Condition, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Part:
    """`text` without its quotes; `places`, where each of its characters and its end are in what was typed."""

    text: str
    places: tuple[int, ...]
    is_expression: bool


def parse_search_box(typed: str) -> Search:
    """Raises InvalidInputError that names every wrong part by its position, and what is allowed there."""
    if len(typed) > MAX_TYPED:
        raise InvalidInputError.of(FIELD, f"at most {MAX_TYPED} characters are taken; there are {len(typed)}")
    if typed.count(_QUOTE) % 2:
        raise InvalidInputError.of(FIELD, f"{at_character(typed.rindex(_QUOTE))}: the quotation mark is never closed")
    parts = [part for part in _parts(typed) if part.text]
    words = tuple(part.text for part in parts if not part.is_expression)
    conditions = _conditions([part for part in parts if part.is_expression])
    return Search(conditions, check_words(words, len(" ".join(words))))


def _parts(typed: str) -> Iterator[_Part]:
    for found in _PART.finditer(typed):
        places = [place for place in range(*found.span()) if typed[place] != _QUOTE]
        is_expression = re.search("[=!<>]", _QUOTED.sub("", found[0])) is not None
        yield _Part("".join(typed[place] for place in places), (*places, found.end()), is_expression)


def _conditions(parts: list[_Part]) -> tuple[Condition, ...]:
    conditions: list[Condition] = []
    problems: list[Problem] = []
    for part in parts:
        try:
            conditions.append(parse_expression(part.text))
        except ExpressionError as error:
            problems.append(Problem(FIELD, f"{at_character(part.places[error.position])}: {error.words}"))
    if problems:
        raise InvalidInputError(tuple(problems))
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidInputError.of(FIELD, too_many_conditions(len(conditions)))
    return tuple(conditions)
