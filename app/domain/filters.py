"""Filters and orders of the workload list: `filterBy: ["gpuCount>=2", "name=@train"]`, read into conditions. Pure.

An expression is a field, an operator and a value; several must all hold. The store turns conditions into SQL, and
`Condition.holds` says what they mean. A field without a value equals nothing but the empty value: `exitCode==` finds
what has no exit code yet, and `exitCode!=0` finds it as well. Text is compared case by case, enum values in either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from app.domain.errors import InvalidInputError, Problem
from app.domain.priority import parse_priority
from app.domain.states import Phase, Reason, Status

MAX_CONDITIONS = 10
MAX_VALUE = 700  # characters: the longest listed text is an image reference
MAX_SEARCH = 200
MAX_SEARCH_WORDS = 5
_INT32, _INT64 = 2**31 - 1, 2**63 - 1

Value = str | int | bool | datetime | UUID


class Operator(StrEnum):
    EQUAL = "=="
    NOT_EQUAL = "!="
    AT_MOST = "<="
    AT_LEAST = ">="
    CONTAINS = "=@"
    LACKS = "!@"
    STARTS = "=^"
    ENDS = "=$"


_EQUALITY = (Operator.EQUAL, Operator.NOT_EQUAL)
_ORDERED = (*_EQUALITY, Operator.AT_MOST, Operator.AT_LEAST)
_TEXTUAL = (*_EQUALITY, Operator.CONTAINS, Operator.LACKS, Operator.STARTS, Operator.ENDS)
_EXPRESSION = re.compile(r"\s*([A-Za-z][A-Za-z0-9]*)\s*(==|!=|<=|>=|=@|!@|=\^|=\$)(.*)", re.DOTALL)


class Kind(StrEnum):
    """What a field holds."""

    TEXT = "text"
    NUMBER = "a whole number"
    BOOLEAN = "true or false"
    MOMENT = "an ISO 8601 time, in UTC unless it names its offset"
    ID = "a UUID"
    CHOICE = "one of its enum's values"
    PRIORITY = "one of the priorities, which are in order"

    @property
    def operators(self) -> tuple[Operator, ...]:
        if self is Kind.TEXT:
            return _TEXTUAL
        return _ORDERED if self in (Kind.NUMBER, Kind.MOMENT, Kind.PRIORITY) else _EQUALITY


@dataclass(frozen=True)
class ListField:
    """A field that a list can be filtered by. `largest` bounds a number, `longest` a text, both as they are stored;
    `choices` are an enum's values.
    """

    name: str
    kind: Kind
    largest: int = _INT32
    longest: int = MAX_VALUE
    choices: frozenset[str] = frozenset()


def choice_field(name: str, values: Iterable[StrEnum]) -> ListField:
    """A field that holds one of an enum's values."""
    return ListField(name, Kind.CHOICE, choices=frozenset(value.value for value in values))


_FIELDS = (
    ListField("id", Kind.ID),
    ListField("name", Kind.TEXT, longest=100),
    choice_field("status", Status),
    choice_field("phase", Phase),
    choice_field("reason", Reason),
    ListField("message", Kind.TEXT),
    ListField("imageReference", Kind.TEXT),
    ListField("gpuCount", Kind.NUMBER),
    ListField("cpuMillis", Kind.NUMBER, largest=_INT64),
    ListField("memoryBytes", Kind.NUMBER, largest=_INT64),
    ListField("timeoutSeconds", Kind.NUMBER),
    ListField("startTimeoutSeconds", Kind.NUMBER),
    ListField("queueTimeoutSeconds", Kind.NUMBER),
    ListField("maxRetries", Kind.NUMBER),
    ListField("retriesUsed", Kind.NUMBER),
    ListField("attempt", Kind.NUMBER),
    ListField("exitCode", Kind.NUMBER),
    ListField("succeeded", Kind.BOOLEAN),
    ListField("priority", Kind.PRIORITY),
    ListField("preemptible", Kind.BOOLEAN),
    ListField("server", Kind.TEXT, longest=253),
    ListField("cluster", Kind.TEXT, longest=63),
    ListField("projectId", Kind.ID),
    ListField("project", Kind.TEXT, longest=63),
    ListField("submittedBy", Kind.TEXT, longest=254),
    ListField("createdAt", Kind.MOMENT),
    ListField("startedAt", Kind.MOMENT),
    ListField("completedAt", Kind.MOMENT),
    ListField("cancelRequestedAt", Kind.MOMENT),
    ListField("deletedAt", Kind.MOMENT),
    ListField("retryOf", Kind.ID),
)
FIELDS: Mapping[str, ListField] = {field.name: field for field in _FIELDS}


