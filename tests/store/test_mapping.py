"""Every field of a noun survives the way into its row and back, in memory and through both databases."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.gpus import ANY_GPU, GpuRequirements
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.volumes import Mount
from app.domain.workload import Attempt, Event, EventType, NewEvent, Resources, Submission, Workload
from app.store import mapping, people, reads
from app.store.database import Database
from app.store.models import AttemptRow, EventRow, WorkloadRow
from app.store.writes import Change, apply_changes, insert_workload, save_cleanup
from tests.clock import START
from tests.store.builders import a_placed_workload, an_organization, events, loaded
from tests.store.full import a_full_attempt, a_full_workload

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 — given a zone
sizes = st.integers(1, 2**46)
seconds = st.integers(1, 2**31 - 1)
codes = st.none() | st.integers(0, 255)
words = st.tuples() | st.lists(text, max_size=4).map(tuple)

resources = st.builds(Resources, gpu_count=st.integers(1, 1024), cpu_millis=sizes, memory_bytes=sizes)
submission_values: dict[str, st.SearchStrategy[Any]] = {
    "name": text,
    "image": text,
    "resources": resources,
    "timeout_seconds": seconds,
    "start_timeout_seconds": seconds,
    "queue_timeout_seconds": st.none() | seconds,
    "env_vars": st.lists(st.tuples(text, text), max_size=3).map(tuple),
    "command": words,
    "args": words,
    "cuda": st.none() | st.just("12.4"),
    "max_retries": st.integers(0, 9),
    "labels": st.lists(st.tuples(text, text), max_size=3).map(tuple),
    "mounts": st.lists(st.builds(Mount, name=text, path=text, read_only=st.booleans()), max_size=3).map(tuple),
    "shared_memory_bytes": st.none() | sizes,
    "gpu_requirements": st.builds(
        GpuRequirements, words, sizes, st.sampled_from(((), (8, 0))), st.sampled_from(("", "1g.10gb")), st.booleans()
    ),
    "priority": st.sampled_from(Priority),
    "preemptible": st.booleans(),
    "project_id": st.none() | st.uuids(),
    "idempotency_key": st.none() | text,
}
submissions = st.builds(Submission, **submission_values)
workload_values: dict[str, st.SearchStrategy[Any]] = {
    "id": st.uuids(),
    "organization_id": st.uuids(),
    "spec": submissions,
    "submitted_by": text,
    "created_at": moments,
    "status": st.sampled_from(Status),
    "phase": st.sampled_from(Phase),
    "reason": st.sampled_from(Reason),
    "message": text,
    "version": sizes,
    "attempt": st.integers(0, 99),
    "queued_at": moments,
    "not_before": st.none() | moments,
    "avoid_servers": words,
    "retries_used": st.integers(0, 9),
    "attempts_yielded": st.integers(0, 9),
    "nominated_server": text,
    "cancel_requested_at": st.none() | moments,
    "cancelled_by": text,
    "started_at": st.none() | moments,
    "held_at": st.none() | moments,
    "held_by": text,
    "deleted_at": st.none() | moments,
    "retry_of": st.none() | st.uuids(),
    "completed_at": st.none() | moments,
    "exit_code": codes,
    "server": text,
    "cluster": text,
    "gpus": words,
}
workloads = st.builds(Workload, **workload_values)
attempt_values: dict[str, st.SearchStrategy[Any]] = {
    "workload_id": st.uuids(),
    "number": st.integers(1, 99),
    "server": text,
    "cluster": text,
    "gpu_resource": text,
    "placed_at": moments,
    "job_uid": text,
    "pod_name": text,
    "pod_uid": text,
    "waiting_reason": text,
    "waiting_message": text,
    "started_at": st.none() | moments,
    "finished_at": st.none() | moments,
    "exit_code": codes,
    "termination": text,
    "gpus": words,
    "stop_reason": st.none() | st.sampled_from(Reason),
    "stop_requested_at": st.none() | moments,
    "reason": st.none() | st.sampled_from(Reason),
    "message": text,
    "ended_at": st.none() | moments,
    "log_taken_at": st.none() | moments,
    "cleaned_at": st.none() | moments,
    "namespace": text,
}
attempts = st.builds(Attempt, **attempt_values)
new_events = st.builds(
    NewEvent,
    workload_id=st.uuids(),
    type=st.sampled_from(EventType),
    status=st.sampled_from(Status),
    phase=st.sampled_from(Phase),
    reason=st.sampled_from(Reason),
    message=text,
    at=moments,
    attempt=st.integers(0, 99),
    exit_code=codes,
    server=text,
)


# Tortoise gives rows their foreign keys' columns when a database is first opened in the process.
needs_models = pytest.mark.usefixtures("migrated_sqlite")


@needs_models
@given(workloads)
def test_workload_comes_back_as_it_was(workload: Workload):
    assert mapping.workload(WorkloadRow(**mapping.workload_values(workload))) == workload


@needs_models
@given(attempts)
def test_attempt_comes_back_as_it_was(attempt: Attempt):
    assert mapping.attempt(AttemptRow(**mapping.attempt_values(attempt))) == attempt


@needs_models
@given(new_events, st.uuids(), sizes)
def test_event_comes_back_as_it_was(new: NewEvent, organization_id: Any, sequence: int):
    row = EventRow(organization_id=organization_id, sequence=sequence, **mapping.event_values(new))
    values = {f.name: getattr(new, f.name) for f in fields(new)}
    assert mapping.event(row) == Event(**values, organization_id=organization_id, sequence=sequence)


def test_the_strategies_leave_no_field_at_its_default():
    """A field that is added to a noun must be added above: its default would come back by luck."""
    checked: list[tuple[dict[str, Any], type[Any]]] = [
        (workload_values, Workload),
        (attempt_values, Attempt),
        (submission_values, Submission),
    ]
    for values, noun in checked:
        assert set(values) == {f.name for f in fields(noun)}


@needs_models
def test_a_row_from_before_there_were_labels_and_mounts_has_none():
    row = WorkloadRow(**mapping.workload_values(a_full_workload(uuid4(), uuid4(), None)))
    row.labels = row.mounts = row.shared_memory_bytes = row.gpu_requirements = None  # type: ignore[assignment]
    spec = mapping.workload(row).spec
    assert (spec.labels, spec.mounts, spec.shared_memory_bytes, spec.gpu_requirements) == ((), (), None, ANY_GPU)


@needs_models
def test_a_queue_time_that_is_not_known_begins_at_the_submission():
    row = WorkloadRow(**mapping.workload_values(a_full_workload(uuid4(), uuid4(), None, queued_at=None)))
    assert mapping.workload(row).queued_at == START


async def test_every_field_of_a_workload_is_kept(database: Database):
    organization = await an_organization()
    project = await people.add_project(organization.id, "vision", "Vision", START)
    workload = a_full_workload(uuid4(), organization.id, project.id)
    await insert_workload(workload)
    assert await loaded(workload) == workload


async def test_every_field_of_an_attempt_is_kept(database: Database):
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    full = a_full_attempt(attempt)
    [won] = await apply_changes(organization.id, [Change(workload, workload, attempt, full)], START)
    assert won
    assert await reads.attempts_of([workload.id]) == [full]


async def test_every_field_of_an_event_is_kept(database: Database):
    organization = await an_organization()
    workload, _ = await a_placed_workload(organization)
    after = replace(
        workload, phase=Phase.FAILED, status=Status.FAILED, reason=Reason.EVICTED, exit_code=137, message="é\n→"
    )
    await apply_changes(organization.id, [Change(workload, after)], START + timedelta(microseconds=7))
    assert (await events(organization))[-1] == Event(
        workload_id=workload.id,
        type=EventType.ENDED,
        status=Status.FAILED,
        phase=Phase.FAILED,
        reason=Reason.EVICTED,
        message="é\n→",
        at=START + timedelta(microseconds=7),
        attempt=1,
        exit_code=137,
        server="gpu-1",
        organization_id=organization.id,
        sequence=3,
    )


async def test_only_the_cleanup_of_an_ended_attempt_is_kept_without_a_version(database: Database):
    workload, attempt = await a_placed_workload(await an_organization())
    await save_cleanup(attempt, replace(attempt, cleaned_at=START))
    assert await reads.uncleaned_attempts(workload.id) == []
    assert await loaded(workload) == workload


async def test_text_of_the_cluster_may_hold_a_nul(database: Database):
    """A container's last words come with its end: whatever bytes they hold, the end must be stored."""
    organization = await an_organization()
    workload, attempt = await a_placed_workload(organization)
    ended = replace(workload, status=Status.FAILED, phase=Phase.FAILED, reason=Reason.START_ERROR, message="no \0 name")
    after = replace(attempt, message="no \0 name", waiting_message="a\0b", termination="Start\0Error", ended_at=START)
    assert await apply_changes(organization.id, [Change(workload, ended, attempt, after)], START) == [True]
    assert (await loaded(workload)).status is Status.FAILED
