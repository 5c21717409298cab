"""Every query and mutation of the schema with documents and inputs that nobody wrote down, by who may and may not.

schemathesis makes the documents, valid ones and such that don't fit the schema; `MEANINGFUL` puts names of this world
into them, so that not all end at an organization that there is not. Whatever is asked: an answer in GraphQL's shape, in
time, and never an incident.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import graphql
import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.graphql import nodes

from app.domain.errors import DomainError
from app.store.database import opened
from tests.api.world import CANCEL, Api, build_api, populate
from tests.clock import ManualClock
from tests.depth import examples
from tests.store.builders import a_stored_workload

SDL = Path(__file__).parents[2] / "graphql" / "schema.graphql"
SCHEMA = graphql.build_schema(SDL.read_text())
CALLERS = ("owner", "viewer", None)
PATIENCE = 10  # seconds for one answer, on however busy a machine
ACCEPTED = ("application/json", "application/graphql-response+json")
CODES = {
    *(kind.code for kind in DomainError.__subclasses__()),
    "GRAPHQL_PARSE_FAILED",
    "GRAPHQL_VALIDATION_FAILED",
    "TOO_COMPLEX",
}
REFERENCES = (
    "@pending",
    "@ended",
    "@project",
    "@token",
    "@server",
)  # of what the world has
MEANINGFUL = {
    "organization": ('"acme"', '"paused"', '"empty"', '"other"'),
    "slug": ('"acme"', '"vision"', '"a"'),
    "email": ('"member@example.org"',),
    "filterBy": ('["gpuCount>=1"]', '["name=@a", "server=="]', '["exitCode!="]'),
    "image": ('"busybox:1.36"',),
    "first": ("1", "500"),
    "offset": ("1",),
    "version": ("1",),
    "gpuCount": ("1", "2"),
    "after": ("null",),
}

IDS = st.sampled_from(REFERENCES) | st.uuids().map(str) | st.text(max_size=40)
LONGS = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
for name, values in {
    "UUID": IDS.map(nodes.String),
    "Long": LONGS.map(nodes.Int),
    "DateTime": MOMENTS.map(nodes.String),
}.items():
    schemathesis.graphql.scalar(name, values)
OPERATIONS = {
    found.ok().label: found.ok()
    for found in schemathesis.graphql.from_path(SDL).get_all_operations()
    if isinstance(found, Ok)
}
MUTATIONS = sorted(label.partition(".")[2] for label in OPERATIONS if label.startswith("Mutation."))


def few(short: int) -> settings:
    """The same examples in each run. Nothing is shrunk in what leaves its traces in a database."""
    return settings(
        max_examples=examples(short),
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@dataclass
class World:
    """The app on a database of its own, asked from tests that know no event loop."""

    runner: asyncio.Runner
    api: Api
    ids: dict[str, UUID] = field(default_factory=dict)

    def answers(self, body: str, accept: str) -> None:
        """Send the same to all callers and look at what comes back."""
        for name, found in self.ids.items():
            body = body.replace(name, str(found))
        for who in CALLERS:
            began = time.monotonic()
            response = self.runner.run(self._post(body, accept, who))
            assert time.monotonic() - began < PATIENCE, body
            complaint = complaint_about(response, accept, is_known=who is not None)
            assert not complaint, f"{complaint}\n{who} got {response.status_code} {response.text}\nfor {body}"

    async def _post(self, body: str, accept: str, who: str | None) -> httpx2.Response:
        async with self.api.client(who, **{"content-type": "application/json", "accept": accept}) as client:
            return await client.post("/graphql", content=body)


@pytest.fixture
def world(sqlite_url: str, clock: ManualClock) -> Iterator[World]:
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        yield runner.run(made(runner, sqlite_url, clock, stack))
        runner.run(stack.aclose())


async def made(runner: asyncio.Runner, url: str, clock: ManualClock, stack: AsyncExitStack) -> World:
    await stack.enter_async_context(opened(url))
    api = build_api(clock)
    await populate(api)
    pending, ended = [await a_stored_workload(api.organizations["acme"]) for _ in range(2)]
    await api.data(CANCEL, {"id": str(ended.id)})
    [server, *_] = (await api.data('{ organization(slug: "acme") { servers { id } } }'))["organization"]["servers"]
    found = [pending.id, ended.id, api.projects["vision"].id, api.token_ids["service"], UUID(server["id"])]
    return World(runner, api, dict(zip(REFERENCES, found, strict=True)))


def complaint_about(response: httpx2.Response, accept: str, *, is_known: bool) -> str | None:
    """What is wrong with an answer to a well-formed request, whatever was asked."""
    answer = response.json()
    errors = answer.get("errors", [])
    codes = {error.get("extensions", {}).get("code") for error in errors}
    is_executed = "data" in answer
    wanted = 200 if is_executed or accept == ACCEPTED[0] else 400
    complaints = {
        f"status {wanted} was wanted": response.status_code != wanted,
        "the type of the answer": response.headers["content-type"] != f"{accept}; charset=utf-8",
        "members that no answer has": not answer.keys() <= {"data", "errors", "extensions"},
        "neither data nor errors": not is_executed and not errors,
        "an empty list of errors": "errors" in answer and not errors,
        "a code that is not documented": not codes <= CODES,
        "an error without words": not all(error["message"] for error in errors),
        "members that no error has": any(e.keys() - {"message", "locations", "path", "extensions"} for e in errors),
        "data for nobody": not is_known and (not errors or any((answer.get("data") or {}).values())),
    }
    return next((words for words, is_true in complaints.items() if is_true), None)


@pytest.mark.parametrize("label", OPERATIONS)
def test_any_document_is_answered(world: World, label: str):
    operation = OPERATIONS[label]
    documents = operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @few(20)
    @given(documents.map(lambda case: case.body), st.integers(0, 2**32), st.sampled_from(ACCEPTED))
    def ask(document: str, seed: int, accept: str) -> None:
        world.answers(json.dumps({"query": meaningful(document, Random(seed))}), accept)  # noqa: S311

    ask()


class Meaning(graphql.Visitor):
    """Puts values that mean something in most of the places where there are some."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random

    def enter(self, node: graphql.Node, *_: Any) -> graphql.Node | None:
        if not isinstance(node, graphql.ArgumentNode | graphql.ObjectFieldNode) or node.name.value not in MEANINGFUL:
            return None
        if self.random.random() < 0.2:
            return None
        value = graphql.parse_value(self.random.choice(MEANINGFUL[node.name.value]))
        return type(node)(name=node.name, value=value)


