"""Our clock and the cluster's differ, are set, or stand still: no limit is cut short, none is forgotten.

Stamps of Jobs, pods and containers are by the cluster's clock; `now`, the placement and a cancel are by ours.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.lifecycle import SETTLE_SECONDS, LimitRun, is_to_be_confirmed
from app.domain.observed import Observation, ObservedPod
from app.domain.states import Phase, Reason, Status
from tests.domain.builders import (
    POLICY,
    RUN_LIMIT,
    START_LIMIT,
    STARTED,
    a_created_attempt,
    a_pod,
    a_running_pod,
    a_running_workload,
    a_starting_workload,
    an_end,
    an_ended_pod,
    an_executing_attempt,
    at,
    cancelled_at,
    decided,
    seen,
    without_job,
)

AHEAD = [pytest.param(600, id="the cluster is 10 min ahead"), pytest.param(-600, id="10 min behind")]
SLACK = POLICY.kubelet_slack_seconds
HANDED_OVER = {"run_limit_seconds": STARTED - 5 + RUN_LIMIT}


def shifted(observation: Observation, ahead: float) -> Observation:
    """The same facts as a cluster with another clock tells them."""
    return replace(observation, cluster_ahead=timedelta(seconds=ahead))


def running(ahead: float, **changes: object) -> Observation:
    stamps = {"running_since": at(STARTED + ahead), "pod_started_at": at(5 + ahead), "created_at": at(2 + ahead)}
    return shifted(seen(a_running_pod(**{**stamps, **changes})), ahead)


@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize(("pod", "slack"), [({}, 0), (HANDED_OVER, SLACK)], ids=["ours alone", "the kubelet has it"])
def test_the_run_limit_is_neither_cut_short_nor_stretched(ahead: float, pod: dict[str, int], slack: int) -> None:
    attempt = an_executing_attempt(started_at=at(STARTED + ahead))
    limit = STARTED + RUN_LIMIT + slack
    before = decided(a_running_workload(), attempt, running(ahead, **pod), limit - 1)
    assert (before.workload.phase, before.wake_at) == (Phase.RUNNING, at(limit))
    after = decided(a_running_workload(), attempt, running(ahead, **pod), limit)
    assert (after.workload.phase, after.workload.reason) == (Phase.STOPPING, Reason.RUN_TIMEOUT)


@pytest.mark.parametrize("ahead", AHEAD)
def test_the_run_limit_is_handed_over_in_time_and_in_full(ahead: float) -> None:
    """What the kubelet gets is a difference of two of its own stamps."""
    attempt = an_executing_attempt(started_at=at(STARTED + ahead))
    assert decided(a_running_workload(), attempt, running(ahead), STARTED + 4).actions == ()
    [limit] = decided(a_running_workload(), attempt, running(ahead), STARTED + 6).actions
    assert isinstance(limit, LimitRun)
    assert limit.seconds == STARTED - 5 + 1 + RUN_LIMIT


def test_a_server_whose_clock_is_slow_kills_nobody_early() -> None:
    """Its stamp lies before the pod's creation, which is the API server's: the start can't have been earlier."""
    slow = a_running_pod(running_since=at(STARTED - 600), created_at=at(2))
    attempt = an_executing_attempt(started_at=at(STARTED - 600))
    assert decided(a_running_workload(), attempt, seen(slow), RUN_LIMIT - 1).workload.phase is Phase.RUNNING
    assert decided(a_running_workload(), attempt, seen(slow), RUN_LIMIT + 2).workload.phase is Phase.STOPPING


def test_a_start_in_the_future_is_a_start() -> None:
    """By a server's clock that is fast: it runs, and its kubelet still counts from its own stamps."""
    fast = a_running_pod(running_since=at(STARTED + 600), pod_started_at=at(605))
    decision = decided(a_starting_workload(), a_created_attempt(), seen(fast), STARTED)
    assert (decision.workload.status, decision.workload.started_at) == (Status.RUNNING, at(STARTED + 600))
    later = decided(decision.workload, an_executing_attempt(started_at=at(STARTED + 600)), seen(fast), STARTED + 606)
    [limit] = later.actions
    assert isinstance(limit, LimitRun)
    assert limit.seconds == STARTED - 5 + 1 + RUN_LIMIT