class SortField(StrEnum):
    """What the list can be sorted by."""

    ID = "id"
    NAME = "name"
    STATUS = "status"
    PHASE = "phase"
    REASON = "reason"
    IMAGE_REFERENCE = "imageReference"
    GPU_COUNT = "gpuCount"
    CPU_MILLIS = "cpuMillis"
    MEMORY_BYTES = "memoryBytes"
    TIMEOUT_SECONDS = "timeoutSeconds"
    START_TIMEOUT_SECONDS = "startTimeoutSeconds"
    QUEUE_TIMEOUT_SECONDS = "queueTimeoutSeconds"
    MAX_RETRIES = "maxRetries"
    PRIORITY = "priority"
    PREEMPTIBLE = "preemptible"
    RETRIES_USED = "retriesUsed"
    ATTEMPT = "attempt"
    EXIT_CODE = "exitCode"
    SERVER = "server"
    CLUSTER = "cluster"
    PROJECT = "project"
    SUBMITTED_BY = "submittedBy"
    CREATED_AT = "createdAt"
    STARTED_AT = "startedAt"
    COMPLETED_AT = "completedAt"
    CANCEL_REQUESTED_AT = "cancelRequestedAt"
    DELETED_AT = "deletedAt"

    @property
    def meaning(self) -> str:
        return f"by the field {self.value}"


@dataclass(frozen=True)
class Condition:
    """`value` None is the empty value: nothing there."""

    field: ListField
    operator: Operator
    value: Value | None

    def holds(self, found: Value | None) -> bool:
        """Whether it is met where the field has `found`; None where the field has no value."""
        found = found if found != "" else None
        if self.operator is Operator.EQUAL:
            return found == self.value
        if self.operator is Operator.NOT_EQUAL:
            return found != self.value
        if found is None:
            return self.operator is Operator.LACKS
        return _compares(self.operator, found, self.value)


def _compares(operator: Operator, found: Value, value: Value | None) -> bool:
    if isinstance(found, str):
        text = str(value or "")
        return {
            Operator.CONTAINS: text in found,
            Operator.LACKS: text not in found,
            Operator.STARTS: found.startswith(text),
            Operator.ENDS: found.endswith(text),
        }[operator]
    low, high = (found, value) if operator is Operator.AT_MOST else (value, found)
    return _at_most(low, high)


def _at_most(low: Value | None, high: Value | None) -> bool:
    """Of two values of one field: both numbers or both times."""
    if isinstance(low, datetime) and isinstance(high, datetime):
        return low <= high
    return isinstance(low, int) and isinstance(high, int) and low <= high


@dataclass(frozen=True)
class Order:
    """By one field, ties by id; what has no value comes last in both directions."""

    by: SortField
    is_descending: bool = False

    @property
    def field(self) -> ListField:
        return FIELDS[self.by]


NEWEST = Order(SortField.CREATED_AT, is_descending=True)


def parse_conditions(expressions: Sequence[str], fields: Mapping[str, ListField] = FIELDS) -> tuple[Condition, ...]:
    """Read `filterBy`. Raises InvalidInputError with every wrong expression, the position in it and what is allowed."""
    if len(expressions) > MAX_CONDITIONS:
        raise InvalidInputError.of("filterBy", too_many_conditions(len(expressions)))
    conditions: list[Condition] = []
    problems: list[Problem] = []
    for index, expression in enumerate(expressions):
        try:
            conditions.append(parse_expression(expression, fields))
        except ExpressionError as error:
            problems.append(Problem(f"filterBy[{index}]", str(error)))
    if problems:
        raise InvalidInputError(tuple(problems))
    return tuple(conditions)


def parse_search(text: str) -> tuple[str, ...]:
    """The words that must all be found, in whatever case. Raises InvalidInputError."""
    return check_words(text.split(), len(text))


def check_words(words: Sequence[str], length: int) -> tuple[str, ...]:
    """The words, if they are few enough. Raises InvalidInputError; `length` is of all that was given."""
    if length > MAX_SEARCH or len(words) > MAX_SEARCH_WORDS or any("\0" in word for word in words):
        limits = f"at most {MAX_SEARCH_WORDS} words and {MAX_SEARCH} characters, without NUL, are searched for"
        raise InvalidInputError.of("search", f"{limits}; there are {len(words)} words and {length} characters")
    return tuple(words)


