"""cancelWorkload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from app.store.writes import Change, apply_changes
from tests.api.world import CANCEL, Api, last_audit, written
from tests.clock import START
from tests.store.builders import a_placed_workload, a_stored_workload


async def cancel(api: Api, workload: Workload, who: str = "admin") -> dict[str, Any]:
    answer = await api.data(CANCEL, {"id": str(workload.id)}, who=who)
    cancelled: dict[str, Any] = answer["cancelWorkload"]["workload"]
    return cancelled


async def end(workload: Workload) -> None:
    ended = replace(
        workload,
        status=Status.COMPLETED,
        phase=Phase.COMPLETED,
        reason=Reason.EXITED,
        message="ended with exit code 3",
        exit_code=3,
        completed_at=START,
    )
    assert await apply_changes(workload.organization_id, [Change(workload, ended)], START) == [True]


async def test_what_waits_is_cancelled_at_once(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    shown = await cancel(api, workload)
    assert (shown["status"], shown["phase"], shown["reason"]) == ("CANCELLED", "CANCELLED", "CANCELLED_BY_USER")
    assert "cancelled by admin@example.org" in shown["message"]
    events = (await api.workload(str(workload.id), "events { type status }"))["events"]
    assert events[-1] == {"type": "ENDED", "status": "CANCELLED"}


async def test_what_is_placed_stops_until_the_cluster_confirms(api: Api):
    workload, _ = await a_placed_workload(api.organizations["acme"])
    shown = await cancel(api, workload)
    assert (shown["status"], shown["phase"], shown["reason"]) == ("PENDING", "STOPPING", "CANCEL_REQUESTED")


async def test_a_second_cancel_while_it_stops_changes_nothing(api: Api):
    workload, _ = await a_placed_workload(api.organizations["acme"])
    first = await cancel(api, workload, who="owner")
    before = await written()
    api.clock.advance(5)
    assert await cancel(api, workload) == first
    assert await written() == before


@pytest.mark.parametrize("how", ["cancelled", "ended"])
async def test_what_has_ended_can_not_be_cancelled(api: Api, how: str):
    workload = await a_stored_workload(api.organizations["acme"])
    await (cancel(api, workload) if how == "cancelled" else end(workload))
    before = await written()
    error = await api.refusal(CANCEL, {"id": str(workload.id)})
    assert error["code"] == "CONFLICT"
    assert f"workload {workload.id} has ended already" in error["message"]
    assert await written() == {**before, "audit": before["audit"] + 1}


async def test_another_organizations_workload_looks_like_none(api: Api):
    workload = await a_stored_workload(api.organizations["other"])
    before = await written()
    error = await api.refusal(CANCEL, {"id": str(workload.id)})
    unknown = await api.refusal(CANCEL, {"id": str(UUID(int=7))})
    assert error == {"code": "NOT_FOUND", "message": f"there is no workload {workload.id} that you may see"}
    assert unknown["message"] == error["message"].replace(str(workload.id), str(UUID(int=7)))
    assert await written() == {**before, "audit": before["audit"] + 2}


@pytest.mark.parametrize("who", ["member", "viewer", "reader", "manager"])
async def test_who_may_not_cancel(api: Api, who: str):
    workload = await a_stored_workload(api.organizations["acme"])
    before = await written()
    error = await api.refusal(CANCEL, {"id": str(workload.id)}, who=who)
    assert error["code"] == "FORBIDDEN"
    assert await written() == {**before, "audit": before["audit"] + 1}
    audit = await last_audit()
    assert (audit["action"], audit["organization_slug"]) == ("cancel_workload", "acme")
    assert (audit["outcome"], audit["target"]) == ("FORBIDDEN", str(workload.id))


@pytest.mark.parametrize("who", [None, "expired", "revoked"])
async def test_nobody_cancels_without_a_credential(api: Api, who: str | None):
    workload = await a_stored_workload(api.organizations["acme"])
    before = await written()
    assert (await api.refusal(CANCEL, {"id": str(workload.id)}, who=who))["code"] == "UNAUTHENTICATED"
    assert await written() == before