@pytest.mark.parametrize("ahead", AHEAD)
def test_the_start_limit_is_by_our_clock_alone(ahead: float) -> None:
    observation = shifted(seen(a_pod(created_at=at(2 + ahead)), created_at=at(1 + ahead)), ahead)
    before = decided(a_starting_workload(), a_created_attempt(), observation, START_LIMIT)
    assert (before.workload.phase, before.wake_at) == (Phase.INITIALIZING, at(START_LIMIT + 1))
    assert decided(a_starting_workload(), a_created_attempt(), observation, START_LIMIT + 1).workload.phase is (
        Phase.STOPPING
    )


def test_our_clock_is_set_forward_while_something_starts() -> None:
    """Placed by a clock that was 10 min slow; the Job's stamp, in the clock of now, says how long ago that was."""
    attempt = a_created_attempt(placed_at=at(-600))
    observation = seen(a_pod(), created_at=at(0))
    assert decided(a_starting_workload(), attempt, observation, START_LIMIT - 1).workload.phase is Phase.INITIALIZING
    assert decided(a_starting_workload(), attempt, observation, START_LIMIT).workload.phase is Phase.STOPPING


@pytest.mark.parametrize("ahead", AHEAD)
def test_a_cancel_is_compared_in_the_clusters_time(ahead: float) -> None:
    ended = shifted(seen(an_ended_pod(an_end(0, finished=600 + ahead, started=STARTED + ahead))), ahead)
    for asked, status in ((590, Status.CANCELLED), (610, Status.COMPLETED)):
        decision = decided(cancelled_at(asked, a_running_workload()), an_executing_attempt(), ended)
        assert decision.workload.status is status


@pytest.mark.parametrize("ahead", AHEAD)
def test_an_ended_container_is_waited_for_by_our_clock(ahead: float) -> None:
    """Its pod isn't called ended yet: its server may be lost."""
    pod = a_pod(phase="Running", terminated=an_end(3, finished=600 + ahead, started=STARTED + ahead))
    workload, attempt = a_running_workload(), an_executing_attempt(started_at=at(STARTED + ahead))
    waits = decided(workload, attempt, shifted(seen(pod), ahead), 600 + SETTLE_SECONDS - 1)
    assert (waits.workload.phase, waits.wake_at) == (Phase.RUNNING, at(600 + SETTLE_SECONDS))
    assert decided(workload, attempt, shifted(seen(pod), ahead), 600 + SETTLE_SECONDS).workload.exit_code == 3


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [(None, START_LIMIT), (a_pod(), START_LIMIT), (a_running_pod(), STARTED + RUN_LIMIT)],
    ids=["no pod", "starting", "running"],
)
def test_a_limit_that_passed_is_confirmed_once(pod: ObservedPod | None, seconds: int) -> None:
    """Our clock may have been set, or have slept, since the cluster last told us its time."""
    attempt = an_executing_attempt() if pod is not None and pod.running_since else a_created_attempt()
    workload = a_running_workload() if attempt.started_at else a_starting_workload()
    decision = decided(workload, attempt, seen(pod), seconds)
    assert is_to_be_confirmed(attempt, decision, seen(pod))
    assert decision.attempt is not None
    again = decided(decision.workload, decision.attempt, seen(pod), seconds + 5)
    assert not is_to_be_confirmed(decision.attempt, again, seen(pod))


def test_what_needs_no_confirmation() -> None:
    running_on = decided(a_running_workload(), an_executing_attempt(), seen(a_running_pod()), 700)
    assert not is_to_be_confirmed(an_executing_attempt(), running_on, seen(a_running_pod()))
    cancelled = decided(cancelled_at(650, a_running_workload()), an_executing_attempt(), seen(a_running_pod()), 700)
    assert not is_to_be_confirmed(an_executing_attempt(), cancelled, seen(a_running_pod()))
    over = seen(an_ended_pod(an_end(0)))
    assert not is_to_be_confirmed(
        an_executing_attempt(), decided(a_running_workload(), an_executing_attempt(), over), over
    )


def test_an_end_on_an_absence_is_confirmed() -> None:
    decision = decided(a_running_workload(), an_executing_attempt(), without_job(), 700)
    assert is_to_be_confirmed(an_executing_attempt(), decision, without_job())
