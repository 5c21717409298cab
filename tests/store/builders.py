"""Rows that the store tests begin with: organizations, people, and workloads of their own id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from app.domain.filters import NEWEST
from app.domain.lifecycle import place
from app.domain.people import Organization, Role
from app.domain.states import Status
from app.domain.workload import Attempt, Event, Workload
from app.store import people, reads
from app.store.listing import Position, Selection, list_workloads
from app.store.writes import Change, apply_changes, insert_workload
from tests.clock import START
from tests.domain.builders import a_submission, a_workload

CLUSTER = "default"
SERVER = "gpu-1"
GPU = "nvidia.com/gpu"


async def an_organization(slug: str = "acme", *, enabled: bool = True, is_default: bool = True) -> Organization:
    return await people.add_organization(slug, slug.title(), enabled=enabled, is_default=is_default, at=START)


async def a_user(email: str, organization: Organization, role: Role) -> UUID:
    user = await people.add_user(email, "hash", START)
    await people.set_membership(organization.id, user.id, role, START)
    return user.id


def a_new_workload(organization: Organization, *, spec: dict[str, Any] | None = None, **changes: Any) -> Workload:
    """Accepted, waiting, not stored yet. `spec` changes what was asked for."""
    values = {"organization_id": organization.id, "created_at": START, "queued_at": START, "message": "waits"}
    return a_workload(**{"id": uuid4(), **values, **changes, "spec": a_submission(**(spec or {}))})


async def a_stored_workload(organization: Organization, **changes: Any) -> Workload:
    workload = a_new_workload(organization, **changes)
    await insert_workload(workload)
    return workload


def placement(workload: Workload, at: datetime = START, namespace: str = "") -> Change:
    """The change that gives a waiting workload its server."""
    decision = place(workload, SERVER, GPU, at, CLUSTER)
    assert decision.attempt
    return Change(workload, decision.workload, None, replace(decision.attempt, namespace=namespace))


async def a_placed_workload(organization: Organization, **changes: Any) -> tuple[Workload, Attempt]:
    """Stored, and its first attempt with it; nothing exists in a cluster."""
    workload = await a_stored_workload(organization, **changes)
    assert await apply_changes(organization.id, [placement(workload)], START) == [True]
    [attempt] = await reads.attempts_of([workload.id])
    return await loaded(workload), attempt


async def with_a_pod(workload: Workload, attempt: Attempt, uid: str = "uid-1", **changes: Any) -> Attempt:
    """The attempt, whose pod the cluster has told by now."""
    known = replace(attempt, pod_uid=uid, **changes)
    assert await apply_changes(workload.organization_id, [Change(workload, workload, attempt, known)], START)
    return known


async def newest(
    organization_id: UUID, limit: int = 500, after: Position | None = None, statuses: Iterable[Status] | None = None
) -> list[Workload]:
    """The organization's workloads, newest first."""
    found = await list_workloads(Selection(organization_id, statuses=statuses), NEWEST, limit, after)
    return [workload for workload, _ in found]


async def loaded(workload: Workload) -> Workload:
    found = await reads.load_workload(workload.id)
    assert found is not None
    return found


async def events(organization: Organization) -> list[Event]:
    return await reads.events_after(organization.id, 0, 10_000)


def next_version(workload: Workload, **changes: Any) -> Workload:
    return replace(workload, version=workload.version + 1, **changes)
