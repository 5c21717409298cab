"""The schema as its readers have it: everything described, enums whole."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    get_introspection_query,
    is_introspection_type,
    is_specified_scalar_type,
)

from app.domain.people import Role, Scope
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType
from app.graphql.schema import schema
from tests.api.world import Api


def our_types() -> list[GraphQLNamedType]:
    return [
        each
        for each in schema._schema.type_map.values()
        if not is_introspection_type(each) and not is_specified_scalar_type(each)
    ]


def described(of: GraphQLNamedType) -> Iterator[tuple[str, str | None]]:
    """Every place that a reader meets, and what is said there."""
    yield of.name, of.description
    if isinstance(of, GraphQLEnumType):
        yield from ((f"{of.name}.{name}", value.description) for name, value in of.values.items())
    if isinstance(of, GraphQLInputObjectType):
        yield from ((f"{of.name}.{name}", field.description) for name, field in of.fields.items())
    if isinstance(of, GraphQLObjectType):
        for name, field in of.fields.items():
            yield f"{of.name}.{name}", field.description
            yield from ((f"{of.name}.{name}({a}:)", argument.description) for a, argument in field.args.items())


def test_everything_is_described():
    places = [place for each in our_types() for place in described(each)]
    assert len(places) > 150
    assert [where for where, words in places if not words] == []


def test_descriptions_are_sentences():
    places = [place for each in our_types() for place in described(each) if each.name != "DateTime"]
    assert [where for where, words in places if words and not (words[0].isupper() or words[0] == "`")] == []
    assert [where for where, words in places if words and not words.endswith(".")] == []


@pytest.mark.parametrize(
    ("name", "enum"),
    [
        ("WorkloadStatus", Status),
        ("WorkloadPhase", Phase),
        ("WorkloadReason", Reason),
        ("WorkloadEventType", EventType),
        ("Role", Role),
        ("TokenScope", Scope),
    ],
)
def test_an_enum_has_every_member_of_the_domains(name: str, enum: type[StrEnum]):
    shown = schema._schema.type_map[name]
    assert isinstance(shown, GraphQLEnumType)
    assert list(shown.values) == [member.name for member in enum]


async def test_tools_can_read_the_schema_without_a_token(api: Api):
    answer = await api.ask(get_introspection_query(descriptions=True, input_value_deprecation=True), who=None)
    assert "errors" not in answer
    assert {each["name"] for each in answer["data"]["__schema"]["types"]} >= {"Workload", "SubmitWorkloadInput"}
