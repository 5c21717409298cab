"""Submitting on a real database: what is stored, who is woken, and what the same key means the second time."""

from __future__ import annotations

import asyncio

import pytest

from app.commands.submit_workload import submit_workload
from app.domain.errors import ConflictError
from app.domain.people import Role, Scope
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, job_name
from app.store import people, servers
from app.store.database import Database
from tests.clock import START, ManualClock
from tests.placement.builders import node
from tests.store.builders import an_organization, events, loaded
from tests.store.desk import Desk, a_desk, a_draft, refusals, rows


@pytest.fixture
async def desk(database: Database, clock: ManualClock) -> Desk:
    return await a_desk(clock)


async def test_an_accepted_workload_waits_and_the_scheduler_is_woken(desk: Desk):
    done = await submit_workload(desk.context, desk.person(), "acme", a_draft(gpu_count=8))
    assert done.is_new
    assert await loaded(done.workload) == done.workload
    assert done.workload.spec.image == "nvidia/cuda:12.2.0-base-ubuntu22.04"
    assert (done.workload.status, done.workload.phase, done.workload.reason) == (
        Status.PENDING,
        Phase.QUEUED,
        Reason.SUBMITTED,
    )
    assert (done.workload.submitted_by, done.workload.created_at) == ("owner@example.org", START)
    assert done.workload.job_name == job_name(done.workload.id, 1)
    assert [e.type for e in await events(desk.organization)] == [EventType.SUBMITTED]
    assert desk.woken == ["queue"]
    assert await refusals() == []


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
async def test_owners_and_admins_may_submit(desk: Desk, role: Role):
    assert (await submit_workload(desk.context, desk.person(role), "acme", a_draft())).is_new


async def test_a_token_with_the_scope_may_submit(desk: Desk):
    person = desk.person(scopes=frozenset({Scope.WORKLOADS_WRITE}))
    assert (await submit_workload(desk.context, person, "acme", a_draft())).is_new


async def test_a_project_of_the_organization_is_kept(desk: Desk):
    project = await people.add_project(desk.organization.id, "vision", "Vision", START)
    done = await submit_workload(desk.context, desk.person(), "acme", a_draft(project_id=project.id))
    assert (await loaded(done.workload)).spec.project_id == project.id


async def test_the_same_key_and_request_lead_to_the_first_workload(desk: Desk):
    first = await submit_workload(desk.context, desk.person(), "acme", a_draft(idempotency_key="k"))
    desk.clock.advance(60)
    again = await submit_workload(desk.context, desk.person(Role.ADMIN), "acme", a_draft(idempotency_key="k"))
    assert (again.is_new, again.workload) == (False, first.workload)
    assert await rows() == {"workloads": 1, "attempts": 0, "events": 1}
    assert desk.woken == ["queue"]


@pytest.mark.parametrize(
    "change",
    [{"gpu_count": 2}, {"env_vars": [("A", "1")]}, {"timeout_seconds": 60}, {"name": "other"}, {"args": ["x"]}],
)
async def test_the_same_key_with_another_request_is_a_conflict(desk: Desk, change: dict[str, object]):
    first = await submit_workload(desk.context, desk.person(), "acme", a_draft(idempotency_key="k"))
    with pytest.raises(ConflictError, match=rf"'k' was used for another request, workload {first.workload.id}"):
        await submit_workload(desk.context, desk.person(), "acme", a_draft(idempotency_key="k", **change))
    assert await rows() == {"workloads": 1, "attempts": 0, "events": 1}
    assert await refusals() == [("owner@example.org", "submit_workload", "acme", "CONFLICT")]


async def test_a_key_counts_within_its_organization(desk: Desk):
    other = await an_organization("other", is_default=False)
    person = desk.person(roles={desk.organization.id: Role.OWNER, other.id: Role.OWNER})
    for slug in ("acme", "other"):
        assert (await submit_workload(desk.context, person, slug, a_draft(idempotency_key="k"))).is_new


async def test_concurrent_submissions_with_one_key_are_one_workload(desk: Desk):
    draft = a_draft(idempotency_key="k")
    submitting = (submit_workload(desk.context, desk.person(), "acme", draft) for _ in range(8))
    outcomes = await asyncio.gather(*submitting)
    assert sorted(done.is_new for done in outcomes) == [False] * 7 + [True]
    assert len({done.workload.id for done in outcomes}) == 1
    assert await rows() == {"workloads": 1, "attempts": 0, "events": 1}


async def test_a_replay_finds_its_workload_although_the_servers_are_smaller_now(desk: Desk):
    """What was accepted stays accepted: a client that lost the answer must get it."""
    draft = a_draft(gpu_count=8, idempotency_key="k")
    first = await submit_workload(desk.context, desk.person(), "acme", draft)
    await servers.record_nodes("default", [(node("gpu-1", 2), "acme")], START)
    again = await submit_workload(desk.context, desk.person(), "acme", draft)
    assert (again.is_new, again.workload.id) == (False, first.workload.id)
