"""The start clock and the run clock: who stops what when, and when to look again."""

from __future__ import annotations

import pytest

from app.domain.lifecycle import DeleteJob, SecureLog
from app.domain.observed import Observation
from app.domain.states import Phase, Reason, Status
from tests.domain.builders import (
    POLICY,
    RUN_LIMIT,
    START_LIMIT,
    STARTED,
    a_created_attempt,
    a_placed_workload,
    a_pod,
    a_running_pod,
    a_running_workload,
    a_starting_workload,
    a_waiting_pod,
    an_attempt,
    an_executing_attempt,
    at,
    decided,
    seen,
    stopped_for,
    without_job,
)

NOT_HANDED_OVER = seen(a_running_pod(run_limit_seconds=START_LIMIT + RUN_LIMIT))
HANDED_OVER = seen(a_running_pod(run_limit_seconds=STARTED - 5 + RUN_LIMIT))
SLACK = POLICY.kubelet_slack_seconds


@pytest.mark.parametrize(
    "observation",
    [
        pytest.param(seen(), id="no pod"),
        pytest.param(seen(a_waiting_pod("ImagePullBackOff")), id="pulling"),
        pytest.param(seen(a_pod(), answers=False), id="silent server"),
    ],
)
def test_the_start_clock_runs_from_the_placement(observation: Observation) -> None:
    before = decided(a_starting_workload(), a_created_attempt(), observation, START_LIMIT - 1)
    assert (before.actions, before.wake_at) == ((), at(START_LIMIT))
    after = decided(a_starting_workload(), a_created_attempt(), observation, START_LIMIT)
    assert after.actions == (DeleteJob("job-1"),)
    assert (after.workload.status, after.workload.phase) == (Status.PENDING, Phase.STOPPING)
    assert after.attempt is not None
    assert after.attempt.stop_reason is Reason.START_TIMEOUT


def test_a_job_that_could_never_be_created_fails_when_the_start_clock_ends() -> None:
    ended = decided(a_placed_workload(), an_attempt(), without_job(), START_LIMIT).workload
    assert (ended.status, ended.reason) == (Status.FAILED, Reason.START_TIMEOUT)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("ErrImagePull", Reason.IMAGE_PULL_FAILED),
        ("ImagePullBackOff", Reason.IMAGE_PULL_FAILED),
        ("RegistryUnavailable", Reason.IMAGE_PULL_FAILED),
        ("ImageInspectError", Reason.IMAGE_PULL_FAILED),
        ("SignatureValidationFailed", Reason.IMAGE_PULL_FAILED),
        ("CreateContainerConfigError", Reason.CONFIGURATION_ERROR),
        ("CreateContainerError", Reason.CONFIGURATION_ERROR),
        ("RunContainerError", Reason.CONFIGURATION_ERROR),
        ("ContainerCreating", Reason.START_TIMEOUT),
        ("", Reason.START_TIMEOUT),
    ],
)
def test_a_start_that_never_succeeds_fails_at_its_limit_by_the_last_word(word: str, reason: Reason) -> None:
    pod = a_waiting_pod(word, "the cluster's sentence" if word else "")
    for seconds in (60, START_LIMIT - 1):
        assert decided(a_starting_workload(), a_created_attempt(), seen(pod), seconds).actions == ()
    stopping = decided(a_starting_workload(), a_created_attempt(), seen(pod), START_LIMIT)
    assert stopping.attempt is not None
    ended = decided(stopping.workload, stopping.attempt, without_job(), START_LIMIT + 5).workload
    assert (ended.status, ended.reason) == (Status.FAILED, reason)
    assert word in ended.message


@pytest.mark.parametrize("word", ["InvalidImageName", "ErrImageNeverPull"])
def test_a_hopeless_image_is_stopped_at_once(word: str) -> None:
    stopping = decided(a_placed_workload(), an_attempt(), seen(a_waiting_pod(word, "couldn't parse")), 6)
    assert stopping.actions == (DeleteJob("job-1"),)
    assert (stopping.workload.phase, stopping.workload.reason) == (Phase.STOPPING, Reason.IMAGE_INVALID)
    assert stopping.attempt is not None
    ended = decided(stopping.workload, stopping.attempt, without_job(), 8).workload
    assert (ended.status, ended.reason) == (Status.FAILED, Reason.IMAGE_INVALID)
    assert "couldn't parse" in ended.message


def test_the_start_clock_stops_when_the_container_executes() -> None:
    decision = decided(a_starting_workload(), a_created_attempt(), HANDED_OVER, START_LIMIT + 100)
    assert decision.workload.phase is Phase.RUNNING


@pytest.mark.parametrize(
    ("observation", "limit"),
    [
        pytest.param(NOT_HANDED_OVER, STARTED + RUN_LIMIT, id="ours alone: exactly at the limit"),
        pytest.param(HANDED_OVER, STARTED + RUN_LIMIT + SLACK, id="the kubelet has it: a little later"),
        pytest.param(seen(), STARTED + RUN_LIMIT, id="no pod to be seen"),
    ],
)
def test_the_run_clock_runs_from_the_containers_own_start(observation: Observation, limit: int) -> None:
    """Image pulling does not eat it, and what the kubelet enforces exactly is left to it for a while."""
    before = decided(a_running_workload(), an_executing_attempt(), observation, limit - 1)
    assert (before.workload.phase, before.wake_at) == (Phase.RUNNING, at(limit))
    after = decided(a_running_workload(), an_executing_attempt(), observation, limit)
    assert (after.workload.status, after.workload.phase) == (Status.RUNNING, Phase.STOPPING)
    secured = (SecureLog(observation.pod),) if observation.pod else ()
    assert (after.workload.reason, after.actions) == (Reason.RUN_TIMEOUT, (*secured, DeleteJob("job-1")))
    assert f"{RUN_LIMIT} s" in after.workload.message


def test_the_run_clock_holds_on_a_silent_server_too() -> None:
    observation = seen(a_running_pod(), answers=False)
    decision = decided(a_running_workload(phase=Phase.UNKNOWN), an_executing_attempt(), observation, 4000)
    assert (decision.workload.phase, decision.actions) == (Phase.STOPPING, (DeleteJob("job-1"),))


def test_a_slow_pull_leaves_the_whole_run_limit() -> None:
    late = START_LIMIT - 1
    pod = a_running_pod(running_since=at(late))
    decision = decided(a_starting_workload(), a_created_attempt(), seen(pod), late + RUN_LIMIT - 1)
    assert (decision.workload.phase, decision.wake_at) == (Phase.RUNNING, at(late + RUN_LIMIT))


def test_after_an_outage_of_ours_the_limit_has_passed_at_the_first_look() -> None:
    decision = decided(a_placed_workload(), an_attempt(), NOT_HANDED_OVER, 9000)
    assert (decision.workload.phase, decision.workload.reason) == (Phase.STOPPING, Reason.RUN_TIMEOUT)


@pytest.mark.parametrize("reason", [Reason.RUN_TIMEOUT, Reason.START_TIMEOUT, Reason.IMAGE_INVALID])
def test_what_is_being_stopped_is_asked_once_and_looked_at_again_soon(reason: Reason) -> None:
    attempt = stopped_for(reason, 4000, a_created_attempt())
    asked = decided(a_starting_workload(), attempt, seen(a_pod()), 4001)
    assert asked.actions == (DeleteJob("job-1"),)
    waits = decided(asked.workload, attempt, seen(a_pod(), is_deleting=True), 4002)
    assert waits.actions == ()
    assert waits.wake_at is not None
    assert at(4002) < waits.wake_at <= at(4032)
