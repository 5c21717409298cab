"""A workload without an attempt: waiting, cancelled, out of time, placed. And what an ended attempt leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.cleanup import decide_cleanup
from app.domain.lifecycle import Action, Decision, DeleteJob, ReleasePod, TakeLog, decide_waiting, place
from app.domain.observed import Observation
from app.domain.states import InvalidTransitionError, Phase, Reason, Status
from app.domain.workload import Attempt, Workload
from tests.domain.builders import (
    POLICY,
    SERVER,
    WORKLOAD_ID,
    a_running_workload,
    a_workload,
    an_attempt,
    an_end,
    an_ended_pod,
    an_executing_attempt,
    at,
    cancelled_at,
    seen,
    stopped_for,
    without_job,
)


def test_without_a_queue_limit_it_waits_for_ever() -> None:
    assert decide_waiting(a_workload(), at(10**8)) == Decision(a_workload(), None)


def test_the_queue_limit_fails_it_and_keeps_why_it_waited() -> None:
    workload = a_workload(queue_limit=600, message="needs 8 GPUs; the largest server has 4")
    assert decide_waiting(workload, at(539)) == Decision(workload, None, (), at(540))
    ended = decide_waiting(workload, at(540)).workload
    assert (ended.status, ended.phase, ended.reason) == (Status.FAILED, Phase.FAILED, Reason.QUEUE_TIMEOUT)
    assert ended.completed_at == at(540)
    assert [w for w in ("600 s", "the largest server has 4") if w not in ended.message] == []


def test_a_return_to_the_queue_starts_the_queue_clock_again() -> None:
    workload = a_workload(queue_limit=600, queued_at=at(1000), reason=Reason.BACKING_OFF)
    assert decide_waiting(workload, at(1599)).workload.status is Status.PENDING
    assert decide_waiting(workload, at(1600)).workload.status is Status.FAILED


@pytest.mark.parametrize("phase", [Phase.QUEUED, Phase.RESUMING, Phase.SUSPENDED])
def test_a_cancel_ends_it_at_once(phase: Phase) -> None:
    decision = decide_waiting(cancelled_at(10, a_workload(phase=phase)), at(11))
    ended = decision.workload
    assert (ended.status, ended.reason, ended.completed_at) == (Status.CANCELLED, Reason.CANCELLED_BY_USER, at(11))
    assert "bob@example.org" in ended.message
    assert (decision.actions, ended.exit_code, ended.started_at) == ((), None, None)


def test_a_cancel_wins_over_the_queue_limit() -> None:
    workload = cancelled_at(10, a_workload(queue_limit=60))
    assert decide_waiting(workload, at(10_000)).workload.status is Status.CANCELLED


def test_a_placement_is_the_next_attempt_on_that_server() -> None:
    waiting = a_workload(attempt=1, avoid_servers=("gpu-9",), not_before=at(5), queued_at=at(0))
    decision = place(waiting, SERVER, "nvidia.com/gpu", at(20))
    placed = decision.workload
    assert decision.attempt == Attempt(WORKLOAD_ID, 2, SERVER, "nvidia.com/gpu", placed_at=at(20))
    assert (placed.status, placed.phase, placed.reason) == (Status.PENDING, Phase.CREATING, Reason.PLACED)
    assert (placed.attempt, placed.server, placed.not_before) == (2, SERVER, None)
    assert placed.avoid_servers == ("gpu-9",)
    assert f"{SERVER} with 1 GPU;" in placed.message


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(a_running_workload(), id="running"),
        pytest.param(a_workload(phase=Phase.SUSPENDED), id="held by a person"),
        pytest.param(a_workload(status=Status.FAILED, phase=Phase.FAILED), id="ended"),
    ],
)
def test_what_does_not_wait_is_never_placed(workload: Workload) -> None:
    with pytest.raises(InvalidTransitionError):
        place(workload, SERVER, "nvidia.com/gpu", at(20))


HELD = an_ended_pod(an_end(0))
RELEASED = an_ended_pod(an_end(0), is_held=False)
UNKEPT = an_executing_attempt(exit_code=0, termination="Completed", finished_at=at(600), ended_at=at(600))
ENDED = replace(UNKEPT, log_taken_at=at(600))
STOPPED = stopped_for(Reason.CANCEL_REQUESTED, 590, ENDED)
REFUSED = an_attempt(job_uid="job-1", ended_at=at(600), reason=Reason.NODE_REFUSED, log_taken_at=at(600))
RETENTION = POLICY.job_retention_seconds
DELETE = DeleteJob("job-1")

CLEANUPS: list[tuple[str, Attempt, Observation, float, list[Action], float | None, bool]] = [
    ("its log is stored before anything", UNKEPT, seen(HELD), 600 + RETENTION, [TakeLog()], None, False),
    ("or why there is none", UNKEPT, without_job(), 601, [TakeLog()], None, False),
    ("a pod that is held is released first", ENDED, seen(HELD), 601, [ReleasePod(HELD)], 600 + RETENTION, False),
    ("an ended Job is kept to be looked at", ENDED, seen(RELEASED), 601, [], 600 + RETENTION, False),
    ("until its time is over", ENDED, seen(RELEASED), 600 + RETENTION, [DELETE], None, False),
    ("without its pod too", ENDED, seen(), 600 + RETENTION, [DELETE], None, False),
    ("a deletion under way is not repeated", ENDED, seen(is_deleting=True), 600 + RETENTION, [], None, False),
    ("a stopped Job goes at once", STOPPED, seen(HELD), 601, [ReleasePod(HELD), DELETE], None, False),
    ("a Job that never executed goes at once", REFUSED, seen(RELEASED), 601, [DELETE], None, False),
    ("a held pod without its Job is released", ENDED, without_job(HELD), 601, [ReleasePod(HELD)], None, False),
    ("a released pod is the garbage collector's", ENDED, without_job(RELEASED), 601, [], None, True),
    ("nothing is left", ENDED, without_job(), 601, [], None, True),
    ("nothing ever was", an_attempt(ended_at=at(2), log_taken_at=at(2)), without_job(), 3, [], None, True),
]


@pytest.mark.parametrize(
    ("attempt", "observation", "now", "actions", "wake_at", "cleaned"),
    [pytest.param(*row[1:], id=row[0]) for row in CLEANUPS],
)
def test_what_an_ended_attempt_leaves_is_cleared_away(
    attempt: Attempt,
    observation: Observation,
    now: float,
    actions: list[Action],
    wake_at: float | None,
    cleaned: bool,
) -> None:
    after, wanted, wake = decide_cleanup(attempt, observation, at(now), POLICY)
    assert list(wanted) == actions
    assert wake == (None if wake_at is None else at(wake_at))
    assert after.cleaned_at == (at(now) if cleaned else None)
