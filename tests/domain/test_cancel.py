"""Cancelling at every stage until the cluster confirms, and against the container's own end by the cluster's clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.lifecycle import DeleteJob, SecureLog, decide, refuse, request_cancel
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt
from tests.domain.builders import (
    POLICY,
    a_created_attempt,
    a_placed_workload,
    a_pod,
    a_running_pod,
    a_running_workload,
    a_starting_workload,
    a_workload,
    an_attempt,
    an_end,
    an_ended_pod,
    an_executing_attempt,
    at,
    cancelled_at,
    decided,
    seen,
    stopped_for,
    without_job,
)


def test_before_its_job_exists_it_is_cancelled_at_once() -> None:
    decision = decided(cancelled_at(1, a_placed_workload()), an_attempt(), without_job(), 2)
    assert (decision.workload.status, decision.workload.reason) == (Status.CANCELLED, Reason.CANCELLED_BY_USER)
    assert (decision.workload.exit_code, decision.workload.started_at) == (None, None)
    assert decision.actions == ()
    assert decision.attempt is not None
    assert decision.attempt.ended_at == at(2)


def test_while_its_job_is_being_created_the_job_is_deleted_first() -> None:
    workload = cancelled_at(3, a_placed_workload())
    asked = decided(workload, an_attempt(), seen(), 4)
    assert asked.actions == (DeleteJob("job-1"),)
    assert (asked.workload.status, asked.workload.phase) == (Status.PENDING, Phase.STOPPING)
    assert asked.attempt is not None
    assert (asked.attempt.stop_reason, asked.attempt.stop_requested_at) == (Reason.CANCEL_REQUESTED, at(4))
    gone = decided(asked.workload, asked.attempt, without_job(), 5)
    assert gone.workload.status is Status.CANCELLED


def test_what_executes_stays_running_until_the_cluster_confirms() -> None:
    workload = cancelled_at(700, a_running_workload())
    asked = decided(workload, an_executing_attempt(), seen(a_running_pod()), 701)
    assert asked.actions == (SecureLog(a_running_pod()), DeleteJob("job-1"))
    assert (asked.workload.status, asked.workload.phase) == (Status.RUNNING, Phase.STOPPING)
    assert asked.workload.reason is Reason.CANCEL_REQUESTED
    assert "bob@example.org" in asked.workload.message
    assert asked.attempt is not None
    dying = a_running_pod(deletion_requested_at=at(701))
    for observation in (seen(dying, is_deleting=True), without_job(dying)):
        waits = decided(asked.workload, asked.attempt, observation, 710)
        assert (waits.workload.phase, waits.actions) == (Phase.STOPPING, (SecureLog(dying),))
        assert waits.wake_at is not None
        assert waits.wake_at > at(710)


def test_the_killed_containers_code_is_kept_with_the_cancel() -> None:
    attempt = stopped_for(Reason.CANCEL_REQUESTED, 701, an_executing_attempt())
    pod = an_ended_pod(an_end(143, finished=703), deletion_requested_at=at(701))
    ended = decided(cancelled_at(700, a_running_workload(phase=Phase.STOPPING)), attempt, without_job(pod)).workload
    assert (ended.status, ended.exit_code, ended.signal) == (Status.CANCELLED, 143, 15)
    assert ended.completed_at == at(703)
    assert "143" in ended.message


def test_on_a_silent_server_it_is_stopping_until_the_server_answers() -> None:
    workload = cancelled_at(700, a_running_workload(phase=Phase.UNKNOWN))
    decision = decided(workload, an_executing_attempt(), seen(a_running_pod(), answers=False, is_deleting=True), 9000)
    assert (decision.workload.status, decision.workload.phase) == (Status.RUNNING, Phase.STOPPING)


@pytest.mark.parametrize("earlier", [Reason.START_TIMEOUT, Reason.IMAGE_INVALID])
def test_a_cancel_outranks_an_earlier_intent_to_stop(earlier: Reason) -> None:
    attempt = stopped_for(earlier, 1800, a_created_attempt())
    workload = cancelled_at(1801, a_starting_workload(phase=Phase.STOPPING))
    asked = decided(workload, attempt, seen(a_pod(), is_deleting=True), 1802)
    assert asked.workload.reason is Reason.CANCEL_REQUESTED
    assert asked.attempt is not None
    assert (asked.attempt.stop_reason, asked.attempt.stop_requested_at) == (Reason.CANCEL_REQUESTED, at(1800))
    assert decided(asked.workload, asked.attempt, without_job(), 1810).workload.status is Status.CANCELLED


CLOCKS: list[tuple[str, float, int | None, float, Status]] = [
    ("asked long before, killed for it", 500, 501, 503, Status.CANCELLED),
    ("asked before, ended by itself before anybody deleted", 599.9, None, 600, Status.CANCELLED),
    ("asked after its own end", 601, None, 600, Status.COMPLETED),
    ("asked after its own end, deleted in vain", 650, 651, 600, Status.COMPLETED),
    ("the same second, nobody had begun to delete", 600.5, None, 600, Status.COMPLETED),
    ("the same second, the delete came a second later", 600.5, 601, 600, Status.COMPLETED),
    ("the same second, the delete too", 600.5, 600, 600, Status.CANCELLED),
    ("the cluster's clock is a minute behind ours", 660, 600, 603, Status.CANCELLED),
]


@pytest.mark.parametrize(
    ("asked", "deleted", "finished", "status"), [pytest.param(*row[1:], id=row[0]) for row in CLOCKS]
)
def test_a_cancel_against_the_containers_own_end(
    asked: float, deleted: int | None, finished: float, status: Status
) -> None:
    """The cluster's stamps are whole seconds, cut off; within one the pod's deletion stamp decides."""
    attempt = an_executing_attempt()
    if deleted is not None:
        attempt = stopped_for(Reason.CANCEL_REQUESTED, asked + 0.1, attempt)
    pod = an_ended_pod(an_end(0, finished=finished), deletion_requested_at=None if deleted is None else at(deleted))
    ended = decided(cancelled_at(asked, a_running_workload()), attempt, seen(pod)).workload
    assert ended.status is status


@pytest.mark.parametrize("code", [137, 143])
def test_a_deletion_stamp_that_moved_on_does_not_hide_our_signal(code: int) -> None:
    """An ended pod's grace time is set to 0, and its stamp moves with it: into the next second, if it so happens."""
    attempt = stopped_for(Reason.CANCEL_REQUESTED, 600.9, an_executing_attempt())
    pod = an_ended_pod(an_end(code, finished=600), deletion_requested_at=at(601))
    ended = decided(cancelled_at(600.8, a_running_workload()), attempt, seen(pod)).workload
    assert (ended.status, ended.exit_code) == (Status.CANCELLED, code)


