"""Cancelling on a real database: at once, on its way, too late, and for whom there is no such workload."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from app.commands.cancel_workload import cancel_workload
from app.domain.errors import ConflictError, DomainError, ForbiddenError, NotFoundError, PreconditionFailedError
from app.domain.people import Role
from app.domain.states import TERMINAL_PHASES, Phase, Reason, Status
from app.domain.workload import EventType, Workload
from app.store import people, reads
from app.store.database import Database
from app.store.writes import Change, apply_changes
from tests.clock import START, ManualClock
from tests.store.builders import a_placed_workload, a_stored_workload, events, loaded
from tests.store.desk import Desk, a_desk, nobody, refusals


@pytest.fixture
async def desk(database: Database, clock: ManualClock) -> Desk:
    return await a_desk(clock)


async def types(desk: Desk) -> list[EventType]:
    return [event.type for event in await events(desk.organization)]


async def a_running_workload(desk: Desk) -> Workload:
    workload, attempt = await a_placed_workload(desk.organization)
    running = replace(workload, status=Status.RUNNING, phase=Phase.RUNNING, reason=Reason.EXECUTING, started_at=START)
    change = Change(workload, running, attempt, replace(attempt, started_at=START))
    assert await apply_changes(desk.organization.id, [change], START) == [True]
    return await loaded(workload)


async def test_what_waits_is_cancelled_at_once(desk: Desk):
    workload = await a_stored_workload(desk.organization)
    desk.clock.advance(5)
    after = await cancel_workload(desk.context, desk.person(), workload.id)
    assert (after.status, after.phase, after.reason) == (Status.CANCELLED, Phase.CANCELLED, Reason.CANCELLED_BY_USER)
    assert after.message == "cancelled by owner@example.org before it was started"
    assert (after.completed_at, after.cancel_requested_at) == (desk.clock.now(), desk.clock.now())
    assert after == await loaded(workload)
    assert await types(desk) == [EventType.SUBMITTED, EventType.ENDED]
    assert await reads.waiting_workloads() == []
    assert desk.woken == [workload.id, "queue"]  # room may have been kept for it


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
async def test_what_runs_keeps_its_status_until_the_cluster_confirms(desk: Desk, role: Role):
    workload = await a_running_workload(desk)
    after = await cancel_workload(desk.context, desk.person(role), workload.id)
    assert (after.status, after.phase, after.reason) == (Status.RUNNING, Phase.STOPPING, Reason.CANCEL_REQUESTED)
    assert (after.cancelled_by, after.completed_at) == (f"{role}@example.org", None)
    assert after == await loaded(workload)
    assert (await types(desk))[-1] is EventType.CANCEL_REQUESTED
    assert desk.woken == [workload.id]


async def test_what_is_being_created_is_pending_until_the_cluster_confirms(desk: Desk):
    workload, _ = await a_placed_workload(desk.organization)
    after = await cancel_workload(desk.context, desk.person(), workload.id)
    assert (after.status, after.phase) == (Status.PENDING, Phase.STOPPING)
    assert (await types(desk))[-1] is EventType.CANCEL_REQUESTED


async def test_asking_again_changes_nothing(desk: Desk):
    workload = await a_running_workload(desk)
    first = await cancel_workload(desk.context, desk.person(), workload.id)
    told = await events(desk.organization)
    desk.clock.advance(60)
    assert await cancel_workload(desk.context, desk.person(Role.ADMIN), workload.id) == first
    assert await events(desk.organization) == told


@pytest.mark.parametrize("status", TERMINAL_PHASES)
async def test_what_has_ended_stays_as_it_ended(desk: Desk, status: Status):
    workload = await a_running_workload(desk)
    over = replace(workload, status=status, phase=TERMINAL_PHASES[status], reason=Reason.EXITED, message="its words")
    await apply_changes(desk.organization.id, [Change(workload, over)], START)
    before, told = await loaded(workload), await events(desk.organization)
    with pytest.raises(ConflictError, match=rf"workload {workload.id} has ended already: {status}, its words"):
        await cancel_workload(desk.context, desk.person(), workload.id)
    assert (await loaded(workload), await events(desk.organization)) == (before, told)
    assert await refusals() == [("owner@example.org", "cancel_workload", "acme", "CONFLICT")]


async def refused(desk: Desk, workload: Workload, expected: type[DomainError], role: Role = Role.OWNER) -> DomainError:
    before, told = await loaded(workload), await events(desk.organization)
    with pytest.raises(expected) as caught:
        await cancel_workload(desk.context, desk.person(role), workload.id)
    assert (await loaded(workload), await events(desk.organization)) == (before, told)
    assert await refusals() == [(f"{role}@example.org", "cancel_workload", "acme", caught.value.code)]
    assert desk.woken == []
    return caught.value


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
async def test_members_and_viewers_may_not(desk: Desk, role: Role):
    error = await refused(desk, await a_stored_workload(desk.organization), ForbiddenError, role)
    assert f"your role is {role}" in error.message


async def test_where_the_feature_is_off_nothing_is_cancelled(desk: Desk):
    workload = await a_stored_workload(desk.organization)
    await people.set_gpu_workloads_enabled("acme", enabled=False)
    await refused(desk, workload, PreconditionFailedError)


async def test_a_foreign_workload_is_as_unknown_as_none(desk: Desk):
    workload, none = await a_stored_workload(desk.organization), uuid4()
    words = []
    for person, workload_id in ((nobody(), workload.id), (nobody(), none), (desk.person(), none)):
        with pytest.raises(NotFoundError) as caught:
            await cancel_workload(desk.context, person, workload_id)
        words.append(caught.value.message.replace(str(workload_id), "it"))
    assert set(words) == {"there is no workload it that you may see"}
    assert await loaded(workload) == workload
    assert [outcome for *_, outcome in await refusals()] == ["NOT_FOUND"] * 3
    assert desk.woken == []
