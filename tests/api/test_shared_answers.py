"""What an event is to many is worked out once for all who ask the same, and never mixed up with what others ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any, cast

import pytest
from strawberry.types import ExecutionResult, get_object_definition

from app.auth import TRUSTED_SECONDS
from app.graphql.context import RequestContext
from app.graphql.cursors import event_cursor
from app.graphql.nodes.workload import WorkloadEvent
from app.graphql.schema import schema
from app.graphql.subscriptions.workload_events import _SHOWN
from app.store import people
from tests.api.world import Api, secret
from tests.clock import START

PLAIN = 'subscription($after: String) { workloadEvents(organization: "acme", after: $after) { type status } }'
FILTERED = PLAIN.replace("$after)", '$after, filterBy: ["type==SUBMITTED"])')
LATER = PLAIN.replace("type status", "type workload { status }")
ASKED = PLAIN.replace("String)", "String, $also: Boolean = true)").replace("status", "status @include(if: $also)")
SPREAD = ASKED.replace("{ type status @include(if: $also) }", "{ ...f }") + (
    " fragment f on WorkloadEvent { type status @include(if: $also) }"
)
BOTH = {"type": "SUBMITTED", "status": "PENDING"}


async def told(api: Api, *asked: tuple[str, dict[str, Any]]) -> list[Any]:
    """What each is told of the first event, while all of them go on; objects, so that it shows which are one."""
    await api.submit()
    context = RequestContext(api.services, f"Bearer {secret('admin')}")
    beginning = {"after": event_cursor(api.organizations["acme"].id, 0)}
    async with AsyncExitStack() as stack:
        answers = []
        for query, variables in asked:
            results = await schema.stream(query, variable_values={**beginning, **variables}, context_value=context)
            results = await stack.enter_async_context(aclosing(cast("AsyncGenerator[Any, None]", results)))
            answers.append(cast("ExecutionResult", await anext(results)))
        assert not any(answer.errors for answer in answers)
        return [answer.data for answer in answers]


@pytest.mark.parametrize("query", [PLAIN, FILTERED])
async def test_who_asks_the_same_gets_the_same(api: Api, query: str):
    first, second = await told(api, (query, {}), (query, {}))
    assert first is second
    assert first == {"workloadEvents": BOTH}


async def test_who_asks_otherwise_gets_what_he_asked_for(api: Api):
    other = PLAIN.replace("type status", "kind: type")
    first, second = await told(api, (PLAIN, {}), (other, {}))
    assert [first, second] == [{"workloadEvents": BOTH}, {"workloadEvents": {"kind": "SUBMITTED"}}]


@pytest.mark.parametrize("query", [ASKED, SPREAD], ids=["a field", "a fragment"])
async def test_what_a_variable_decides_is_not_shared(api: Api, query: str):
    first, second = await told(api, (query, {}), (query, {"also": False}))
    assert [first, second] == [{"workloadEvents": BOTH}, {"workloadEvents": {"type": "SUBMITTED"}}]


async def test_what_is_read_for_the_answer_is_read_for_each(api: Api):
    first, second = await told(api, (LATER, {}), (LATER, {}))
    assert first == second == {"workloadEvents": {"type": "SUBMITTED", "workload": {"status": "PENDING"}}}
    assert first is not second


async def test_an_answer_lives_no_longer_than_its_readers(api: Api):
    await told(api, (PLAIN, {}))
    await asyncio.sleep(0)
    assert not _SHOWN


def test_whatever_depends_on_the_reader_is_waited_for_and_so_never_shared():
    fields = get_object_definition(WorkloadEvent, strict=True).fields
    assert {field.python_name for field in fields if field.base_resolver} == {"workload"}
    assert all(field.base_resolver.is_async for field in fields if field.base_resolver)


async def test_a_right_that_is_gone_ends_a_stream_in_the_middle_of_what_was_read(api: Api):
    for _ in range(3):
        await api.submit()
    context = RequestContext(api.services, f"Bearer {secret('admin')}")
    after = {"after": event_cursor(api.organizations["acme"].id, 0)}
    results = await schema.stream(PLAIN, variable_values=after, context_value=context)
    async with aclosing(cast("AsyncGenerator[ExecutionResult, None]", results)) as stream:
        assert (await anext(stream)).data == {"workloadEvents": BOTH}
        await people.revoke_token(api.token_ids["admin"], START)
        api.clock.advance(TRUSTED_SECONDS)
        ended = await anext(stream)
    assert ended.errors
    assert (ended.errors[0].extensions or {})["code"] == "UNAUTHENTICATED"