STOPPED_AT_THE_LIMIT = stopped_for(Reason.RUN_TIMEOUT, 3710, an_executing_attempt())


@pytest.mark.parametrize(
    ("attempt", "status", "reason"),
    [
        pytest.param(STOPPED_AT_THE_LIMIT, Status.TIMEOUT, Reason.RUN_TIMEOUT, id="we had stopped it at its limit"),
        pytest.param(an_executing_attempt(), Status.FAILED, Reason.POD_DELETED, id="somebody had deleted its pod"),
    ],
)
def test_a_cancel_asked_after_it_was_stopped_for_something_else(
    attempt: Attempt, status: Status, reason: Reason
) -> None:
    pod = an_ended_pod(an_end(143, finished=3715), deletion_requested_at=at(3710))
    ended = decided(cancelled_at(3730, a_running_workload()), attempt, seen(pod), 3740).workload
    assert (ended.status, ended.reason) == (status, reason)


def test_a_cancel_while_it_is_being_stopped_at_its_limit_makes_it_cancelled() -> None:
    pod = an_ended_pod(an_end(143, finished=3715), deletion_requested_at=at(3710))
    ended = decided(cancelled_at(3712, a_running_workload()), STOPPED_AT_THE_LIMIT, seen(pod), 3740).workload
    assert ended.status is Status.CANCELLED


@pytest.mark.parametrize(
    "attempt", [an_executing_attempt(), stopped_for(Reason.CANCEL_REQUESTED, 651, an_executing_attempt())]
)
def test_an_eviction_before_the_cancel_stays_an_eviction(attempt: Attempt) -> None:
    pod = an_ended_pod(an_end(137), reason="Evicted", disruption="TerminationByKubelet")
    ended = decided(cancelled_at(650, a_running_workload(max_retries=3)), attempt, seen(pod)).workload
    assert (ended.status, ended.reason) == (Status.FAILED, Reason.EVICTED)


def test_a_refusal_by_the_server_after_the_cancel_is_a_cancel() -> None:
    pod = a_pod(phase="Failed", reason="UnexpectedAdmissionError")
    ended = decided(cancelled_at(4, a_starting_workload()), a_created_attempt(), seen(pod), 6).workload
    assert ended.status is Status.CANCELLED


def test_a_job_that_the_api_refuses_after_the_cancel_is_a_cancel() -> None:
    decision = refuse(cancelled_at(1, a_placed_workload()), an_attempt(), "quota exceeded", at(2), POLICY)
    assert decision.workload.status is Status.CANCELLED


def test_the_moment_of_the_first_intent_to_stop_is_kept() -> None:
    workload = cancelled_at(700, a_running_workload())
    attempt = stopped_for(Reason.CANCEL_REQUESTED, 701, an_executing_attempt())
    later = decide(workload, attempt, seen(a_running_pod(), is_deleting=True), at(800), POLICY).attempt
    assert later == replace(attempt, gpus=a_running_pod().gpus)


def test_what_is_held_is_cancelled_at_once() -> None:
    held = a_workload(phase=Phase.SUSPENDED, attempt=1)
    decision = request_cancel(held, "bob@example.org", at(9000))
    assert (decision.workload.status, decision.workload.phase) == (Status.CANCELLED, Phase.CANCELLED)
    assert decision.workload.completed_at == at(9000)
