"""What a client learns of an error: everything that it may act on, and of an incident its number only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import pytest
import strawberry
import structlog
from strawberry.extensions import SchemaExtension
from structlog.testing import capture_logs

from app.domain.server import ServerId
from app.graphql.context import RequestContext, Services
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.errors import EdgeErrors
from app.graphql.schema import schema
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.reconcile.claims import Claims
from tests.api.talk import answer_to
from tests.api.world import EVENTS, Api, secret

SERVERS = '{ organization(slug: "acme") { slug servers { name } } }'
SECRET = "password=hunter2"


class BrokenBoard(Board):
    def servers(self) -> dict[ServerId, ServerCapacity]:
        raise RuntimeError(SECRET)


@pytest.fixture
def broken(api: Api) -> Api:
    """The same app, whose board fails."""
    board, it = BrokenBoard(api.background.clusters, Claims({})), api.services
    services = Services(it.commands, board, it.logs, it.forecaster)
    return replace(api, web=GraphQLEndpoint(schema, services), services=services)


@pytest.fixture(autouse=True)
def _plain_log() -> Iterator[None]:
    yield
    structlog.reset_defaults()


async def test_an_unexpected_error_is_masked_and_logged_under_its_number(broken: Api):
    with capture_logs() as logged:
        answer = await broken.ask(SERVERS)
    [error] = answer["errors"]
    incident = error["extensions"]["incident"]
    assert error["extensions"] == {"code": "INTERNAL", "incident": incident}
    assert error["path"] == ["organization", "servers"]
    assert incident in error["message"]
    assert SECRET not in str(answer)
    [entry] = logged
    assert (entry["log_level"], entry["incident"]) == ("error", incident)
    assert entry["path"] == ["organization", "servers"]
    assert str(entry["exc_info"]) == SECRET


async def test_each_incident_has_its_own_number(broken: Api):
    with capture_logs():
        errors = [await broken.refusal(SERVERS) for _ in range(2)]
    assert errors[0]["incident"] != errors[1]["incident"]


def iter_that_fails() -> Iterator[None]:
    raise RuntimeError(SECRET)


class BrokenServices(Services):
    @cached_property
    def feeds(self) -> NoReturn:
        raise RuntimeError(SECRET)


async def test_an_unexpected_error_of_a_subscription_is_masked_too(api: Api):
    it = api.services
    broken = BrokenServices(it.commands, it.board, it.logs, it.forecaster)
    context = RequestContext(broken, f"Bearer {secret('admin')}")
    with capture_logs() as logged:
        [result] = [r async for r in await schema.stream(EVENTS, {"org": "acme"}, context)]
    assert "something went wrong here" in str(result)
    assert SECRET not in str(result)
    assert [str(entry["exc_info"]) for entry in logged] == [SECRET]


async def test_what_an_extension_raises_is_masked_too():
    class Broken(SchemaExtension):
        def on_validate(self) -> Iterator[None]:
            yield from iter_that_fails()

    @strawberry.type
    class Query:
        name: str = "x"

    with capture_logs() as logged:
        result = await strawberry.Schema(Query, extensions=[EdgeErrors, Broken]).execute("{ name }")
    assert result.errors is not None
    assert SECRET not in str(result.errors)
    assert [str(entry["exc_info"]) for entry in logged] == [SECRET]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("{ viewer {", "Syntax Error: Expected Name, found <EOF>."),
        ("{ viewer { nothing } }", "Cannot query field 'nothing' on type 'Viewer'."),
        ("{ organization { name } }", "Argument 'Query.organization(slug:)' of type 'String!' is required"),
        ("query($a: Int!) { viewer { name } }", "'$a'"),
        ('{ organization(slug: "acme") { workload(id: "x") { id } } }', "Value cannot represent a UUID"),
        ('{ organization(slug: "acme") { workloads(status: [pending]) { totalCount } } }', "'WorkloadStatus' enum"),
        ('{ organization(slug: "acme") { workloads(first: ' + "1" * 5000 + ") { totalCount } } }", "4300 digits"),
        ("{ viewer { name name: email } }", "conflict"),
    ],
)
async def test_an_error_of_the_request_passes_as_it_is(api: Api, query: str, words: str):
    with capture_logs() as logged:
        errors = (await api.ask(query))["errors"]
    assert words in errors[0]["message"]
    assert logged == []


async def test_a_domain_error_is_no_incident(api: Api):
    with capture_logs() as logged:
        error = await api.refuse_submit(image="")
    assert error["code"] == "BAD_USER_INPUT"
    assert error["fields"] == [{"field": "image", "message": error["message"].removeprefix("image: ")}]
    assert logged == []


async def test_over_a_socket_errors_are_the_same(ws_url: str):
    kind, payload = await answer_to(ws_url, '{ organization(slug: "nowhere") { name } }')
    assert kind == "next"
    assert payload["data"] == {"organization": None}
    assert payload["errors"][0]["extensions"] == {"code": "NOT_FOUND"}


async def test_a_part_that_is_refused_leaves_the_others(api: Api):
    answer = await api.ask(
        '{ viewer { name } a: organization(slug: "nowhere") { name } b: organization(slug: "acme") { name } }'
    )
    assert answer["data"] == {"viewer": {"name": "admin@example.org"}, "a": None, "b": {"name": "Acme"}}
    assert [error["path"] for error in answer["errors"]] == [["a"]]


def test_no_secret_is_in_the_repr_of_a_request(api: Api):
    header = f"Bearer {secret('admin')}"
    context = RequestContext(api.services, header, connection_params={"authorization": header})
    assert secret("admin") not in repr(context)


GETS: list[tuple[dict[str, Any], int]] = [
    ({"query": "{ viewer { name } }"}, 200),
    ({"query": "query($s: String!) { organization(slug: $s) { name } }", "variables": '{"s": "acme"}'}, 200),
    ({"query": "{ viewer { name } }", "variables": "["}, 400),
    ({"query": "{ viewer { name } }", "variables": "[]"}, 400),
    ({"query": 'mutation { cancelWorkload(input: {id: "x"}) { workload { id } } }'}, 405),
    ({"query": "subscription { nothing }"}, 400),
    ({}, 400),
    ({"query": "{ viewer { name } }", "documentId": "Viewer"}, 400),
    ({"documentId": "Nothing"}, 400),
]


@pytest.mark.parametrize(("parameters", "status"), GETS, ids=range(len(GETS)))
async def test_by_get_only_queries_are_answered(api: Api, parameters: dict[str, Any], status: int):
    async with api.client() as client:
        answer = await client.get("/graphql", params=parameters)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json; charset=utf-8")
    assert ("errors" in answer.json()) == (status != 200)


async def test_a_browser_that_looks_is_told_what_is_missing(api: Api):
    async with api.client() as client:
        answer = await client.get("/graphql", headers={"accept": "text/html,*/*;q=0.8"})
    assert answer.json()["errors"][0]["message"] == "the request has no `query`"


async def test_a_mutation_by_get_is_refused_in_words(api: Api):
    async with api.client() as client:
        answer = await client.get("/graphql", params={"query": "mutation { cancelWorkload { workload { id } } }"})
    assert answer.json()["errors"][0]["message"] == "a mutation must be sent by POST"
    assert answer.headers["allow"] == "POST"


async def test_a_subscription_by_post_is_refused_in_words(api: Api):
    answer = await api.post({"query": 'subscription { workloadEvents(organization: "acme") { cursor } }'})
    assert (
        "needs `Accept: text/event-stream` or a WebSocket that speaks graphql-transport-ws"
        in answer.json()["errors"][0]["message"]
    )


@pytest.mark.parametrize(
    "content_type", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", ""]
)
async def test_a_body_that_a_foreign_page_could_post_is_refused(api: Api, content_type: str):
    async with api.client(**{"content-type": content_type}) as client:
        answer = await client.post("/graphql", content=b'{"query": "{ viewer { name } }"}')
    assert answer.status_code == 415
    words = f"the body must be application/json; Content-Type is {content_type!r}"
    assert answer.json()["errors"][0]["message"] == words
