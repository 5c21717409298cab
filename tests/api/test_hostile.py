"""Bodies and documents made to break or to stall the server: each is answered at once and none with a 5xx."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import pytest

from app.store.database import Database
from tests.api.world import PAGE, SUBMIT, Api, a_request, build_api, populate, written
from tests.clock import ManualClock

NAME = "{ viewer { name } }"
SLUG = "query($s: String!) { organization(slug: $s) { name } }"


async def answered(api: Api, body: Any) -> httpx2.Response:
    """The answer, which must be JSON in GraphQL's shape, cost less than a second and be no incident."""
    began = time.process_time()  # the computing, which all others wait for; a busy machine makes it no longer
    response = await api.post(body)
    assert time.process_time() - began < 1
    assert response.status_code < 500
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert "INTERNAL" not in response.text
    return response


def with_variable(text: str) -> bytes:
    """A body whose variable is this very JSON."""
    return b'{"query": %s, "variables": {"s": %s}}' % (json.dumps(SLUG).encode(), text.encode("latin-1"))


NOT_A_REQUEST = {
    "nothing": b"",
    "list": b"[]",
    "batch": json.dumps([{"query": NAME}]).encode(),
    "null": b"null",
    "number": b"5",
    "text": b'"x"',
    "true": b"true",
    "open": b'{"query": "{ viewer',
    "no query": b"{}",
    "null query": b'{"query": null}',
    "empty query": b'{"query": ""}',
    "query is a number": b'{"query": 5}',
    "query is a list": b'{"query": ["x"]}',
    "variables are a list": b'{"query": "{ viewer { name } }", "variables": []}',
    "variables are text": b'{"query": "{ viewer { name } }", "variables": "{}"}',
    "extensions are a list": b'{"query": "{ viewer { name } }", "extensions": []}',
    "operation name is a number": b'{"query": "{ viewer { name } }", "operationName": 5}',
    "operation name is a list": b'{"query": "{ viewer { name } }", "operationName": [1]}',
    "unknown operation": b'{"query": "{ viewer { name } }", "operationName": "x"}',
    "latin-1": '{"query": "{ viewer { name } } # é"}'.encode("latin-1"),
    "utf-16": '{"query": "{ viewer { name } }"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"query": "{ viewer { name } }"}',
    "half a pair": with_variable('"\\ud800"'),
    "half a pair as bytes": with_variable('"\xed\xa0\x80"'),
    "raw NUL": with_variable('"\0"'),
    "not a number": with_variable("NaN"),
    "number of 5000 digits": with_variable("1" * 5000),
    "nested lists": with_variable("[" * 100_000 + "]" * 100_000),
    "nested objects": with_variable('{"a":' * 50_000 + "1" + "}" * 50_000),
    "subscription": b'{"query": "subscription { workloadEvents(organization: \\"acme\\") { cursor } }"}',
}


