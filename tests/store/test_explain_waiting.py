"""Why a workload waits is stored for all, and told only where it is news."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from app.domain.lifecycle import request_cancel
from app.domain.requests import resume, suspend
from app.domain.states import Reason
from app.domain.workload import EventType
from app.store import reads
from app.store.database import Database
from app.store.writes import Change, apply_changes, explain_waiting
from tests.clock import START
from tests.store.builders import a_stored_workload, an_organization, events, loaded, next_version, placement

LATER = START + timedelta(minutes=1)
WHY = Reason.WAITING_FOR_GPUS


async def test_a_new_reason_is_stored_and_told(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    assert await loaded(workload) == replace(workload, reason=WHY, message="none is free")
    event = (await events(organization))[-1]
    assert (event.type, event.reason, event.message) == (EventType.WAITING, WHY, "none is free")
    assert (event.workload_id, event.at, event.sequence) == (workload.id, LATER, 2)


async def test_other_words_for_the_same_reason_are_stored_and_not_told(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    await explain_waiting(organization.id, [workload.id], WHY, "1 is free", LATER)
    assert (await loaded(workload)).message == "1 is free"
    assert len(await events(organization)) == 2


async def test_of_a_group_only_those_with_news_are_told(database: Database):
    organization = await an_organization()
    old, new = await a_stored_workload(organization), await a_stored_workload(organization)
    await explain_waiting(organization.id, [old.id], WHY, "none is free", LATER)
    await explain_waiting(organization.id, [old.id, new.id], WHY, "still none", LATER)
    told = [e.workload_id for e in await events(organization) if e.type is EventType.WAITING]
    assert told == [old.id, new.id]
    assert {w.message for w in await reads.waiting_workloads()} == {"still none"}


async def test_nothing_is_said_of_what_was_placed_meanwhile(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await apply_changes(organization.id, [placement(workload)], START)
    before = await loaded(workload)
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    assert await loaded(workload) == before
    assert [e.type for e in await events(organization)] == [EventType.SUBMITTED, EventType.PLACED]


async def test_nothing_is_said_of_what_was_cancelled_meanwhile(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    after = request_cancel(workload, "ada", START).workload
    await apply_changes(organization.id, [Change(workload, after)], START)
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    assert await loaded(workload) == next_version(after)
    assert [e.type for e in await events(organization)] == [EventType.SUBMITTED, EventType.ENDED]


async def test_a_placement_does_not_lose_to_an_explanation(database: Database):
    """It is no fact of the workload's life, so whoever loaded the workload before may still write."""
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    assert await apply_changes(organization.id, [placement(workload)], LATER) == [True]
    placed = await loaded(workload)
    assert (placed.reason, placed.message) == (Reason.PLACED, placement(workload).after.message)


async def test_a_large_group_is_explained_whole(database: Database):
    organization = await an_organization()
    queue = [await a_stored_workload(organization) for _ in range(3)]
    strangers = [uuid4() for _ in range(1200)]  # more than a statement takes
    ids = [queue[0].id, *strangers[:600], queue[1].id, *strangers[600:], queue[2].id]
    await explain_waiting(organization.id, ids, WHY, "none", LATER)
    assert [w.message for w in await reads.waiting_workloads()] == ["none"] * 3
    assert [e.workload_id for e in await events(organization) if e.type is EventType.WAITING] == [w.id for w in queue]


async def test_reasons_that_take_turns_are_shown_at_once_and_told_when_enough_time_has_passed(database: Database):
    """An event for each turn would be thousands for one wait."""
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    other, queued = Reason.BEHIND_RESERVATION, workload.queued_at or START
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", queued + timedelta(seconds=100))
    for seconds in range(101, 110):
        reason = other if seconds % 2 else WHY
        await explain_waiting(organization.id, [workload.id], reason, "turn", queued + timedelta(seconds=seconds))
        assert (await loaded(workload)).reason is reason
    assert [e.reason for e in await events(organization)] == [Reason.SUBMITTED, WHY]
    await explain_waiting(organization.id, [workload.id], other, "turn", queued + timedelta(seconds=110))
    assert [e.reason for e in await events(organization)] == [Reason.SUBMITTED, WHY, other]


async def test_after_a_change_of_state_the_same_reason_is_told_again(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    held = suspend(await loaded(workload), "ada", LATER)
    assert await apply_changes(organization.id, [Change(await loaded(workload), held)], LATER) == [True]
    released = resume(await loaded(workload), "ada", LATER)
    assert await apply_changes(organization.id, [Change(await loaded(workload), released)], LATER) == [True]
    await explain_waiting(organization.id, [workload.id], WHY, "none is free", LATER)
    reasons = [e.reason for e in await events(organization)]
    assert reasons == [Reason.SUBMITTED, WHY, Reason.HELD, Reason.SUBMITTED, WHY]
