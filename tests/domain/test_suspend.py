"""Suspending at every stage until the cluster confirms, against the container's own end, and what comes after it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from app.domain import requests
from app.domain.contact import lose_contact
from app.domain.errors import ConflictError
from app.domain.events import event_between
from app.domain.lifecycle import Decision, DeleteJob, SecureLog, place, refuse, request_cancel
from app.domain.observed import ObservedPod
from app.domain.priority import Priority
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, EventType, Workload
from tests.domain.builders import (
    POLICY,
    SERVER,
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
    decided,
    seen,
    stopped_for,
    without_job,
)

KILLED = an_ended_pod(an_end(143, finished=703), deletion_requested_at=at(701))
STOPPED = stopped_for(Reason.SUSPEND_REQUESTED, 701, an_executing_attempt())


def suspended_at(seconds: float, workload: Workload) -> Workload:
    return requests.suspend(workload, "bob@example.org", at(seconds))


SUSPENDING = suspended_at(700, a_running_workload())


def is_suspended(decision: Decision) -> bool:
    """The workload waits for nobody and holds nothing; its attempt is over."""
    workload = decision.workload
    assert decision.attempt is not None
    assert decision.attempt.ended_at is not None
    nothing = (workload.server, workload.cluster, workload.gpus, workload.started_at, workload.completed_at)
    assert nothing == ("", "", (), None, None)
    return (workload.status, workload.phase, workload.reason) == (Status.PENDING, Phase.SUSPENDED, Reason.HELD)


def test_before_its_job_exists_it_is_suspended_at_once() -> None:
    decision = decided(suspended_at(1, a_placed_workload()), an_attempt(), without_job(), 2)
    assert is_suspended(decision)
    assert decision.actions == ()


def test_while_its_job_is_being_created_the_job_is_deleted_first() -> None:
    asked = decided(suspended_at(3, a_placed_workload()), an_attempt(), seen(), 4)
    assert asked.actions == (DeleteJob("job-1"),)
    assert (asked.workload.status, asked.workload.phase) == (Status.PENDING, Phase.STOPPING)
    assert asked.attempt is not None
    assert is_suspended(decided(asked.workload, asked.attempt, without_job(), 5))


def test_what_executes_stays_running_until_the_cluster_confirms() -> None:
    assert (SUSPENDING.status, SUSPENDING.phase) == (Status.RUNNING, Phase.STOPPING)
    asked = decided(SUSPENDING, an_executing_attempt(), seen(a_running_pod()), 701)
    assert asked.actions == (SecureLog(a_running_pod()), DeleteJob("job-1"))
    assert (asked.workload.phase, asked.workload.reason) == (Phase.STOPPING, Reason.SUSPEND_REQUESTED)
    assert "bob@example.org" in asked.workload.message
    assert asked.attempt is not None
    assert asked.attempt.stop_reason is Reason.SUSPEND_REQUESTED
    dying = a_running_pod(deletion_requested_at=at(701))
    assert decided(asked.workload, asked.attempt, without_job(dying), 710).workload.phase is Phase.STOPPING
    done = decided(asked.workload, asked.attempt, without_job(KILLED), 711)
    assert is_suspended(done)
    assert done.attempt is not None
    assert (done.attempt.reason, done.attempt.exit_code) == (Reason.SUSPENDED, 143)
    assert "suspended by bob@example.org; the container ended with exit code 143" in done.attempt.message


CLOCKS: list[tuple[str, ObservedPod, Phase]] = [
    ("stopped for it", KILLED, Phase.SUSPENDED),
    ("SIGTERM was heard, and it ended well", an_ended_pod(an_end(0, finished=702)), Phase.SUSPENDED),
    ("its own end came first, unseen", an_ended_pod(an_end(0, finished=650)), Phase.COMPLETED),
    ("it ran out of memory before", an_ended_pod(an_end(137, "OOMKilled", finished=650)), Phase.FAILED),
    ("evicted before, and no retries are left", an_ended_pod(an_end(137), reason="Evicted"), Phase.FAILED),
    ("evicted while it is stopped", an_ended_pod(an_end(137, finished=705), reason="Evicted"), Phase.SUSPENDED),
    (
        "at its limit while it is stopped",
        an_ended_pod(an_end(137, finished=705), reason="DeadlineExceeded"),
        Phase.SUSPENDED,
    ),
]


@pytest.mark.parametrize(("pod", "phase"), [pytest.param(*row[1:], id=row[0]) for row in CLOCKS])
def test_a_suspend_against_the_containers_own_end(pod: ObservedPod, phase: Phase) -> None:
    assert decided(SUSPENDING, STOPPED, without_job(pod), 710).workload.phase is phase


def test_what_was_evicted_before_and_may_run_again_is_suspended_instead() -> None:
    pod = an_ended_pod(an_end(137, finished=650), reason="Evicted")
    assert is_suspended(decided(suspended_at(700, a_running_workload(max_retries=1)), STOPPED, without_job(pod)))


def test_what_is_being_preempted_is_suspended_instead_of_waiting_again() -> None:
    preempted = stopped_for(Reason.PREEMPTED, 690, an_executing_attempt())
    stopping = suspended_at(700, a_running_workload(phase=Phase.STOPPING, reason=Reason.PREEMPTED))
    asked = decided(stopping, preempted, without_job(a_running_pod(deletion_requested_at=at(690))), 701)
    assert asked.attempt is not None
    assert asked.workload.reason is asked.attempt.stop_reason is Reason.SUSPEND_REQUESTED
    assert is_suspended(decided(asked.workload, asked.attempt, without_job(KILLED), 710))
    before = an_ended_pod(an_end(143, finished=695), deletion_requested_at=at(690))
    unseen = decided(stopping, preempted, without_job(before), 710)
    assert is_suspended(unseen)
    assert unseen.attempt is not None
    assert unseen.attempt.reason is Reason.PREEMPTED


def test_a_job_that_the_api_refuses_meanwhile_has_failed() -> None:
    decision = refuse(suspended_at(1, a_placed_workload()), an_attempt(), "denied by a policy", at(2), POLICY)
    assert (decision.workload.status, decision.workload.reason) == (Status.FAILED, Reason.JOB_REFUSED)


@pytest.mark.parametrize("cancelled", [702, 704], ids=["before its container ended", "after"])
def test_what_is_cancelled_while_it_is_stopped_is_cancelled(cancelled: float) -> None:
    workload = request_cancel(SUSPENDING, "ada@example.org", at(cancelled)).workload
    ended = decided(workload, STOPPED, without_job(KILLED), 710).workload
    assert (ended.status, ended.reason, ended.exit_code) == (Status.CANCELLED, Reason.CANCELLED_BY_USER, 143)


def test_what_is_suspended_is_cancelled_at_once() -> None:
    suspended = decided(SUSPENDING, STOPPED, without_job(KILLED), 710).workload
    assert request_cancel(suspended, "ada@example.org", at(800)).workload.status is Status.CANCELLED


def test_out_of_contact_it_stays_stopping() -> None:
    silent = lose_contact(SUSPENDING, STOPPED, "the cluster east has not answered").workload
    assert (silent.phase, silent.held_at) == (Phase.STOPPING, at(700))
    assert is_suspended(decided(silent, STOPPED, without_job(KILLED), 9000))
    unknown = suspended_at(700, a_running_workload(phase=Phase.UNKNOWN))
    assert unknown.phase is Phase.STOPPING


def test_asked_again_nothing_changes() -> None:
    assert suspended_at(800, SUSPENDING) == SUSPENDING
    held = suspended_at(5, a_workload())
    assert suspended_at(800, held) == held


@pytest.mark.parametrize(
    "workload",
    [
        a_running_workload(phase=Phase.STOPPING, reason=Reason.RUN_TIMEOUT),
        a_starting_workload(phase=Phase.STOPPING, reason=Reason.START_TIMEOUT),
        request_cancel(a_running_workload(), "ada", at(600)).workload,
        request_cancel(SUSPENDING, "ada", at(701)).workload,
        replace(a_running_workload(), status=Status.COMPLETED, phase=Phase.COMPLETED),
    ],
)
def test_what_ends_or_has_ended_is_not_suspended(workload: Workload) -> None:
    with pytest.raises(ConflictError):
        suspended_at(700, workload)


def test_while_it_is_stopped_it_is_not_resumed() -> None:
    with pytest.raises(ConflictError, match="resume it once it has stopped"):
        requests.resume(SUSPENDING, "ada", at(701))


def resumed(suspended: Workload, seconds: float) -> Workload:
    return requests.resume(suspended, "ada@example.org", at(seconds))


def test_resumed_it_waits_from_then_on_and_gets_a_new_attempt() -> None:
    suspended = decided(suspended_at(700, a_running_workload(queue_limit=60)), STOPPED, without_job(KILLED), 710)
    again = resumed(suspended.workload, 5000)
    assert (again.phase, again.held_at, again.held_by) == (Phase.RESUMING, None, "")
    assert (again.queued_at, again.queue_deadline) == (at(5000), at(5060))
    placed = place(again, "gpu-2", "nvidia.com/gpu", at(5001))
    assert placed.attempt is not None
    assert (placed.attempt.number, placed.attempt.server, placed.workload.server) == (2, "gpu-2", "gpu-2")


def test_what_had_waited_only_keeps_its_place() -> None:
    held = suspended_at(20, a_workload(queued_at=at(-60), queue_limit=120))
    assert resumed(held, 1000).queued_at == at(920)


def test_what_room_was_made_for_gives_that_up() -> None:
    """Else it would go before everybody on that server whenever it is resumed."""
    held = suspended_at(20, a_workload(nominated_server="east/gpu-1"))
    assert resumed(held, 1000).nominated_server == ""


def refused_by_its_server(workload: Workload, number: int) -> Decision:
    """The server does not admit an attempt of that number."""
    pod = a_pod(phase="Failed", reason="UnexpectedAdmissionError")
    live = replace(
        a_starting_workload(), spec=workload.spec, attempt=number, attempts_yielded=workload.attempts_yielded
    )
    return decided(live, a_created_attempt(number=number), seen(pod), 10)


@pytest.mark.parametrize("yielded", [0, 1, 7])
def test_suspended_attempts_are_no_tries(yielded: int) -> None:
    workload = a_workload(attempts_yielded=yielded)
    second, third = (refused_by_its_server(workload, yielded + tries).workload for tries in (2, 3))
    assert (second.phase, second.not_before) == (Phase.QUEUED, at(10 + 20))
    assert (third.phase, "given up after 3 tries" in third.message) == (Phase.FAILED, True)


def told(before: Workload, after: Workload) -> EventType | None:
    event = event_between(before, after, at(0))
    return event.type if event else None


def test_what_is_told_of_it() -> None:
    running, done = a_running_workload(), decided(SUSPENDING, STOPPED, without_job(KILLED), 710).workload
    steps = [running, SUSPENDING, done, resumed(done, 800)]
    types = [told(before, after) for before, after in pairwise(steps)]
    assert types == [EventType.SUSPEND_REQUESTED, EventType.HELD, EventType.RELEASED]
    assert told(SUSPENDING, decided(SUSPENDING, STOPPED, seen(a_running_pod()), 702).workload) is None


@pytest.mark.parametrize("attempt", [an_attempt(), a_created_attempt(), STOPPED])
def test_whatever_is_found_gone_is_suspended(attempt: Attempt) -> None:
    assert is_suspended(decided(suspended_at(3, a_placed_workload()), attempt, without_job(), 720))


def test_a_priority_changes_nothing_else_and_is_told_in_its_own_words() -> None:
    workload = a_running_workload(server=SERVER)
    after = requests.prioritize(workload, Priority.LOW)
    assert after == replace(workload, spec=replace(workload.spec, priority=Priority.LOW))
    event = event_between(workload, after, at(5), "by bob")
    assert event is not None
    assert (event.type, event.message, event.phase) == (EventType.PRIORITIZED, "by bob", Phase.RUNNING)
    assert told(after, requests.prioritize(after, Priority.LOW)) is None