@pytest.mark.parametrize("body", NOT_A_REQUEST.values(), ids=NOT_A_REQUEST)
async def test_what_is_no_request_is_refused_as_json(api: Api, body: bytes):
    response = await answered(api, body)
    assert response.status_code == 400
    [error] = response.json()["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
    assert error["message"]


async def test_of_a_repeated_member_the_last_one_counts(api: Api):
    body = b'{"query": "{ nothing }", "query": "{ viewer { name } }", "unknown": 1}'
    assert (await answered(api, body)).json() == {"data": {"viewer": {"name": "admin@example.org"}}}


def spread(levels: int, on: str, inside: str, leaf: str) -> str:
    """Fragments that each spread the next one twice."""
    made = [f"fragment f{i} on {on} {{ {inside.replace('@', f'...f{i + 1}')} }}" for i in range(levels)]
    return " ".join([*made, f"fragment f{levels} on {on} {{ {leaf} }}"])


def mutations(count: int) -> str:
    fields = " ".join(f"m{i}:submitWorkload(input:$i){{workload{{id}}}}" for i in range(count))
    return f"mutation($i:SubmitWorkloadInput!){{{fields}}}"


ANY_WORKLOAD = '{ organization(slug: "acme") { workloads(first: 500) { edges { node { %s } } } } }'
DOCUMENTS = {
    "fragments spread twice": "{ viewer { ...f0 } } " + spread(120, "Viewer", "@ @", "name"),
    "aliased events": ANY_WORKLOAD % "...f0"
    + spread(30, "Workload", "a: events { workload { @ } } b: events { workload { @ } }", "id"),
    "inline fragments": "{ viewer { ... on Viewer { " * 1 + "... { " * 150 + "name" + " }" * 150 + " } } }",
    "fragment cycle": "{ viewer { ...a } } fragment a on Viewer { ...b } fragment b on Viewer { ...a }",
    "unknown fragment": "{ viewer { ...nothing } }",
    "unknown type": "{ viewer { ... on Nothing { a } } }",
    "fields in fields": "{ a " * 900 + "}" * 900,
    "nested lists": "{ organization(slug: " + "[" * 900 + "]" * 900 + ") { name } }",
    "nested types": "query($a: " + "[" * 900 + "Int" + "]" * 900 + ") { viewer { name } }",
    "introspection in introspection": "{ __schema { types { " + "fields { type { " * 8 + "name" + " } }" * 8 + " } } }",
    "one field 1900 times": "{ viewer { " + "name " * 1900 + "} }",
    "one object 450 times": "{ " + "viewer { name } " * 450 + "}",
    "directives": "{ viewer { name " + "@skip(if: true) " * 250 + "} }",
    "operations": " ".join(f"query q{i} {{ viewer {{ name }} }}" for i in range(240)),
    "integer of 5000 digits": "{ organization(slug: " + "1" * 5000 + ") { name } }",
    "page of 5000 digits": PAGE.replace("$first,", "1" * 5000 + ",").replace("$first: Int! = 50,", ""),
    "float of 5000 digits": "{ organization(slug: 1e" + "1" * 5000 + ") { name } }",
    "NUL": "{ viewer { name \0 } }",
    "half a pair": '{ organization(slug: "\\ud800") { name } }',
    "comment": NAME + "#" * 1_900_000,
    "text": '{ organization(slug: "' + "a" * 1_900_000 + '") { name } }',
    "lines": NAME + "\n" * 900_000,
    "200 mutations": mutations(200),
    "120 mutations": mutations(120),
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
async def test_a_hostile_document_costs_little(api: Api, document: str):
    await answered(api, {"query": document, "variables": {"i": a_request(), "org": "acme"}})
    assert await written() == {"workloads": 0, "attempts": 0, "events": 0, "audit": 0}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (mutations(120), "the request weighs 61440, at most 60000 is taken"),
        (DOCUMENTS["comment"], "the document has 1900019 characters, at most 100000 are taken"),
        (DOCUMENTS["aliased events"], "the request weighs"),
    ],
    ids=["mutations", "length", "fragments"],
)
async def test_what_is_too_much_is_said_with_the_numbers(api: Api, document: str, words: str):
    error = await api.refusal(document, {"i": a_request()})
    assert error["code"] == "TOO_COMPLEX"
    assert words in error["message"]


EVERYTHING = """
  id message cpu gpus envVars { name value } project { slug } attempts { number gpus message }
  events { cursor type status phase reason message at attempt exitCode server workload { id status } }
"""


VARIABLES = {"$s": "String", "$f": "[String!]", "$none": "Int! = 0", "$nine": "Int! = 9", "$default": "Int! = 45"}


def many(count: int, field: str) -> str:
    """A field of an organization so many times."""
    used = " ".join(f"{name}: {kind}" for name, kind in VARIABLES.items() if name in field)
    fields = " ".join(f"f{number}: {field}" for number in range(count))
    return f'query{f"({used})" if used else ""} {{ organization(slug: "acme") {{ {fields} }} }}'


SOMETHING = "id name status phase message gpuCount server createdAt exitCode project { slug } labels { key value }"
ALLOWED = {
    "page of 500": ANY_WORKLOAD % SOMETHING,
    "attempts of 500": ANY_WORKLOAD % "id attempts { number server exitCode }",
    "all of 90": (ANY_WORKLOAD % EVERYTHING).replace("500", "90"),
    "six counts": many(6, "workloadsCount(status: [RUNNING])"),
    "six pages": many(6, "workloads { totalCount edges { node { id name } } }"),
    "99 mutations": mutations(99),
}


@pytest.mark.parametrize("document", ALLOWED.values(), ids=ALLOWED)
async def test_what_the_contract_allows_is_not_too_much(api: Api, document: str):
    await api.data(document, {"i": a_request()})


ORGANIZATION = 6  # a field and an object
A_ROW = 5 + 7  # an edge, and in it a node with one field
FOUR = "edges { node { id name status phase } }"


def pages(count: int, given: str, inside: str = "edges { node { id } }") -> str:
    return many(count, f"workloads({given}) {{ {inside} }}")


