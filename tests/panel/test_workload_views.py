"""Badges and clocks: what is made of a workload before any template sees it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, Event, EventType, Workload
from app.panel.workload_views import Badge, WaitedView, badge, clocks, row_view, workload_view
from tests.domain.builders import (
    ORGANIZATION_ID,
    RUN_LIMIT,
    START_LIMIT,
    STARTED,
    WORKLOAD_ID,
    a_placed_workload,
    a_running_workload,
    a_workload,
    at,
)

ATTEMPT = Attempt(WORKLOAD_ID, 1, "gpu-1", "nvidia.com/gpu", placed_at=at(0))


def completed(exit_code: int | None) -> Workload:
    running = a_running_workload(exit_code=exit_code, completed_at=at(100))
    return replace(running, status=Status.COMPLETED, phase=Phase.COMPLETED)


BADGES = [
    (a_workload(), Badge("pending", "pending", "queued")),
    (a_placed_workload(), Badge("pending", "pending", "creating")),
    (a_running_workload(), Badge("running", "running")),
    (a_running_workload(phase=Phase.STOPPING), Badge("stopping", "running", "stopping")),
    (a_running_workload(phase=Phase.UNKNOWN), Badge("unknown", "running", "unknown")),
    (completed(0), Badge("completed", "completed")),
    (completed(None), Badge("completed", "completed")),
    (completed(3), Badge("nonzero", "completed · exit 3")),
    (replace(completed(None), status=Status.TIMEOUT, phase=Phase.TIMED_OUT), Badge("timeout", "timeout")),
    (replace(completed(137), status=Status.FAILED, phase=Phase.FAILED), Badge("failed", "failed")),
]


@pytest.mark.parametrize(("workload", "wanted"), BADGES)
def test_badges(workload: Workload, wanted: Badge):
    assert badge(workload) == wanted


def test_while_it_waits_only_the_queue_clock_runs():
    queue, start, run = clocks(a_workload(queue_limit=600), None)
    assert (queue.since, queue.until, queue.ends_at) == (at(-60), None, at(540))
    assert (start.since, run.since, start.ends_at, run.ends_at) == (None, None, None, None)


def test_once_placed_the_start_clock_runs():
    queue, start, run = clocks(a_placed_workload(), ATTEMPT)
    assert (queue.until, queue.ends_at) == (at(0), None)
    assert (start.since, start.until, start.ends_at) == (at(0), None, at(START_LIMIT))
    assert run.since is None


def test_while_it_executes_the_run_clock_runs():
    attempt = replace(ATTEMPT, started_at=at(STARTED))
    _, start, run = clocks(a_running_workload(), attempt)
    assert start.until == at(STARTED)
    assert (run.since, run.until, run.ends_at) == (at(STARTED), None, at(STARTED + RUN_LIMIT))


def test_at_the_end_all_have_stopped():
    attempt = replace(ATTEMPT, started_at=at(STARTED), finished_at=at(99), ended_at=at(100))
    assert [c.until for c in clocks(completed(0), attempt)] == [at(0), at(STARTED), at(99)]


def test_what_was_cancelled_in_the_queue_has_stopped_waiting():
    cancelled = replace(a_workload(), status=Status.CANCELLED, phase=Phase.CANCELLED, completed_at=at(5))
    queue, start, run = clocks(cancelled, None)
    assert queue.until == at(5)
    assert (start.since, run.since) == (None, None)


def test_while_it_is_suspended_no_clock_runs():
    suspended = a_workload(phase=Phase.SUSPENDED, attempt=1, queued_at=at(100), held_at=at(100), queue_limit=60)
    queue, start, run = clocks(suspended, replace(ATTEMPT, started_at=at(5), ended_at=at(120)))
    assert (queue.since, queue.until, queue.ends_at) == (at(100), at(100), None)
    assert (start.since, run.since) == (None, None)


def test_after_a_failed_attempt_the_queue_clock_runs_again():
    again = a_workload(attempt=1, queued_at=at(200))
    queue, start, _ = clocks(again, replace(ATTEMPT, ended_at=at(150)))
    assert (queue.since, queue.until) == (at(200), None)
    assert start.since is None


def waited(*told: tuple[float, Phase, Reason]) -> tuple[WaitedView, ...]:
    events = [
        Event(WORKLOAD_ID, EventType.WAITING, Status.PENDING, phase, reason, "", at(seconds),
              organization_id=ORGANIZATION_ID, sequence=1)
        for seconds, phase, reason in told
    ]  # fmt: skip
    workload = a_workload()
    row = row_view("acme", workload, {}, names_clusters=False)
    return workload_view(row, workload, [], events, {}, names_clusters=False).waited


def test_what_it_waited_for_is_added_up_by_reason():
    story = [
        (0.0, Phase.QUEUED, Reason.SUBMITTED),
        (0.1, Phase.QUEUED, Reason.BEHIND_RESERVATION),
        (10.1, Phase.QUEUED, Reason.WAITING_FOR_GPUS),
        (40.1, Phase.QUEUED, Reason.BEHIND_RESERVATION),
    ]
    gpus = WaitedView("for GPUs", timedelta(seconds=30))
    assert waited(*story) == (gpus, WaitedView("behind a reservation", timedelta(seconds=10), at(40.1)))
    placed = (45.1, Phase.CREATING, Reason.PLACED)
    assert waited(*story, placed) == (gpus, WaitedView("behind a reservation", timedelta(seconds=15)))
    assert waited() == ()
