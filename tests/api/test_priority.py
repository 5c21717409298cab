"""prioritizeWorkload and prioritizeWorkloads: who may give which, and what comes of it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from app.store import reads
from app.store.writes import Change, apply_changes
from tests.api.test_changes import an_ended_workload
from tests.api.world import PAGE, Api, last_audit, written
from tests.clock import START
from tests.store.builders import a_placed_workload, a_stored_workload, loaded

ONE = """
mutation($input: PrioritizeWorkloadInput!) {
  prioritizeWorkload(input: $input) { workload { priority phase reason message } }
}
"""
MANY = """
mutation($input: PrioritizeWorkloadsInput!) {
  prioritizeWorkloads(input: $input) { outcomes { id workload { priority } error { code message } } }
}
"""


def asked(workload: Any, priority: str) -> dict[str, Any]:
    return {"input": {"id": str(workload.id), "priority": priority}}


async def test_the_queue_is_looked_at_with_the_new_priority(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    before = await loaded(workload)
    with api.services.commands.bus.following(workload.organization_id) as signal:
        answer = await api.data(ONE, asked(workload, "HIGH"), who="owner")
        assert await signal.wait(0)
    shown = answer["prioritizeWorkload"]["workload"]
    assert shown == {"priority": "HIGH", "phase": "QUEUED", "reason": "SUBMITTED", "message": before.message}
    [waiting] = await reads.waiting_workloads()
    assert (waiting.priority, waiting.queued_at) == (70, before.queued_at)
    [_, event] = await reads.events_of([workload.id])
    assert event.type.value == "prioritized"
    assert event.message == "priority changed from medium to high by owner@example.org"
    again = await api.data(ONE, asked(workload, "HIGH"), who="owner")
    assert again["prioritizeWorkload"]["workload"] == shown
    assert len(await reads.events_of([workload.id])) == 2


async def test_what_runs_has_another_one_and_goes_on(api: Api):
    live, _ = await a_placed_workload(api.organizations["acme"])
    answer = await api.data(ONE, asked(live, "VERY_LOW"))
    assert answer["prioritizeWorkload"]["workload"]["priority"] == "VERY_LOW"
    after = await loaded(live)
    assert (after.phase, after.message, after.version) == (live.phase, live.message, live.version + 1)


async def test_what_has_ended_has_none_to_change(api: Api):
    error = await api.refusal(ONE, asked(await an_ended_workload(api), "LOW"))
    assert (error["code"], "has ended already" in error["message"]) == ("CONFLICT", True)


@pytest.mark.parametrize("who", ["admin", "service"])
async def test_above_the_usual_only_owners_give(api: Api, who: str):
    workload = await a_stored_workload(api.organizations["acme"])
    for priority in ("HIGH", "VERY_HIGH"):
        before = await written()
        error = await api.refusal(ONE, asked(workload, priority), who=who)
        assert error["code"] == "FORBIDDEN"
        assert error["message"] == "priorities above medium are given by owners of acme; your role is admin"
        assert await written() == {**before, "audit": before["audit"] + 1}
        assert (await last_audit())["action"] == "prioritize_workload"
    await api.data(ONE, asked(workload, "VERY_HIGH"), who="owner")
    await api.data(ONE, asked(workload, "LOW"), who=who)
    assert (await loaded(workload)).spec.priority.name == "LOW"


async def test_each_of_many_by_itself(api: Api):
    waiting, ended = await a_stored_workload(api.organizations["acme"]), await an_ended_workload(api)
    ids = [str(waiting.id), str(ended.id), str(uuid4())]
    outcomes = (await api.data(MANY, {"input": {"ids": ids, "priority": "LOW"}}))["prioritizeWorkloads"]["outcomes"]
    assert [outcome["id"] for outcome in outcomes] == ids
    assert [outcome["error"] and outcome["error"]["code"] for outcome in outcomes] == [None, "CONFLICT", "NOT_FOUND"]
    assert outcomes[0]["workload"] == {"priority": "LOW"}


async def test_a_key_still_finds_its_request_after_its_priority_was_changed(api: Api):
    first = await api.submit(idempotencyKey="k", priority="LOW")
    await api.data(ONE, {"input": {"id": first["id"], "priority": "MEDIUM"}})
    assert (await api.submit(idempotencyKey="k", priority="LOW"))["id"] == first["id"]


async def test_the_list_is_filtered_and_sorted_by_it(api: Api):
    made = {name: await api.submit(priority=name, who="owner") for name in ("LOW", "VERY_HIGH", "MEDIUM")}
    by = {"sortBy": "PRIORITY", "sortOrder": "DESC"}
    found = (await api.data(PAGE, {"org": "acme", **by}))["organization"]["workloads"]["edges"]
    assert [edge["node"]["id"] for edge in found] == [made[name]["id"] for name in ("VERY_HIGH", "MEDIUM", "LOW")]
    found = (await api.data(PAGE, {"org": "acme", "filterBy": ["priority>=medium"], "first": 1, **by}))["organization"]
    assert found["workloads"]["totalCount"] == 2
    after = {"after": found["workloads"]["pageInfo"]["endCursor"], "first": 5, **by}
    rest = (await api.data(PAGE, {"org": "acme", **after}))["organization"]["workloads"]["edges"]
    assert [edge["node"]["id"] for edge in rest] == [made[name]["id"] for name in ("MEDIUM", "LOW")]


async def test_a_change_that_loses_against_another_one_is_made_on_what_is_then(api: Api):
    """As every command does; its event has the priority that it took the place of."""
    workload = await a_stored_workload(api.organizations["acme"])
    await api.data(ONE, asked(workload, "LOW"))
    assert await apply_changes(workload.organization_id, [Change(workload, workload)], START) == [False]
    await api.data(ONE, asked(workload, "VERY_LOW"))
    last = (await reads.events_of([workload.id]))[-1]
    assert last.message == "priority changed from low to very low by admin@example.org"