@pytest.mark.parametrize(
    ("document", "weight"),
    [
        (pages(60, "first: 500"), 60 * (6 + 500 * A_ROW)),
        (pages(95, "offset: 0", FOUR), 95 * (6 + 50 * (A_ROW + 3))),
        (pages(90, "first: $default", FOUR), 90 * (6 + 45 * (A_ROW + 3))),
        (pages(60, "first: -1"), 60 * (6 + 500 * A_ROW)),
        (pages(4, 'first: 1, search: "a"'), 4 * (15_006 + A_ROW)),
        (pages(4, "first: 1, search: $s"), 4 * (15_006 + A_ROW)),
        (pages(4, 'first: 1, filterBy: ["name=@a"]'), 4 * (15_006 + A_ROW)),
        (pages(8, "first: 1, sortBy: IMAGE_REFERENCE"), 8 * (8_506 + A_ROW)),
        (pages(8, "first: 1, offset: $nine"), 8 * (8_506 + A_ROW)),
        (pages(4, "first: 1, offset: 9, sortBy: NAME"), 4 * (17_006 + A_ROW)),
        (pages(2, 'first: 1, search: "a"', "totalCount"), 2 * (15_005 + 18_200)),
        (many(4, 'workloadsCount(search: "a")'), 4 * 18_200),
        (many(25, "workloadsCount"), 25 * 3_200),
        (many(1, "workloads(first: 500) { edges { node { events { type } } } }"), 6 + 500 * (A_ROW + 20 * 6)),
    ],
)
async def test_what_a_request_asks_for_is_weighed_in_sum(api: Api, document: str, weight: int):
    error = await api.refusal(document, {"s": "a"})
    assert (error["code"], error["message"].split(",")[0]) == (
        "TOO_COMPLEX",
        f"the request weighs {weight + ORGANIZATION}",
    )


@pytest.mark.parametrize(
    "given", ["search: $s", "search: null", "filterBy: []", "filterBy: $f", "offset: $none", "offset: 0"]
)
async def test_what_is_not_asked_for_weighs_nothing(api: Api, given: str):
    await api.data(pages(60, f"first: 10, {given}"), {"s": "", "f": []})


async def test_the_number_of_tokens_is_bounded(api: Api):
    error = await api.refusal("{ viewer { " + "name " * 2000 + "} }")
    assert "Document contains more than 2000 tokens" in error["message"]


async def test_a_body_over_the_limit_is_not_read(api: Api):
    for body in (b"x" * (2 * 2**20 + 1), json.dumps({"query": NAME, "variables": {"a": "x" * 2**21}}).encode()):
        answer = await api.post(body)
        assert (answer.status_code, answer.headers["content-type"]) == (413, "application/json; charset=utf-8")
        assert answer.json()["errors"][0] == {
            "message": "the body must be at most 2097152 bytes; send less at a time",
            "extensions": {"code": "BAD_REQUEST"},
        }
    assert (await api.post(b" " * (2**21 - 100) + json.dumps({"query": NAME}).encode())).status_code == 200


@pytest.fixture
async def anywhere(database: Database, clock: ManualClock) -> Api:
    """The app on either database: what one of them can't hold must not reach it."""
    built = build_api(clock)
    await populate(built)
    return built


STRANGE = ["\0", "a\0b", "\x7f", "\ufffe", "\U0010ffff", "é" * 300, "' OR 1=1 --", "%s", "{}"]


@pytest.mark.parametrize("text", STRANGE, ids=ascii)
async def test_strange_text_anywhere_is_no_incident(anywhere: Api, text: str):
    pairs = [{"name": text, "value": text}, {"name": text, "value": text}]
    fields = ("image", "tag", "name", "cpu", "memory", "idempotencyKey", "organization")
    requests: list[dict[str, Any]] = [{name: text} for name in fields]
    requests += [{"command": [text], "args": [text]}, {"envVars": pairs}]
    for wanted in requests:
        await answered(anywhere, {"query": SUBMIT % "id name", "variables": {"input": a_request(**wanted)}})
    await answered(anywhere, {"query": SLUG, "variables": {"s": text}})
    await answered(anywhere, {"query": PAGE, "variables": {"org": "acme", "after": text}})


WRONG_VALUES: list[Any] = [None, True, 1.5, 2**31, 2**63, 10**30, "1", "", [], {}, [1], {"a": 1}]


@pytest.mark.parametrize(
    "name", ["organization", "image", "gpuCount", "timeoutSeconds", "envVars", "projectId", "args"]
)
async def test_a_value_of_the_wrong_type_is_told(api: Api, name: str):
    for value in WRONG_VALUES:
        await answered(api, {"query": SUBMIT % "id", "variables": {"input": a_request(**{name: value})}})
    assert (await answered(api, {"query": SUBMIT % "id", "variables": {"input": 5}})).json()["errors"]