def meaningful(document: str, random: Random) -> str:
    return graphql.print_ast(graphql.visit(graphql.parse(document), Meaning(random)))


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30)
    | IDS
    | st.just(2**31)
    | st.just("1"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def inputs(of: graphql.GraphQLInputType) -> SearchStrategy[Any]:
    """JSON of the type's shape, with something else in some of its places."""
    if isinstance(of, graphql.GraphQLNonNull):
        return inputs(of.of_type)
    if isinstance(of, graphql.GraphQLList):
        return ANY_JSON | st.lists(inputs(of.of_type), max_size=3)
    if isinstance(of, graphql.GraphQLInputObjectType):
        required = {name: inputs(f.type) for name, f in of.fields.items() if graphql.is_required_input_field(f)}
        optional = {name: inputs(f.type) for name, f in of.fields.items() if name not in required}
        return st.fixed_dictionaries(required, optional=optional)
    if isinstance(of, graphql.GraphQLEnumType):
        return ANY_JSON | st.sampled_from(list(of.values))
    shaped: dict[str, SearchStrategy[Any]] = {
        "Int": st.integers(-1, 10),
        "String": st.sampled_from(["acme", "busybox:1.36", "member@example.org", "vision"]) | st.text(max_size=8),
        "Boolean": st.booleans(),
        "Float": st.floats(0, 100),
        "Long": LONGS,
        "DateTime": MOMENTS,
        "UUID": st.sampled_from(REFERENCES),
    }
    return ANY_JSON | shaped[of.name]


@pytest.mark.parametrize("name", MUTATIONS)
def test_any_input_is_answered(world: World, name: str):
    assert SCHEMA.mutation_type
    wanted = SCHEMA.mutation_type.fields[name].args["input"].type
    document = f"mutation($input: {wanted}) {{ {name}(input: $input) {{ __typename }} }}"

    @few(20)
    @given(inputs(wanted), st.sampled_from(ACCEPTED))
    def ask(given_input: Any, accept: str) -> None:
        world.answers(json.dumps({"query": document, "variables": {"input": given_input}}), accept)

    ask()
