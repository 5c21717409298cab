"""The graphql-transport-ws protocol: who is let in, and what a malformed message does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.api.talk import acknowledged, answer_to, close_code, hear, init, say, socket, subscribe
from tests.api.world import EVENTS, SUBMIT, Api, a_request, secret, written

NAME = "{ viewer { name } }"


@pytest.mark.parametrize(
    "payload",
    [
        {"authorization": f"Bearer {secret('nobody')}"},
        {"authorization": f"Bearer {secret('revoked')}"},
        {"authorization": f"Bearer {secret('expired')}"},
        {"authorization": ""},
        {"authorization": 5},
        {"token": secret("admin")},
        {},
        None,
    ],
)
async def test_a_socket_without_a_good_token_is_closed(ws_url: str, payload: dict[str, Any] | None):
    message = {"type": "connection_init", **({} if payload is None else {"payload": payload})}
    async with socket(ws_url) as opened:
        await say(opened, message)
        assert await close_code(opened) == 4403


@pytest.mark.parametrize("name", ["authorization", "Authorization"])
async def test_a_good_token_is_acknowledged(ws_url: str, name: str):
    async with socket(ws_url) as opened:
        await say(opened, {"type": "connection_init", "payload": {name: f"Bearer {secret('admin')}"}})
        assert await hear(opened) == {"type": "connection_ack"}


async def test_nothing_is_answered_before_the_token(ws_url: str):
    async with socket(ws_url) as opened:
        await say(opened, subscribe(NAME))
        assert await close_code(opened) == 4401


async def test_a_second_init_closes(ws_url: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, init("owner"))
        assert await close_code(opened) == 4429


@pytest.mark.parametrize("protocol", ["graphql-ws", "something-else"])
async def test_other_protocols_are_refused(ws_url: str, protocol: str):
    async with socket(ws_url, protocol) as opened:
        assert opened.subprotocol is None
        assert await close_code(opened) == 4406


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_page_of_another_origin_is_refused(ws_url: str, origin: str):
    with pytest.raises(InvalidStatus) as refused:
        async with socket(ws_url, origin=origin):
            pass
    assert refused.value.response.status_code == 403


async def test_a_page_of_the_same_origin_is_taken(ws_url: str):
    async with socket(ws_url, origin=ws_url.replace("ws://", "http://").removesuffix("/graphql")) as opened:
        await say(opened, init())
        assert (await hear(opened))["type"] == "connection_ack"


NO_MESSAGES = [
    "[]",
    "null",
    "5",
    '"x"',
    "{",
    "",
    "[" * 5000,
    '{"type": "\\ud800"}',
    b"{}",
    {},
    {"type": 5},
    {"type": "start"},
    {"type": "connection_init", "payload": "x"},
    {"type": "connection_init", "payload": []},
    {"type": "complete"},
    {"type": "subscribe"},
    {"type": "subscribe", "id": [], "payload": {"query": NAME}},
    {"type": "subscribe", "id": "1", "payload": "x"},
    {"type": "subscribe", "id": "1", "payload": {}},
    {"type": "subscribe", "id": "1", "payload": {"query": 5}},
    {"type": "subscribe", "id": "1", "payload": {"query": NAME, "variables": []}},
    {"type": "subscribe", "id": "1", "payload": {"query": NAME, "operationName": {}}},
]


@pytest.mark.parametrize("message", NO_MESSAGES, ids=[json.dumps(str(m)[:60]) for m in NO_MESSAGES])
async def test_what_is_no_message_closes_the_socket(ws_url: str, message: Any):
    async with socket(ws_url) as opened:
        await say(opened, message)
        assert await close_code(opened) == 4400


async def test_an_id_is_used_once_at_a_time(ws_url: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(EVENTS, org="acme"), subscribe(EVENTS, org="acme"))
        assert await close_code(opened) == 4409


async def test_a_socket_has_a_bounded_number_of_operations(ws_url: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, *(subscribe(EVENTS, str(i), org="acme") for i in range(21)))
        assert await hear(opened) == {
            "id": "20",
            "type": "error",
            "payload": [{"message": "Subscription limit reached"}],
        }


async def test_an_operation_that_is_completed_by_the_client_ends(api: Api, ws_url: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(EVENTS, org="acme"), {"id": "1", "type": "complete"})
        await say(opened, subscribe(NAME, "1"))
        assert (await hear(opened))["payload"]["data"]["viewer"]["name"] == "admin@example.org"


async def test_a_ping_is_answered(ws_url: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, {"type": "ping"})
        assert await hear(opened) == {"type": "pong"}


async def test_queries_and_mutations_work_here_too(api: Api, ws_url: str):
    assert await answer_to(ws_url, NAME, who="owner") == ("next", {"data": {"viewer": {"name": "owner@example.org"}}})
    kind, payload = await answer_to(ws_url, SUBMIT % "status", input=a_request())
    assert (kind, payload["data"]["submitWorkload"]["workload"]) == ("next", {"status": "PENDING"})
    assert (await written())["workloads"] == 1


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("subscription {", "Syntax Error"),
        ("subscription { nothing }", "Cannot query field 'nothing'"),
        ("{ viewer { name } }" + " " * 100_000, "the document has 100019 characters"),
        ("{ viewer { " + "name " * 2000 + "} }", "more than 2000 tokens"),
        ("fragment f on Viewer { name }", "Can't get GraphQL operation type"),
    ],
)
async def test_a_request_that_can_not_be_carried_out_is_told(ws_url: str, query: str, words: str):
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(query))
        if "operation type" in words:
            assert await close_code(opened) == 4400
            return
        message = await hear(opened)
    assert message["type"] == "error"
    assert words in message["payload"][0]["message"]
