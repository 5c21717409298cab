"""suspend, resume, delete, restore and retry, and the forms that take many: cancelWorkloads and its like."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from app.domain.states import TERMINAL_PHASES, Reason, Status
from app.domain.workload import Resources, Workload
from app.store import reads
from app.store.writes import Change, apply_changes
from tests.api.world import PAGE, Api, last_audit, written
from tests.clock import START
from tests.store.builders import a_placed_workload, a_stored_workload, loaded

FIELDS = "id status phase reason message heldAt deletedAt retryOf createdAt"
VERBS = ("cancel", "suspend", "resume", "hold", "release", "delete", "restore", "retry")
DONE_BY = {"release": "resume"}
KINDS = {verb: f"{verb.title()}WorkloadInput" for verb in VERBS}


def one(verb: str) -> str:
    return f"mutation($input: {KINDS[verb]}!) {{ {verb}Workload(input: $input) {{ workload {{ {FIELDS} }} }} }}"


def many(verb: str) -> str:
    kind = f"{verb.title()}WorkloadsInput"
    outcome = f"outcomes {{ id workload {{ {FIELDS} }} error {{ code message }} }}"
    return f"mutation($input: {kind}!) {{ {verb}Workloads(input: $input) {{ {outcome} }} }}"


async def change(api: Api, verb: str, workload: Workload, **more: Any) -> dict[str, Any]:
    answer = await api.data(one(verb), {"input": {"id": str(workload.id), **more}})
    shown: dict[str, Any] = answer[f"{verb}Workload"]["workload"]
    return shown


async def refused(api: Api, verb: str, workload: Workload, **more: Any) -> dict[str, Any]:
    """A refusal, which wrote nothing but its audit row."""
    before = await written()
    error = await api.refusal(one(verb), {"input": {"id": str(workload.id), **more}})
    assert await written() == {**before, "audit": before["audit"] + 1}
    return error


async def an_ended_workload(api: Api, status: Status = Status.COMPLETED, **spec: Any) -> Workload:
    workload = await a_stored_workload(api.organizations["acme"], spec=spec)
    ended = replace(
        workload,
        status=status,
        phase=TERMINAL_PHASES[status],
        reason=Reason.EXITED,
        message="ended with exit code 3",
        exit_code=3,
        completed_at=START,
    )
    assert await apply_changes(workload.organization_id, [Change(workload, ended)], START) == [True]
    return await loaded(workload)


async def event_types(workload: Workload) -> list[str]:
    return [event.type.value for event in await reads.events_of([workload.id])]


async def listed(api: Api, **wanted: Any) -> list[str]:
    found = (await api.data(PAGE, {"org": "acme", **wanted}))["organization"]["workloads"]
    assert found["totalCount"] == len(found["edges"])
    return [edge["node"]["id"] for edge in found["edges"]]


@pytest.mark.parametrize(("hold", "release"), [("hold", "release"), ("suspend", "resume")])
async def test_a_held_workload_waits_for_nobody_and_comes_back_at_its_place(api: Api, hold: str, release: str):
    workload = await a_stored_workload(api.organizations["acme"])
    api.clock.advance(60)
    held = await change(api, hold, workload)
    assert (held["status"], held["phase"], held["reason"]) == ("PENDING", "SUSPENDED", "HELD")
    assert held["message"] == "suspended by admin@example.org; it takes no GPU until it is resumed"
    assert await reads.waiting_workloads() == []
    assert await change(api, hold, workload) == held
    api.clock.advance(1000)
    released = await change(api, release, workload)
    assert (released["status"], released["phase"], released["heldAt"]) == ("PENDING", "RESUMING", None)
    [waiting] = await reads.waiting_workloads()
    assert waiting.queued_at == START + timedelta(seconds=1000)
    assert await change(api, release, workload) == released
    assert await event_types(workload) == ["submitted", "held", "released"]


async def test_a_held_workload_can_be_cancelled_at_once(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    await change(api, "hold", workload)
    cancelled = await change(api, "cancel", workload)
    assert (cancelled["status"], cancelled["phase"]) == ("CANCELLED", "CANCELLED")


async def test_what_is_under_way_or_over_cannot_be_held_or_released(api: Api):
    live, _ = await a_placed_workload(api.organizations["acme"])
    ended = await an_ended_workload(api)
    assert "only what waits for a server can be held" in (await refused(api, "hold", live))["message"]
    assert "isn't suspended; it is creating" in (await refused(api, "resume", live))["message"]
    for verb in ("hold", "release", "suspend", "resume"):
        error = await refused(api, verb, ended)
        assert (error["code"], "has ended already: completed" in error["message"]) == ("CONFLICT", True)


async def test_what_is_under_way_is_suspended_once_it_has_stopped(api: Api):
    live, _ = await a_placed_workload(api.organizations["acme"])
    asked = await change(api, "suspend", live)
    assert (asked["status"], asked["phase"], asked["reason"]) == ("PENDING", "STOPPING", "SUSPEND_REQUESTED")
    assert asked["heldAt"] == START.isoformat()
    assert await change(api, "suspend", live) == asked
    assert "resume it once it has stopped" in (await refused(api, "resume", live))["message"]
    cancelled = await change(api, "cancel", live)
    assert (cancelled["phase"], cancelled["reason"]) == ("STOPPING", "CANCEL_REQUESTED")
    assert "is about to end" in (await refused(api, "suspend", await a_cancelled_one(api)))["message"]
    assert await event_types(live) == ["submitted", "placed", "suspend_requested", "cancel_requested"]


async def a_cancelled_one(api: Api) -> Workload:
    live, _ = await a_placed_workload(api.organizations["acme"])
    await change(api, "cancel", live)
    return live


async def test_a_deleted_workload_leaves_the_lists_and_nothing_else(api: Api):
    workload, kept = await an_ended_workload(api), await an_ended_workload(api)
    deleted = await change(api, "delete", workload)
    assert deleted["deletedAt"] == START.isoformat()
    assert await change(api, "delete", workload) == deleted
    assert await listed(api) == [str(kept.id)]
    assert await listed(api, deleted=True) == [str(workload.id)]
    assert (await api.workload(str(workload.id), "exitCode"))["exitCode"] == 3
    restored = await change(api, "restore", workload)
    assert restored["deletedAt"] is None
    assert await change(api, "restore", workload) == restored
    assert len(await listed(api)) == 2
    assert (await event_types(workload))[-2:] == ["deleted", "restored"]


async def test_only_what_has_ended_is_deleted_or_retried(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    for verb in ("delete", "retry"):
        error = await refused(api, verb, workload)
        assert (error["code"], "has not ended; it is queued" in error["message"]) == ("CONFLICT", True)


async def test_a_retry_is_a_new_workload_of_the_same_request(api: Api):
    workload = await an_ended_workload(api, name="train", args=("--epochs", "3"), idempotency_key="first")
    api.clock.advance(9)
    again = await change(api, "retry", workload)
    assert again["retryOf"] == str(workload.id)
    assert again["id"] != str(workload.id)
    assert (again["status"], again["createdAt"]) == ("PENDING", (START + timedelta(seconds=9)).isoformat())
    stored = await reads.load_workload(UUID(again["id"]))
    assert stored is not None
    assert stored.spec == replace(workload.spec, idempotency_key=None)
    assert await loaded(workload) == workload


async def test_a_retry_with_a_key_is_made_once(api: Api):
    workload = await an_ended_workload(api)
    first = await change(api, "retry", workload, idempotencyKey="again")
    assert (await change(api, "retry", workload, idempotencyKey="again"))["id"] == first["id"]
    other = await an_ended_workload(api, name="another")
    error = await refused(api, "retry", other, idempotencyKey="again")
    assert (error["code"], "was used for another request" in error["message"]) == ("CONFLICT", True)


async def test_a_retry_is_checked_as_a_submission_is(api: Api):
    workload = await an_ended_workload(api, resources=Resources(16, 1000, 2**30))
    error = await refused(api, "retry", workload)
    assert (error["code"], error["fields"][0]["field"]) == ("BAD_USER_INPUT", "gpuCount")


@pytest.mark.parametrize("verb", VERBS)
async def test_each_of_many_succeeds_or_fails_by_itself(api: Api, verb: str):
    waiting, ended = await a_stored_workload(api.organizations["acme"]), await an_ended_workload(api)
    foreign, nobody = await a_stored_workload(api.organizations["other"]), uuid4()
    ids = [str(i) for i in (waiting.id, nobody, ended.id, foreign.id, waiting.id)]
    outcomes = (await api.data(many(verb), {"input": {"ids": ids}}))[f"{verb}Workloads"]["outcomes"]
    assert [outcome["id"] for outcome in outcomes] == ids[:4]
    codes = [outcome["error"] and outcome["error"]["code"] for outcome in outcomes]
    for_waiting = "CONFLICT" if verb in ("delete", "retry") else None
    for_ended = "CONFLICT" if verb in ("cancel", "suspend", "resume", "hold", "release") else None
    assert codes == [for_waiting, "NOT_FOUND", for_ended, "NOT_FOUND"]
    assert all((outcome["workload"] is None) == (outcome["error"] is not None) for outcome in outcomes)


@pytest.mark.parametrize("count", [0, 101])
async def test_many_are_between_one_and_a_hundred(api: Api, count: int):
    before = await written()
    error = await api.refusal(many("cancel"), {"input": {"ids": [str(uuid4()) for _ in range(count)]}})
    assert (error["code"], error["fields"][0]["field"]) == ("BAD_USER_INPUT", "ids")
    assert f"must be 1 to 100 ids; there are {count}" in error["message"]
    assert await written() == before


async def test_a_hundred_at_once(api: Api):
    made = [await a_stored_workload(api.organizations["acme"]) for _ in range(100)]
    answer = await api.data(many("cancel"), {"input": {"ids": [str(w.id) for w in made]}})
    outcomes = answer["cancelWorkloads"]["outcomes"]
    assert [outcome["workload"]["status"] for outcome in outcomes] == ["CANCELLED"] * 100


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("who", ["member", "viewer", "reader", "manager"])
async def test_who_may_not(api: Api, verb: str, who: str):
    workload = await an_ended_workload(api)
    before = await written()
    error = await api.refusal(one(verb), {"input": {"id": str(workload.id)}}, who=who)
    assert error["code"] == "FORBIDDEN"
    assert await written() == {**before, "audit": before["audit"] + 1}
    assert (await last_audit())["action"] == f"{DONE_BY.get(verb, verb)}_workload"


@pytest.mark.parametrize("verb", VERBS)
async def test_a_strangers_workload_looks_like_none(api: Api, verb: str):
    workload = await an_ended_workload(api)
    error = await api.refusal(one(verb), {"input": {"id": str(workload.id)}}, who="stranger")
    assert error == {"code": "NOT_FOUND", "message": f"there is no workload {workload.id} that you may see"}
