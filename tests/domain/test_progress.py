"""A live attempt: creating, starting, executing, a silent server and back, and the run limit handed to the kubelet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.lifecycle import SETTLE_SECONDS, CreateJob, LimitRun
from app.domain.observed import Observation, ObservedPod, Terminated
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt
from tests.domain.builders import (
    GPU,
    POD_STARTED,
    RUN_LIMIT,
    SERVER,
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
    without_job,
)

LIMITED = STARTED - POD_STARTED + RUN_LIMIT + 1  # stamps are cut to whole seconds: nobody may get less


def test_a_placed_attempt_creates_its_job_until_it_is_seen() -> None:
    first = decided(a_placed_workload(), an_attempt(), without_job(), 1)
    assert (first.workload, first.attempt) == (a_placed_workload(), an_attempt())
    assert (first.actions, first.wake_at) == ((CreateJob(),), at(START_LIMIT))
    assert decided(first.workload, an_attempt(), without_job(), 30).actions == (CreateJob(),)


def test_a_job_that_is_seen_is_remembered_and_not_created_again() -> None:
    decision = decided(a_placed_workload(), an_attempt(), seen(), 3)
    assert decision.attempt is not None
    assert decision.attempt.job_uid == "job-1"
    assert decision.actions == ()
    assert decision.workload.status is Status.PENDING


@pytest.mark.parametrize(
    ("attempt", "pod"),
    [
        pytest.param(an_executing_attempt(), a_running_pod(deletion_requested_at=at(600)), id="executing"),
        pytest.param(a_created_attempt(), a_pod(deletion_requested_at=at(600)), id="starting"),
        pytest.param(a_created_attempt(job_uid=""), a_pod(deletion_requested_at=at(600)), id="only its pod was seen"),
    ],
)
def test_a_job_deleted_by_somebody_while_its_pod_terminates_is_not_created_again(
    attempt: Attempt, pod: ObservedPod
) -> None:
    """A second Job of the same name would run the workload twice."""
    workload = a_running_workload() if attempt.started_at else a_starting_workload()
    decision = decided(workload, attempt, without_job(pod), 601)
    assert CreateJob() not in decision.actions
    assert not decision.workload.status.is_terminal


def test_a_pod_that_was_seen_and_is_gone_with_its_job_is_not_started_again() -> None:
    decision = decided(a_starting_workload(), a_created_attempt(job_uid=""), without_job(), 601)
    assert (decision.workload.reason, decision.actions) == (Reason.JOB_DELETED, ())


@pytest.mark.parametrize(
    ("pod", "reason", "said"),
    [
        pytest.param(a_pod(), Reason.STARTING, SERVER, id="nothing said yet"),
        pytest.param(a_waiting_pod("ContainerCreating"), Reason.STARTING, "ContainerCreating", id="creating"),
        pytest.param(a_waiting_pod("ErrImagePull", "429"), Reason.PULLING_IMAGE, "ErrImagePull: 429", id="pulling"),
        pytest.param(a_waiting_pod("ImagePullBackOff"), Reason.PULLING_IMAGE, "ImagePullBackOff", id="waiting to pull"),
        pytest.param(
            a_waiting_pod("CreateContainerConfigError", "secret not found"),
            Reason.STARTING,
            "secret not found",
            id="configuration, which may still come",
        ),
        pytest.param(
            a_pod(pod_started_at=None, scheduling_message="0/1 nodes"), Reason.STARTING, "0/1 nodes", id="unbound"
        ),
    ],
)
def test_a_start_shows_the_clusters_last_word(pod: ObservedPod, reason: Reason, said: str) -> None:
    workload = decided(a_placed_workload(), an_attempt(), seen(pod), 20).workload
    assert (workload.status, workload.phase) == (Status.PENDING, Phase.INITIALIZING)
    assert workload.reason is reason
    assert said in workload.message


def test_the_last_word_stays_when_the_cluster_says_nothing() -> None:
    first = decided(a_placed_workload(), an_attempt(), seen(a_waiting_pod("ErrImagePull", "no such tag")), 20).attempt
    assert first is not None
    later = decided(a_starting_workload(), first, seen(a_pod()), 30).attempt
    assert later is not None
    assert later.waiting == "ErrImagePull: no such tag"


@pytest.mark.parametrize("workload", [a_placed_workload(), a_starting_workload()], ids=["at once", "after starting"])
def test_executing_is_running_since_the_containers_own_start(workload: object) -> None:
    decision = decided(workload, a_created_attempt(), seen(a_running_pod()), 70)  # type: ignore[arg-type]
    running = decision.workload
    assert (running.status, running.phase, running.reason) == (Status.RUNNING, Phase.RUNNING, Reason.EXECUTING)
    assert (running.started_at, running.server, running.gpus) == (at(STARTED), SERVER, (GPU,))
    assert decision.attempt is not None
    assert decision.attempt.started_at == at(STARTED)


def test_start_and_gpus_once_seen_are_kept() -> None:
    attempt = an_executing_attempt(gpus=(GPU,))
    rewritten = seen(a_running_pod(running_since=at(300), gpus=()))
    decision = decided(a_running_workload(), attempt, rewritten)
    assert (decision.workload.started_at, decision.workload.gpus) == (at(STARTED), (GPU,))


def test_a_silent_server_while_starting_is_unknown_and_pending_and_back() -> None:
    silent = decided(a_starting_workload(), a_created_attempt(), seen(a_pod(), answers=False), 20).workload
    assert (silent.status, silent.phase, silent.reason) == (
        Status.PENDING,
        Phase.UNKNOWN,
        Reason.SERVER_UNREACHABLE,
    )
    assert SERVER in silent.message
    back = decided(silent, a_created_attempt(), seen(a_pod()), 30).workload
    assert (back.status, back.phase) == (Status.PENDING, Phase.INITIALIZING)


def test_a_silent_server_while_executing_is_unknown_and_running_and_back() -> None:
    observation = seen(a_running_pod(), answers=False)
    silent = decided(a_running_workload(), an_executing_attempt(), observation).workload
    assert (silent.status, silent.phase) == (Status.RUNNING, Phase.UNKNOWN)
    back = decided(silent, an_executing_attempt(), seen(a_running_pod())).workload
    assert (back.status, back.phase, back.reason) == (Status.RUNNING, Phase.RUNNING, Reason.EXECUTING)


def test_what_started_meanwhile_is_running_when_its_server_answers_again() -> None:
    silent = decided(a_starting_workload(), a_created_attempt(), seen(a_pod(), answers=False), 20).workload
    assert decided(silent, a_created_attempt(), seen(a_running_pod()), 90).workload.phase is Phase.RUNNING


def test_a_server_nothing_is_known_of_is_not_called_silent() -> None:
    decision = decided(a_running_workload(), an_executing_attempt(), seen(a_running_pod(), answers=None))
    assert decision.workload.phase is Phase.RUNNING


LIMITS: list[tuple[str, ObservedPod, int | None]] = [
    ("the pod has start + run limit", a_running_pod(), LIMITED),
    ("the pod has no limit", a_running_pod(run_limit_seconds=None), LIMITED),
    ("one second too many", a_running_pod(run_limit_seconds=LIMITED + 1), LIMITED),
    ("already handed over", a_running_pod(run_limit_seconds=LIMITED), None),
    ("somebody lowered it further: it can't be raised", a_running_pod(run_limit_seconds=60), None),
    ("the kubelet has not stamped the pod", a_running_pod(pod_started_at=None), None),
    ("fractions are rounded up", a_running_pod(pod_started_at=at(POD_STARTED + 0.5)), LIMITED),
    ("clocks apart: the gap is never negative", a_running_pod(pod_started_at=at(STARTED + 9)), RUN_LIMIT + 1),
]


@pytest.mark.parametrize(("pod", "seconds"), [pytest.param(*row[1:], id=row[0]) for row in LIMITS])
def test_the_run_limit_is_handed_over_from_the_pods_own_start(pod: ObservedPod, seconds: int | None) -> None:
    decision = decided(a_running_workload(), an_executing_attempt(), seen(pod), 70)
    assert decision.actions == (() if seconds is None else (LimitRun(pod, seconds),))


def test_the_run_limit_is_handed_over_until_the_pod_shows_it_and_no_longer() -> None:
    """Level-triggered: nothing is remembered of a patch that may have been lost."""
    pod, attempt = a_running_pod(), an_executing_attempt()
    for seconds in (70, 80):
        (action,) = decided(a_running_workload(), attempt, seen(pod), seconds).actions
        assert action == LimitRun(pod, LIMITED)
    assert decided(a_running_workload(), attempt, seen(replace(pod, run_limit_seconds=LIMITED)), 90).actions == ()


@pytest.mark.parametrize("observation", [seen(a_pod()), seen(a_waiting_pod("ImagePullBackOff"))])
def test_nothing_is_lowered_before_the_container_executes(observation: Observation) -> None:
    assert decided(a_starting_workload(), a_created_attempt(), observation, 70).actions == ()


def test_a_pull_longer_than_the_start_limit_leaves_nothing_to_lower() -> None:
    pod = a_running_pod(running_since=at(POD_STARTED + START_LIMIT + 100))
    assert decided(a_starting_workload(), a_created_attempt(), seen(pod), 1910).actions == ()


ENDED = STARTED + 100


def an_ended_container(**changes: Any) -> ObservedPod:
    ended = Terminated(143, "Error", "", at(STARTED), at(ENDED))
    return replace(a_running_pod(), running_since=None, terminated=ended, **changes)


def test_an_ended_container_is_not_the_end_until_the_pod_says_so() -> None:
    """Its reason, DeadlineExceeded for one, comes with the pod's own phase, a moment later."""
    first = decided(a_running_workload(), an_executing_attempt(), seen(an_ended_container()), ENDED + 1)
    assert first.workload.status is Status.RUNNING
    assert first.attempt is not None
    pod = an_ended_container(phase="Failed", reason="DeadlineExceeded")
    assert decided(first.workload, first.attempt, seen(pod), ENDED + 2).workload.status is Status.TIMEOUT


