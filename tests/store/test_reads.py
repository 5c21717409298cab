"""Reads named by intention: what each finds, in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from app.domain.gpus import WHOLE, GpuRequirements
from app.domain.people import Organization
from app.domain.states import TERMINAL_PHASES, Phase, Reason, Status
from app.domain.workload import Resources, Workload
from app.store import people, reads
from app.store.database import Database
from app.store.listing import Position, Selection, count_workloads
from app.store.writes import Change, apply_changes, save_cleanup
from tests.clock import START
from tests.store.builders import (
    a_placed_workload,
    a_stored_workload,
    an_organization,
    events,
    loaded,
    newest,
    placement,
)

MICROSECOND = timedelta(microseconds=1)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


async def all_pages(organization: Organization, size: int) -> list[UUID]:
    found: list[UUID] = []
    position = None
    while page := await newest(organization.id, size, position):
        found += [w.id for w in page]
        position = Position(page[-1].created_at, page[-1].id)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_pages_hold_every_workload_once_newest_first(database: Database, size: int):
    """Times that differ by a microsecond, by nothing, and whole seconds, which SQLite writes shorter."""
    organization = await an_organization()
    times = [after(0), after(0), after(0) + MICROSECOND, after(1) - MICROSECOND, after(1), after(1), after(0.5)]
    stored = [await a_stored_workload(organization, created_at=time) for time in times]
    newest_first = sorted(stored, key=lambda w: (w.created_at, w.id), reverse=True)
    assert await all_pages(organization, size) == [w.id for w in newest_first]


async def test_an_insert_between_pages_moves_nothing(database: Database):
    organization = await an_organization()
    old = [await a_stored_workload(organization, created_at=after(i)) for i in range(4)]
    first = await newest(organization.id, 2)
    await a_stored_workload(organization, created_at=after(9))
    second = await newest(organization.id, 9, Position(first[-1].created_at, first[-1].id))
    assert [w.id for w in first + second] == [w.id for w in reversed(old)]


async def test_lists_and_counts_are_of_one_organization_and_the_statuses_asked_for(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    await a_stored_workload(other)
    for status in (Status.FAILED, Status.COMPLETED, Status.FAILED):
        await ended(await a_stored_workload(acme), status)
    pending = await a_stored_workload(acme)
    assert await count_workloads(Selection(acme.id)) == 4
    assert await count_workloads(Selection(acme.id, statuses=[Status.FAILED])) == 2
    assert await count_workloads(Selection(acme.id, statuses=[Status.FAILED, Status.COMPLETED])) == 3
    assert await count_workloads(Selection(acme.id, statuses=[])) == 0
    assert [w.id for w in await newest(acme.id, 9, statuses=[Status.PENDING])] == [pending.id]
    assert await newest(acme.id, 9, statuses=[]) == []


async def test_pages_of_a_status_hold_only_that(database: Database):
    organization = await an_organization()
    stored = [await a_stored_workload(organization, created_at=after(i)) for i in range(6)]
    for workload in stored[::2]:
        await ended(workload, Status.COMPLETED)
    [first] = await newest(organization.id, 1, statuses=[Status.COMPLETED])
    rest = await newest(organization.id, 9, Position(first.created_at, first.id), [Status.COMPLETED])
    assert [w.id for w in [first, *rest]] == [stored[i].id for i in (4, 2, 0)]


async def test_a_workload_is_found_within_its_organization_only(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    workload = await a_stored_workload(acme)
    assert await reads.find_workload(acme.id, workload.id) == workload
    assert await reads.find_workload(other.id, workload.id) is None
    assert await reads.find_workload(acme.id, uuid4()) is None
    assert await reads.load_workload(uuid4()) is None
    assert await reads.workloads_by_id([workload.id, uuid4()]) == {workload.id: workload}
    assert await reads.workloads_by_id([]) == {}


async def test_an_idempotency_key_leads_to_its_workload(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    workload = await a_stored_workload(acme, spec={"idempotency_key": "k"})
    found = await reads.find_by_idempotency_key(acme.id, "k")
    assert found is not None
    assert found[0] == workload
    assert await reads.find_by_idempotency_key(other.id, "k") is None
    assert await reads.find_by_idempotency_key(acme.id, "K") is None


async def test_who_waits_longest_comes_first(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    late = await a_stored_workload(acme, queued_at=after(2))
    early = await a_stored_workload(other, queued_at=after(0.5))
    earlier = await a_stored_workload(acme, created_at=after(5), queued_at=after(0))
    await a_placed_workload(acme, queued_at=after(-1))
    await ended(await a_stored_workload(acme, queued_at=after(-2)), Status.CANCELLED)
    assert [w.id for w in await reads.waiting_workloads()] == [earlier.id, early.id, late.id]


async def test_what_waits_after_a_hold_waits_too(database: Database):
    organization = await an_organization()
    resuming = await a_stored_workload(organization, phase=Phase.RESUMING)
    await a_stored_workload(organization, phase=Phase.SUSPENDED)
    assert [w.id for w in await reads.waiting_workloads()] == [resuming.id]


async def test_attempts_stay_on_record_until_they_are_swept(database: Database):
    organization = await an_organization()
    workload, first = await a_placed_workload(organization)
    requeued = replace(workload, phase=Phase.QUEUED, reason=Reason.BACKING_OFF)
    over = replace(first, ended_at=after(1), reason=Reason.EVICTED)
    await apply_changes(organization.id, [Change(workload, requeued, first, over)], START)
    await apply_changes(organization.id, [placement(await loaded(workload))], START)
    assert [a.number for a in await reads.uncleaned_attempts(workload.id)] == [1, 2]
    await save_cleanup(over, replace(over, cleaned_at=after(2)))
    assert [a.number for a in await reads.uncleaned_attempts(workload.id)] == [2]
    assert [a.number for a in await reads.attempts_of([workload.id])] == [1, 2]


async def test_a_restart_begins_with_what_lives_or_left_something(database: Database):
    organization = await an_organization()
    await a_stored_workload(organization)
    placed, _ = await a_placed_workload(organization)
    swept, attempt = await a_placed_workload(organization)
    await ended(await loaded(swept), Status.FAILED)
    left, _ = await a_placed_workload(organization)
    await ended(await loaded(left), Status.FAILED)
    await save_cleanup(attempt, replace(attempt, cleaned_at=START))
    await ended(await a_stored_workload(organization), Status.CANCELLED)
    found = await reads.attempts_to_reconcile()
    assert len(found) == 2
    assert set(found) == {("default", placed.id), ("default", left.id)}


async def test_attempts_that_do_not_execute_yet_are_counted_with_their_workload(database: Database):
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    running, started = await a_placed_workload(organization)
    change = Change(running, running, started, replace(started, started_at=START))
    await apply_changes(organization.id, [change], START)
    over, last = await a_placed_workload(organization)
    await apply_changes(organization.id, [Change(over, over, last, replace(last, ended_at=START))], START)
    await a_stored_workload(organization)
    assert await reads.unstarted_attempts() == [(attempt, workload)]


async def test_events_of_some_workloads_come_in_order(database: Database):
    organization = await an_organization()
    first, second, third = [await a_stored_workload(organization) for _ in range(3)]
    await apply_changes(organization.id, [placement(third), placement(first)], START)
    told = await reads.events_of([first.id, third.id])
    assert [e.workload_id for e in told] == [first.id, third.id, third.id, first.id]
    assert second.id in {e.workload_id for e in await events(organization)}
    assert await reads.events_of([]) == []


async def ended(workload: Workload, status: Status) -> None:
    after = replace(workload, status=status, phase=TERMINAL_PHASES[status], reason=Reason.EXITED)
    assert await apply_changes(workload.organization_id, [Change(workload, after)], START) == [True]


async def test_what_projects_hold_is_counted_in_whole_gpus_until_it_is_over(database: Database):
    organization = await an_organization()
    vision, speech = [await people.add_project(organization.id, slug, slug, START) for slug in ("vision", "speech")]

    def asking(gpus: int, **spec: object) -> dict[str, object]:
        return {"spec": {"resources": Resources(gpus, 1000, 2**30), "project_id": vision.id, **spec}}

    await a_placed_workload(organization, **asking(2))
    await a_placed_workload(organization, **asking(3))
    await a_placed_workload(organization, **asking(7, gpu_requirements=GpuRequirements(mig_profile="1g.10gb")))
    workload, attempt = await a_placed_workload(organization, **asking(1))
    await a_stored_workload(organization, **asking(5))
    assert await reads.gpus_in_use([vision.id, speech.id]) == {vision.id: 6}
    assert sorted((it.gpu_count, it.kind == WHOLE) for it in await reads.live_attempts()) == [
        (1, True),
        (2, True),
        (3, True),
        (7, False),
    ]
    over = Change(workload, replace(workload, message="over"), attempt, replace(attempt, ended_at=after(9)))
    assert await apply_changes(organization.id, [over], after(9)) == [True]
    assert await reads.gpus_in_use([vision.id, speech.id]) == {vision.id: 5}
