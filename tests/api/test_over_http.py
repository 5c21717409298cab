"""GraphQL over HTTP: what is accepted, in which type and with which status it is answered; streams, documents."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.graphql.documents import document_id, documents
from app.graphql.endpoint import GraphQLEndpoint
from app.graphql.negotiation import Media, WrongRequestError, check_body, negotiate
from app.graphql.rates import Payer, Rates
from app.graphql.schema import schema
from tests.api.world import EVENTS, PAGE, Api, secret
from tests.store.builders import a_stored_workload

JSON, RESPONSE = "application/json", "application/graphql-response+json"
NAME = "{ viewer { name } }"
OPERATIONS = sorted((Path(__file__).parents[2] / "graphql" / "operations").glob("*.graphql"))


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", Media.JSON),
        ("*/*", Media.JSON),
        ("application/*", Media.JSON),
        (JSON, Media.JSON),
        (RESPONSE, Media.RESPONSE),
        (f"{JSON}, {RESPONSE}", Media.RESPONSE),
        (f"{RESPONSE};q=0.5, {JSON}", Media.JSON),
        (f"{RESPONSE}; charset=utf-8; q=1.0, {JSON}; q=0.9", Media.RESPONSE),
        ("APPLICATION/JSON", Media.JSON),
        (f"text/html, {RESPONSE};q=0, application/json;q=0.1", Media.JSON),
        ("text/event-stream", Media.EVENTS),
        ("text/html;q=x, */*;q=0.1", Media.JSON),
    ],
)
def test_the_answer_is_of_the_type_that_the_client_likes_best(accept: str, media: Media):
    assert negotiate(accept) is media


@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", f"{JSON};q=0"])
def test_what_cannot_be_answered_acceptably_is_refused(accept: str):
    with pytest.raises(WrongRequestError) as refusal:
        negotiate(accept)
    assert refusal.value.status == 406


@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=utf-8", 'Application/JSON; Charset="UTF-8"'])
def test_bodies_in_json_are_taken(content_type: str):
    check_body(content_type, "")


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [("application/graphql", ""), ("application/json; charset=latin-1", ""), (JSON, "gzip"), ("", "")],
)
def test_other_bodies_are_not(content_type: str, encoding: str):
    with pytest.raises(WrongRequestError) as refusal:
        check_body(content_type, encoding)
    assert refusal.value.status == 415


WELL_FORMED: dict[str, tuple[dict[str, Any], str]] = {
    "syntax": ({"query": "{ viewer {"}, "GRAPHQL_PARSE_FAILED"),
    "validation": ({"query": "{ viewer { nothing } }"}, "GRAPHQL_VALIDATION_FAILED"),
    "missing variable": (
        {"query": "query($s: String!) { organization(slug: $s) { name } }"},
        "BAD_USER_INPUT",
    ),
    "variable of another type": (
        {"query": PAGE, "variables": {"org": "acme", "first": "x"}},
        "BAD_USER_INPUT",
    ),
    "literal of another type": (
        {"query": '{ organization(slug: "acme") { workloads(first: "x") { totalCount } } }'},
        "GRAPHQL_VALIDATION_FAILED",
    ),
    "too long": ({"query": NAME + " " * 100_000}, "TOO_COMPLEX"),
}


@pytest.mark.parametrize(("request_", "code"), WELL_FORMED.values(), ids=WELL_FORMED)
@pytest.mark.parametrize(("accept", "status"), [(JSON, 200), ("*/*", 200), (RESPONSE, 400)])
async def test_a_request_that_is_not_executed_has_errors_and_no_data(
    api: Api, request_: dict[str, Any], code: str, accept: str, status: int
):
    async with api.client(accept=accept) as client:
        answer = await client.post("/graphql", json=request_)
    assert answer.status_code == status
    assert answer.headers["content-type"] == f"{RESPONSE if accept == RESPONSE else JSON}; charset=utf-8"
    assert "data" not in answer.json()
    assert answer.json()["errors"][0]["extensions"]["code"] == code


@pytest.mark.parametrize("accept", [JSON, RESPONSE])
async def test_what_was_executed_is_200_even_if_it_came_to_nothing(api: Api, accept: str):
    async with api.client(accept=accept) as client:
        fine = await client.post("/graphql", json={"query": NAME})
        failed = await client.post("/graphql", json={"query": '{ organization(slug: "nowhere") { name } }'})
    assert (fine.status_code, fine.json()) == (200, {"data": {"viewer": {"name": "admin@example.org"}}})
    assert (failed.status_code, failed.json()["data"]) == (200, {"organization": None})


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("PUT", {}, 405),
        ("POST", {"accept": "text/html"}, 406),
        ("POST", {"content-type": "text/plain"}, 415),
        ("POST", {"content-type": "application/json; charset=utf-16"}, 415),
    ],
)
async def test_a_malformed_request_is_told_as_graphql_errors(
    api: Api, method: str, headers: dict[str, str], status: int
):
    async with api.client(**{"content-type": JSON, **headers}) as client:
        answer = await client.request(method, "/graphql", content=json.dumps({"query": NAME}))
    assert answer.status_code == status
    [error] = answer.json()["errors"]
    assert error["extensions"] == {"code": "BAD_REQUEST"}
    assert error["message"]


async def test_persisted_documents_are_asked_for_by_name_and_by_hash(api: Api):
    text = documents()["Viewer"]
    async with api.client() as client:
        for wanted in ("Viewer", document_id(text)):
            posted = await client.post("/graphql", json={"documentId": wanted})
            got = await client.get("/graphql", params={"documentId": wanted})
            assert posted.json() == got.json()
            assert posted.json()["data"]["viewer"]["name"] == "admin@example.org"


def test_every_operation_is_a_persisted_document():
    assert {documents()[document_id(path.read_text())] for path in OPERATIONS} == set(documents().values())
    assert len(documents()) == 2 * len(OPERATIONS)
    assert all(f" {name}(" in text or f" {name} {{" in text for name, text in documents().items() if ":" not in name)


async def streamed(url: str, body: dict[str, Any], count: int) -> list[tuple[str, Any]]:
    """The first events of a stream."""
    headers = {"authorization": f"Bearer {secret('admin')}", "accept": "text/event-stream"}
    found: list[tuple[str, Any]] = []
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=60) as client,
        client.stream("POST", url.replace("ws://", "http://"), json=body, headers=headers) as answer,
    ):
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        kind = ""
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            kind = value if name == "event" else kind
            if name.startswith("data"):
                found.append((kind, json.loads(value) if value else None))
            if len(found) == count:
                break
    return found


@pytest.mark.parametrize(
    ("query", "code"), [("subscription {", "GRAPHQL_PARSE_FAILED"), ("{ a }" + " " * 100_000, "TOO_COMPLEX")]
)
async def test_a_wrong_request_for_a_stream_is_told(api: Api, ws_url: str, query: str, code: str):
    [(kind, answer), (last, _)] = await streamed(ws_url, {"query": query}, 2)
    assert (kind, last, answer["errors"][0]["extensions"]["code"]) == ("next", "complete", code)


async def test_events_come_as_server_sent_events(api: Api, ws_url: str):
    after = {"query": EVENTS, "variables": {"org": "acme"}}
    reading = asyncio.create_task(streamed(ws_url, after, 1))
    while not reading.done():
        await a_stored_workload(api.organizations["acme"])
        api.services.commands.bus.wake_events(api.organizations["acme"].id)
        await asyncio.wait([reading], timeout=0.2)
    [(kind, answer)] = reading.result()
    assert kind == "next"
    assert answer["data"]["workloadEvents"]["type"] == "SUBMITTED"


async def test_over_a_stream_errors_are_events_and_it_ends(ws_url: str):
    found = await streamed(ws_url, {"query": "subscription { nothing }"}, 2)
    assert found[0][1]["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    assert found[1] == ("complete", None)
    refused = await streamed(ws_url, {"query": EVENTS, "variables": {"org": "nowhere"}}, 2)
    assert refused[0][1]["errors"][0]["extensions"]["code"] == "NOT_FOUND"


def limited(api: Api, **changes: Any) -> Api:
    services = replace(api.services, **changes)
    return replace(api, web=GraphQLEndpoint(schema, services), services=services)


@pytest.mark.parametrize(("accept", "status"), [(JSON, 200), (RESPONSE, 429)])
async def test_a_token_that_asks_for_too_much_is_told_when_to_come_back(api: Api, accept: str, status: int):
    few = limited(api, rates=Rates(1))
    async with few.client(accept=accept) as client, few.client("owner", accept=accept) as other:
        for _ in range(10):
            assert (await client.post("/graphql", json={"query": NAME})).json()["data"]
        answer = await client.post("/graphql", json={"query": NAME})
        assert (answer.status_code, answer.headers["retry-after"]) == (status, "1")
        assert answer.json()["errors"][0]["extensions"] == {"code": "RATE_LIMITED", "retryAfter": 1}
        assert (await other.post("/graphql", json={"query": NAME})).json()["data"]
        api.clock.advance(1)
        assert (await client.post("/graphql", json={"query": NAME})).json()["data"]


@pytest.mark.parametrize(
    "credentials",
    [[f"Bearer{' ' * n}{secret('admin')}" for n in range(1, 12)], [f"Bearer {n}" for n in range(11)]],
    ids=["one token, spelled in many ways", "guesses"],
)
async def test_another_spelling_or_another_guess_is_no_way_round_the_limit(api: Api, credentials: list[str]):
    few, codes = limited(api, rates=Rates(1)), []
    for credential in credentials:
        async with few.client(None, authorization=credential) as client:
            answer = (await client.post("/graphql", json={"query": NAME})).json()
            codes += [error["extensions"]["code"] for error in answer.get("errors", ())]
    assert codes[-1] == "RATE_LIMITED"
    assert codes.count("RATE_LIMITED") == 1


def test_the_number_of_remembered_credentials_is_bounded():
    rates = Rates(1)
    for number in range(20_000):
        assert rates.take(Payer(str(number)), 0.0) == 0
    assert len(rates._buckets) == 10_000


async def test_the_schema_can_be_kept_secret(api: Api):
    query = {"query": "{ __schema { queryType { name } } }"}
    async with api.client() as client:
        assert (await client.post("/graphql", json=query)).json()["data"]
    async with limited(api, shows_schema=False).client() as client:
        errors = (await client.post("/graphql", json=query)).json()["errors"]
        assert all("introspection has been disabled" in error["message"] for error in errors)
        assert (await client.post("/graphql", json={"query": "{ __typename }"})).json()["data"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_page_of_another_site_is_refused_even_with_a_token(api: Api, method: str, headers: dict[str, str]):
    async with api.client("admin", **headers) as client:
        asked: dict[str, Any] = {"params" if method == "GET" else "json": {"query": NAME}}
        answer = await client.request(method, "/graphql", **asked)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]) == (403, {"code": "BAD_REQUEST"})
    assert "data" not in answer.json()


async def test_a_page_of_the_same_site_is_answered(api: Api):
    async with api.client("admin", origin="http://gpuyard", **{"sec-fetch-site": "same-origin"}) as client:
        answer = await client.post("/graphql", json={"query": NAME})
    assert "errors" not in answer.json()
