"""Who may be preempted, and how one goes back to the queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.preemption import nominate, preempt, step_aside
from app.domain.server import ServerId
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt
from tests.domain.builders import a_running_workload, a_submission, a_workload, at

WANTED = a_workload(spec=a_submission(name="train"))
VICTIM = a_running_workload(spec=a_submission(preemptible=True))
ATTEMPT = Attempt(VICTIM.id, VICTIM.attempt, "gpu-1", "nvidia.com/gpu", placed_at=at(0))


def test_the_intent_and_its_words_are_written_down():
    found = preempt(VICTIM, ATTEMPT, WANTED, by_right=False, now=at(9))
    assert found is not None
    workload, attempt = found
    assert (workload.status, workload.phase, workload.reason) == (Status.RUNNING, Phase.STOPPING, Reason.PREEMPTED)
    assert (attempt.stop_reason, attempt.stop_requested_at) == (Reason.PREEMPTED, at(9))
    assert attempt.message == f"preempted to make room for train, {WANTED.id}, which is of a higher priority"


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": a_submission(preemptible=False)},
        {"cancel_requested_at": at(8)},
        {"held_at": at(8)},
        {"attempt": VICTIM.attempt + 1},
        {"phase": Phase.UNKNOWN},
        {"phase": Phase.STOPPING},
        {"phase": Phase.COMPLETED},
    ],
)
def test_who_may_not_be_or_is_not_to_be_had_any_more_is_left_alone(changes: dict[str, Any]):
    assert preempt(replace(VICTIM, **changes), ATTEMPT, WANTED, by_right=True, now=at(9)) is None


@pytest.mark.parametrize("changes", [{"stop_reason": Reason.RUN_TIMEOUT}, {"ended_at": at(8)}])
def test_what_is_stopped_or_over_is_left_alone(changes: dict[str, Any]):
    assert preempt(VICTIM, replace(ATTEMPT, **changes), WANTED, by_right=True, now=at(9)) is None


def test_the_pause_doubles_up_to_a_bound_and_no_try_is_counted():
    workload, pauses = replace(VICTIM, phase=Phase.STOPPING), []
    for _ in range(9):
        back = step_aside(workload, "preempted", at(0), 10)
        assert back.not_before is not None
        pauses.append((back.not_before - at(0)).total_seconds())
        workload = replace(workload, attempts_yielded=back.attempts_yielded)
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 640, 640]
    assert (back.retries_used, back.attempt - back.attempts_yielded) == (VICTIM.retries_used, VICTIM.attempt - 9)


def test_where_room_is_made_is_kept_with_who_waits():
    assert nominate(WANTED, ServerId("gpu-1", "default")).nominated_server == "default/gpu-1"