def test_an_ended_container_is_the_end_when_its_pod_stays_silent() -> None:
    first = decided(a_running_workload(), an_executing_attempt(), seen(an_ended_container()), ENDED + 1)
    assert first.wake_at == at(ENDED + SETTLE_SECONDS)
    assert first.attempt is not None
    later = decided(first.workload, first.attempt, seen(an_ended_container()), ENDED + SETTLE_SECONDS)
    assert later.workload.status is Status.COMPLETED


OBSTACLES = [
    ("a neutral word does not cover the obstacle", ("ErrImagePull", "ContainerCreating"), "ErrImagePull"),
    ("another obstacle does", ("ErrImagePull", "CreateContainerConfigError"), "CreateContainerConfigError"),
    (
        "a pod that found its node is no longer unschedulable",
        ("Unschedulable", "ContainerCreating"),
        "ContainerCreating",
    ),
]


@pytest.mark.parametrize(("said", "kept"), [pytest.param(*row[1:], id=row[0]) for row in OBSTACLES])
def test_the_last_obstacle_is_kept(said: tuple[str, str], kept: str) -> None:
    attempt = a_created_attempt(waiting_reason=said[0])
    after = decided(a_starting_workload(), attempt, seen(a_waiting_pod(said[1])), 70).attempt
    assert after is not None
    assert after.waiting_reason == kept


