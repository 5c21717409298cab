"""What a schema changes of the released one, and what is to be said about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import graphql
from graphql.utilities import BreakingChangeType, DangerousChangeType, find_schema_changes

WHAT_TO_DO = (
    "these changes break clients of the released schema. Deprecate first (docs/graphql.md, 'What stays'); if the break "
    "is meant, record it in graphql/breaks.toml with the reason and the words of CHANGELOG.md that tell of it"
)
DEPRECATION = re.compile(r"Use `(?P<replacement>[\w.]+)`.*\. May go from \d+\.\d+\.\d+\.", re.DOTALL)


@dataclass(frozen=True)
class Break:
    """An entry of graphql/breaks.toml."""

    change: str
    reason: str
    changelog: str


def complaints(released: str, current: str, meant: Sequence[Break], unreleased: str) -> list[str]:
    """What `make check` has to say: breaks that nobody recorded, and records that don't hold.

    `released` and `current` are SDL, `unreleased` the part of the changelog about what is not released yet.
    """
    found = [change.description for change in changes(released, current, BreakingChangeType)]
    recorded = {entry.change for entry in meant}
    return [
        *(f"  {change}" for change in found if change not in recorded),
        *(f"  graphql/breaks.toml: no such break (any more), remove it: {c}" for c in sorted(recorded - set(found))),
        *(f"  graphql/breaks.toml: say why: {entry.change}" for entry in meant if not entry.reason.strip()),
        *(
            f"  graphql/breaks.toml: CHANGELOG.md says nothing like {entry.changelog!r} as Unreleased: {entry.change}"
            for entry in meant
            if not entry.changelog.strip() or entry.changelog not in unreleased
        ),
    ]


def dangers(released: str, current: str) -> list[str]:
    """Changes that a client may stumble over though it asks for nothing that is gone, such as new enum values."""
    return [f"  {change.description}" for change in changes(released, current, DangerousChangeType)]


def changes(released: str, current: str, kind: type) -> list[graphql.utilities.SchemaChange]:
    found = find_schema_changes(graphql.build_schema(released), graphql.build_schema(current))
    return [change for change in found if isinstance(change.type, kind)]


def vague_deprecations(sdl: str) -> list[str]:
    """Deprecated members whose reason names no replacement that exists, or no version from which they may go."""
    schema = graphql.build_schema(sdl)
    return [
        f"  {place}: {reason!r}"
        for place, reason in deprecations(schema)
        if not (said := DEPRECATION.fullmatch(reason)) or not exists(schema, said["replacement"])
    ]


def deprecations(schema: graphql.GraphQLSchema) -> Iterator[tuple[str, str]]:
    """Every deprecated field, argument, input field and enum value, with the reason given."""
    for type_name, of in schema.type_map.items():
        if graphql.is_introspection_type(of):
            continue
        for name, member in members(of).items():
            if member.deprecation_reason:
                yield f"{type_name}.{name}", member.deprecation_reason
            for argument, given in getattr(member, "args", {}).items():
                if given.deprecation_reason:
                    yield f"{type_name}.{name}({argument}:)", given.deprecation_reason


def members(of: graphql.GraphQLNamedType) -> dict[str, graphql.GraphQLField | graphql.GraphQLEnumValue]:
    return getattr(of, "values", None) or getattr(of, "fields", {})


def exists(schema: graphql.GraphQLSchema, place: str) -> bool:
    """`Workload`, `Workload.server`, `WorkloadStatus.PENDING`."""
    type_name, _, name = place.partition(".")
    of = schema.type_map.get(type_name)
    return of is not None and (not name or name in members(of))