def search_pattern(word: str) -> str:
    """A regular expression, read alike by Python and PostgreSQL, for a text that has the word in whatever case."""
    return "".join(map(_in_either_case, word))


def can_be_ascii(word: str) -> bool:
    """Whether a text of ASCII alone may have the word in some case, as I is that of the dotless i."""
    return all(any(map(str.isascii, _cases(character))) for character in word)


def _cases(character: str) -> list[str]:
    """Where the other case is several characters, as that of ß, only the character itself."""
    return sorted({case for case in (character, character.lower(), character.upper()) if len(case) == 1})


def _in_either_case(character: str) -> str:
    cases = _cases(character)
    if len(cases) > 1:
        return f"[{''.join(cases)}]"
    return character if character.isalnum() or not character.isascii() else f"\\{character}"


def too_many_conditions(count: int) -> str:
    return f"at most {MAX_CONDITIONS} expressions are taken; {count} were given"


class ExpressionError(ValueError):
    """No expression, or of no field. `position` counts from 0 in what was given; `words` say what is allowed there."""

    def __init__(self, position: int, words: str) -> None:
        super().__init__(f"{at_character(position)}: {words}")
        self.position = position
        self.words = words


def at_character(position: int) -> str:
    return f"at character {position + 1}"


def parse_expression(expression: str, fields: Mapping[str, ListField] = FIELDS) -> Condition:
    """Read one expression. Raises ExpressionError."""
    match = _EXPRESSION.fullmatch(expression)
    if match is None:
        raise _no_expression(expression)
    name, operator, text = match[1], Operator(match[2]), match[3].strip()
    field = fields.get(name)
    if field is None:
        raise ExpressionError(match.start(1), f"there is no field {name[:60]!r}; there are {', '.join(fields)}")
    if operator not in field.kind.operators:
        allowed = " ".join(field.kind.operators)
        raise ExpressionError(match.start(2), f"{name} is {field.kind} and takes {allowed}, not {operator}")
    if not text and operator not in _EQUALITY:
        raise ExpressionError(match.start(3), f"{operator} needs a value")
    try:
        return Condition(field, operator, _value(field, text) if text else None)
    except ValueError as error:
        raise ExpressionError(match.start(3), str(error)) from None


def _no_expression(expression: str) -> ExpressionError:
    name = re.match(r"\s*([A-Za-z][A-Za-z0-9]*\s*)?", expression)
    position = name.end() if name else 0
    wanted = f"one of the operators {' '.join(Operator)}" if name and name[1] else "a field's name"
    found = repr(expression[position : position + 20]) if expression[position:] else "the end"
    return ExpressionError(position, f"expected {wanted}, found {found}; an expression is <field><operator><value>")


def _value(field: ListField, text: str) -> Value:
    """Raises ValueError."""
    if field.kind is Kind.TEXT:
        return _text(text, field.longest)
    if field.kind is Kind.NUMBER:
        return _number(text, field.largest)
    return _of_choices(field, text) if field.kind is Kind.CHOICE else _READ[field.kind](text)


def _text(text: str, longest: int) -> str:
    if len(text) > longest or "\0" in text:
        raise ValueError(f"the value may have at most {longest} characters and no NUL")
    return text


def _number(text: str, largest: int) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        raise ValueError(f"expected {Kind.NUMBER}, found {text[:40]!r}")
    number = int(text)
    if not -largest <= number <= largest:
        raise ValueError(f"expected a number between -{largest} and {largest}, found {text[:40]}")
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"expected {Kind.BOOLEAN}, found {text[:40]!r}")
    return text.lower() == "true"


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"expected {Kind.MOMENT}, as 2026-01-31T08:00:00Z, found {text[:40]!r}") from None


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError(f"expected {Kind.ID}, found {text[:40]!r}") from None


def _of_choices(field: ListField, text: str) -> str:
    """By the enum's value or its GraphQL name: TIMEOUT, timeout; RUN_TIMEOUT, run_timeout."""
    folded = text.lower()
    found = next((choice for choice in field.choices if choice.lower() == folded), None)
    if found is None:
        raise ValueError(f"expected one of {', '.join(sorted(field.choices))}, found {text[:40]!r}")
    return found


_READ: Mapping[Kind, Callable[[str], Value]] = {
    Kind.BOOLEAN: _boolean,
    Kind.MOMENT: _moment,
    Kind.ID: _id,
    Kind.PRIORITY: lambda text: int(parse_priority(text)),
}
