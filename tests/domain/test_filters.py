"""Filter expressions: what is understood, and what is said about the rest."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInputError
from app.domain.filters import (
    FIELDS,
    MAX_CONDITIONS,
    Condition,
    Operator,
    SortField,
    Value,
    parse_conditions,
    parse_search,
    search_pattern,
)
from app.domain.states import Status


def parsed(expression: str) -> tuple[str, Operator, Value | None]:
    [condition] = parse_conditions([expression])
    return condition.field.name, condition.operator, condition.value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("name!=some-workload-name", ("name", Operator.NOT_EQUAL, "some-workload-name")),
        ("gpuCount>=2", ("gpuCount", Operator.AT_LEAST, 2)),
        ("gpuCount <= +8", ("gpuCount", Operator.AT_MOST, 8)),
        ("createdAt>=2021-01-01T00:00:00Z", ("createdAt", Operator.AT_LEAST, datetime(2021, 1, 1, tzinfo=UTC))),
        ("createdAt<=2021-01-01T01:00:00+01:00", ("createdAt", Operator.AT_MOST, datetime(2021, 1, 1, tzinfo=UTC))),
        ("createdAt==2021-01-01", ("createdAt", Operator.EQUAL, datetime(2021, 1, 1, tzinfo=UTC))),
        ("status==RUNNING", ("status", Operator.EQUAL, "running")),
        ("status!=running", ("status", Operator.NOT_EQUAL, "running")),
        ("reason==Exited", ("reason", Operator.EQUAL, "exited")),
        ("succeeded==TRUE", ("succeeded", Operator.EQUAL, True)),
        ("name=@a==b", ("name", Operator.CONTAINS, "a==b")),
        ("name!@ two words ", ("name", Operator.LACKS, "two words")),
        ("imageReference=^nvidia/", ("imageReference", Operator.STARTS, "nvidia/")),
        ("imageReference=$:latest", ("imageReference", Operator.ENDS, ":latest")),
        ("exitCode==", ("exitCode", Operator.EQUAL, None)),
        ("server!=", ("server", Operator.NOT_EQUAL, None)),
        ("projectId==00000000-0000-0000-0000-000000000001", ("projectId", Operator.EQUAL, UUID(int=1))),
        ("priority>=high", ("priority", Operator.AT_LEAST, 70)),
        ("priority!=VERY_LOW", ("priority", Operator.NOT_EQUAL, 10)),
        ("priority <= very-high", ("priority", Operator.AT_MOST, 90)),
        ("preemptible==true", ("preemptible", Operator.EQUAL, True)),
        ("memoryBytes>=9223372036854775807", ("memoryBytes", Operator.AT_LEAST, 2**63 - 1)),
    ],
)
def test_expressions(expression: str, expected: tuple[str, Operator, Value | None]):
    assert parsed(expression) == expected


@pytest.mark.parametrize(
    ("expression", "position", "words"),
    [
        ("", 1, "expected a field's name, found the end"),
        ("  ==x", 3, "expected a field's name, found '==x'"),
        ("name", 5, "expected one of the operators == != <= >= =@ !@ =^ =$, found the end"),
        ("name=x", 5, "found '=x'"),
        ("name~x", 5, "found '~x'"),
        ("gpus>=2", 1, "there is no field 'gpus'; there are id, name, status"),
        ("name>=x", 5, "name is text and takes == != =@ !@ =^ =$, not >="),
        ("gpuCount=@2", 9, "gpuCount is a whole number and takes == != <= >=, not =@"),
        ("gpuCount>=", 11, ">= needs a value"),
        ("gpuCount>=two", 11, "expected a whole number, found 'two'"),
        ("gpuCount>=1.5", 11, "expected a whole number, found '1.5'"),
        ("gpuCount>=2147483648", 11, "expected a number between -2147483647 and 2147483647"),
        ("gpuCount>=٣", 11, "expected a whole number"),
        ("createdAt>=yesterday", 12, "expected an ISO 8601 time"),
        ("createdAt>=0001-01-01T00:00:00+23:59", 12, "expected an ISO 8601 time"),
        ("status==done", 9, "expected one of cancelled, completed, failed, pending, running, timeout, found 'done'"),
        ("priority==50", 11, "must be one of very low, low, medium, high, very high; it is '50'"),
        ("priority=@high", 9, "priority is one of the priorities, which are in order and takes == != <= >=, not =@"),
        ("succeeded==yes", 12, "expected true or false, found 'yes'"),
        ("id==7", 5, "expected a UUID, found '7'"),
        ("name==a\0b", 7, "no NUL"),
        ("name==" + "x" * 101, 7, "at most 100 characters"),
        ("imageReference==" + "x" * 701, 17, "at most 700 characters"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(expression: str, position: int, words: str):
    with pytest.raises(InvalidInputError) as refusal:
        parse_conditions(["name==fine", expression])
    [problem] = refusal.value.problems
    assert problem.field == "filterBy[1]"
    assert problem.message.startswith(f"at character {position}: ")
    assert words in problem.message


def test_every_wrong_expression_is_named():
    with pytest.raises(InvalidInputError) as refusal:
        parse_conditions(["x==1", "name==a", "gpuCount>=x"])
    assert [problem.field for problem in refusal.value.problems] == ["filterBy[0]", "filterBy[2]"]


def test_their_number_is_bounded():
    assert len(parse_conditions(["gpuCount>=1"] * MAX_CONDITIONS)) == MAX_CONDITIONS
    with pytest.raises(InvalidInputError, match="at most 10 expressions are taken; 11 were given"):
        parse_conditions(["gpuCount>=1"] * (MAX_CONDITIONS + 1))


@given(st.text(max_size=60) | st.from_regex(r"(name|gpuCount|createdAt|id)(==|>=|=@).{0,20}"))
def test_no_text_does_anything_but_parse_or_be_refused(expression: str):
    fields = ["filterBy[0]"]
    try:
        [condition] = parse_conditions([expression])
    except InvalidInputError as refusal:
        fields = [problem.field for problem in refusal.problems]
    else:
        assert condition.operator in condition.field.kind.operators
    assert fields == ["filterBy[0]"]


def test_search_words():
    assert parse_search("  two\twords ") == ("two", "words")
    assert parse_search("") == ()
    for text in ("x " * 9, "x" * 201, "a\0b"):
        with pytest.raises(InvalidInputError, match="search"):
            parse_search(text)


@pytest.mark.parametrize(
    ("word", "found", "not_found"),
    [
        ("études", ["Études", "ÉTUDES", "mes études"], ["etudes", "étude"]),
        ("straße", ["STRAßE"], ["STRASSE"]),
        ("a.b*[é", ["A.B*[É"], ["axb*[é", "aab[é"]),
        ("日-1", ["日-1"], ["日1"]),
    ],
)
def test_a_word_is_found_in_whatever_case(word: str, found: list[str], not_found: list[str]):
    assert all(re.search(search_pattern(word), text) for text in found)
    assert not any(re.search(search_pattern(word), text) for text in not_found)


def test_what_can_be_sorted_by_is_a_field():
    assert {by.value for by in SortField} <= set(FIELDS)


def test_a_field_without_value_is_unequal_to_everything_and_lacks_it():
    held = {op for op in Operator if Condition(FIELDS["server"], op, "gpu-1").holds(None)}
    assert held == {Operator.NOT_EQUAL, Operator.LACKS}
    assert Condition(FIELDS["status"], Operator.EQUAL, "failed").holds(Status.FAILED.value)