def test_what_the_cluster_says_while_we_stop_it_is_no_obstacle() -> None:
    attempt = a_created_attempt(waiting_reason="ErrImagePull", stop_reason=Reason.START_TIMEOUT)
    after = decided(a_starting_workload(), attempt, seen(a_waiting_pod("ContainerCreating")), 1900).attempt
    assert after is not None
    assert after.waiting_reason == "ErrImagePull"


def test_a_deleted_pod_without_a_node_is_over() -> None:
    """Nothing runs, and no kubelet is there to say so: a cancel must not wait for one."""
    pod = a_pod(node="", deletion_requested_at=at(600), scheduling_message="0/3 nodes are available")
    attempt = a_created_attempt(stop_reason=Reason.CANCEL_REQUESTED, stop_requested_at=at(599))
    cancelled = replace(a_starting_workload(), cancel_requested_at=at(599), cancelled_by="ada@example.org")
    assert decided(cancelled, attempt, seen(pod), 601).workload.status is Status.CANCELLED


def test_a_good_end_stays_one_though_its_server_was_lost_then() -> None:
    ended = Terminated(0, "Completed", "", at(STARTED), at(ENDED))
    pod = a_running_pod(phase="Succeeded", running_since=None, terminated=ended, disruption="DeletionByTaintManager")
    done = decided(a_running_workload(), an_executing_attempt(), seen(pod), ENDED + 200).workload
    assert (done.status, done.exit_code) == (Status.COMPLETED, 0)
