"""Guarded writes: all of a change or nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest
from tortoise.exceptions import IntegrityError

from app.domain.server import Cordon
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Workload
from app.store import reads, servers
from app.store.database import Database, opened
from app.store.listing import Selection, count_workloads
from app.store.writes import Change, IdempotencyKeyTakenError, apply_changes, insert_workload
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import (
    a_new_workload,
    a_placed_workload,
    a_stored_workload,
    an_organization,
    events,
    loaded,
    newest,
    next_version,
    placement,
)

LATER = START + timedelta(minutes=1)


async def test_an_insert_comes_with_its_first_event(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    [event] = await events(organization)
    assert (event.workload_id, event.type, event.sequence) == (workload.id, EventType.SUBMITTED, 1)
    assert (event.status, event.phase, event.reason) == (workload.status, workload.phase, workload.reason)
    assert (event.message, event.at) == (workload.message, workload.created_at)


async def test_an_idempotency_key_is_taken_once_within_an_organization(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    await a_stored_workload(acme, spec={"idempotency_key": "k"})
    await a_stored_workload(other, spec={"idempotency_key": "k"})
    with pytest.raises(IdempotencyKeyTakenError):
        await a_stored_workload(acme, spec={"idempotency_key": "k"})
    assert await count_workloads(Selection(acme.id)) == 1
    assert len(await events(acme)) == 1


async def test_of_concurrent_inserts_with_one_key_one_wins(database: Database):
    organization = await an_organization()
    rivals = [a_new_workload(organization, spec={"idempotency_key": "k"}) for _ in range(8)]
    bystanders = [a_new_workload(organization) for _ in range(8)]
    outcomes = await asyncio.gather(
        *(insert_workload(w) for pair in zip(rivals, bystanders, strict=True) for w in pair), return_exceptions=True
    )
    failures = [outcome for outcome in outcomes if outcome is not None]
    assert [type(failure) for failure in failures] == [IdempotencyKeyTakenError] * 7
    stored = {w.id for w in await newest(organization.id, 100)}
    assert {w.id for w in bystanders} <= stored
    assert len(stored & {w.id for w in rivals}) == 1
    assert {e.workload_id for e in await events(organization)} == stored


async def test_a_key_that_is_taken_is_told_from_other_broken_rules(database: Database):
    organization = await an_organization()
    with pytest.raises(IntegrityError):
        await insert_workload(a_new_workload(organization, spec={"project_id": uuid4()}))
    assert await events(organization) == []


async def test_workloads_without_a_key_are_never_in_each_others_way(database: Database):
    organization = await an_organization()
    await asyncio.gather(*(a_stored_workload(organization) for _ in range(5)))
    assert await count_workloads(Selection(organization.id)) == 5


async def test_a_change_brings_its_attempt_and_its_event(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    change = placement(workload)
    assert await apply_changes(organization.id, [change], LATER) == [True]
    assert await loaded(workload) == next_version(change.after)
    assert await reads.attempts_of([workload.id]) == [change.attempt]
    event = (await events(organization))[-1]
    assert (event.type, event.attempt, event.server, event.at) == (EventType.PLACED, 1, "gpu-1", LATER)


async def test_a_stale_change_writes_nothing(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await apply_changes(organization.id, [Change(workload, ended(workload))], LATER)
    before = await everything([workload])
    assert await apply_changes(organization.id, [placement(workload)], LATER) == [False]
    assert await everything([workload]) == before


async def test_a_stale_change_leaves_the_attempt_it_read_alone(database: Database):
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    await apply_changes(organization.id, [Change(workload, replace(workload, message="first"))], LATER)
    stale = Change(workload, ended(workload), attempt, replace(attempt, ended_at=LATER, message="too late"))
    assert await apply_changes(organization.id, [stale], LATER) == [False]
    assert await reads.attempts_of([workload.id]) == [attempt]


async def test_a_loser_takes_nothing_from_the_others(database: Database):
    organization = await an_organization()
    queue = [await a_stored_workload(organization) for _ in range(4)]
    await apply_changes(organization.id, [Change(queue[2], ended(queue[2]))], LATER)
    won = await apply_changes(organization.id, [placement(w) for w in queue], LATER)
    assert won == [True, True, False, True]
    placed = {a.workload_id for a in await reads.attempts_of([w.id for w in queue])}
    assert placed == {w.id for w in queue} - {queue[2].id}
    told = [e.workload_id for e in await events(organization) if e.type is EventType.PLACED]
    assert told == [queue[0].id, queue[1].id, queue[3].id]


async def test_changes_that_belong_together_win_or_lose_as_one(database: Database):
    organization = await an_organization()
    queue = [await a_stored_workload(organization) for _ in range(5)]
    await apply_changes(organization.id, [Change(queue[1], ended(queue[1]))], LATER)
    groups = (queue[0].id, queue[0].id, queue[2].id, queue[2].id, None)
    changes = [replace(placement(it), together=group) for it, group in zip(queue, groups, strict=True)]
    assert await apply_changes(organization.id, changes, LATER) == [False, False, True, True, True]
    assert {it.workload_id for it in await reads.attempts_of([w.id for w in queue])} == {w.id for w in queue[2:]}


async def test_of_two_changes_to_one_workload_the_first_wins(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    cancel = Change(workload, ended(workload))
    assert await apply_changes(organization.id, [cancel, placement(workload)], LATER) == [True, False]
    assert (await loaded(workload)).status is Status.CANCELLED
    assert await reads.attempts_of([workload.id]) == []


async def test_of_concurrent_changes_to_one_workload_one_wins(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    results = await asyncio.gather(*(apply_changes(organization.id, [placement(workload)], LATER) for _ in range(8)))
    assert sorted(won for [won] in results) == [False] * 7 + [True]
    assert len(await reads.attempts_of([workload.id])) == 1
    assert [e.type for e in await events(organization)] == [EventType.SUBMITTED, EventType.PLACED]


async def test_a_detail_is_written_without_an_event(database: Database):
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    change = Change(workload, replace(workload, message="pulls"), attempt, replace(attempt, pod_name="p"))
    assert await apply_changes(organization.id, [change], LATER) == [True]
    assert await loaded(workload) == next_version(workload, message="pulls")
    assert [a.pod_name for a in await reads.attempts_of([workload.id])] == ["p"]
    assert len(await events(organization)) == 2


async def test_a_change_of_the_attempt_alone_moves_the_version_on(database: Database):
    """Otherwise two writers that each saw another part would both win."""
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    change = Change(workload, workload, attempt, replace(attempt, job_uid="j"))
    assert await apply_changes(organization.id, [change], LATER) == [True]
    assert await apply_changes(organization.id, [change], LATER) == [False]


async def test_no_changes_are_no_transaction(database: Database):
    organization = await an_organization()
    assert await apply_changes(organization.id, [], LATER) == []
    assert await apply_changes(uuid4(), [], LATER) == []


async def test_a_broken_change_stores_nothing_of_its_transaction(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    await apply_changes(organization.id, [placement(workload)], LATER)
    other = await a_stored_workload(organization)
    before = await everything([workload, other])
    again = replace(placement(workload), before=await loaded(workload))  # attempt 1 a second time
    with pytest.raises(IntegrityError):
        await apply_changes(organization.id, [placement(other), again], LATER)
    assert await everything([workload, other]) == before


def ended(workload: Workload) -> Workload:
    over = replace(workload, status=Status.CANCELLED, phase=Phase.CANCELLED, reason=Reason.CANCELLED_BY_USER)
    return replace(over, message="cancelled", completed_at=LATER)


async def everything(workloads: Sequence[Workload]) -> object:
    ids = [workload.id for workload in workloads]
    return await reads.workloads_by_id(ids), await reads.attempts_of(ids), await reads.events_of(ids)


async def test_a_server_whose_flags_have_changed_is_not_placed_on(database: Database):
    """Each placement by itself: what others chose in the same transaction is written."""
    organization = await an_organization()
    await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
    [record] = await servers.servers_of("acme")
    first, second, third = [await a_stored_workload(organization) for _ in range(3)]
    assert await apply_changes(organization.id, [replace(placement(first), server_version=1)], START) == [True]
    cordon = Cordon("acme", "ada@example.org", START)
    assert await servers.write_flags(record.id, record.flags, record.flags.cordoned(cordon))
    void, fresh = (replace(placement(it), server_version=n) for it, n in ((second, 1), (third, 2)))
    assert await apply_changes(organization.id, [void, fresh], START) == [False, True]
    assert await loaded(second) == second
    assert await reads.attempts_of([second.id]) == []


async def test_a_server_that_is_not_on_record_has_no_flags(database: Database):
    organization = await an_organization()
    workload = await a_stored_workload(organization)
    assert await apply_changes(organization.id, [replace(placement(workload), server_version=1)], START) == [True]


CORDON = "UPDATE cluster_servers SET version = 2, cordoned_by = 'ada'"


async def test_a_placement_waits_for_a_cordon_that_is_being_written(postgres_copy: str):
    """It would otherwise be written after the cordon was answered, on what was read before."""
    async with opened(postgres_copy):
        organization = await an_organization()
        await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)
        change = replace(placement(await a_stored_workload(organization)), server_version=1)
        other = await asyncpg.connect(postgres_copy.replace("asyncpg://", "postgres://"))
        async with other.transaction():
            await other.execute(CORDON)
            placing = asyncio.ensure_future(apply_changes(organization.id, [change], START))
            done, _ = await asyncio.wait([placing], timeout=0.3)
            assert not done
        await other.close()
        assert await placing == [False]
