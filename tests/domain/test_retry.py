"""Infrastructure: what is tried again on another server, how often, and what never is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.lifecycle import Decision, place, refuse
from app.domain.observed import Observation, ObservedPod
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, Workload
from tests.domain.builders import (
    POLICY,
    START_LIMIT,
    a_created_attempt,
    a_job,
    a_placed_workload,
    a_pod,
    a_running_workload,
    a_starting_workload,
    a_waiting_pod,
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

REFUSED = a_pod(phase="Failed", reason="UnexpectedAdmissionError", message="no healthy devices present")
EVICTED = an_ended_pod(an_end(137), reason="Evicted", disruption="TerminationByKubelet")

NEVER_EXECUTED: list[tuple[str, ObservedPod, Reason]] = [
    ("device plugin", REFUSED, Reason.NODE_REFUSED),
    ("GPUs taken meanwhile", a_pod(phase="Failed", reason="OutOfnvidia.com/gpu"), Reason.NODE_REFUSED),
    ("cpu taken meanwhile", a_pod(phase="Failed", reason="OutOfcpu"), Reason.NODE_REFUSED),
    ("labels changed", a_pod(phase="Failed", reason="NodeAffinity"), Reason.NODE_REFUSED),
    ("tainted meanwhile", a_pod(phase="Failed", reason="TaintToleration"), Reason.NODE_REFUSED),
    ("topology", a_pod(phase="Failed", reason="TopologyAffinityError"), Reason.NODE_REFUSED),
    ("refused without a word", a_pod(phase="Failed"), Reason.NODE_REFUSED),
    ("shutting down", a_pod(phase="Failed", reason="NodeShutdown"), Reason.NODE_REFUSED),
    ("evicted", a_pod(phase="Failed", reason="Evicted"), Reason.EVICTED),
    ("shut down", a_pod(phase="Failed", reason="Terminated"), Reason.EVICTED),
    ("with a condition beside it", a_pod(phase="Failed", reason="Preempting", disruption="New"), Reason.PREEMPTED),
    ("for a critical pod", a_pod(phase="Failed", reason="Preempting"), Reason.PREEMPTED),
    ("by the scheduler", a_pod(phase="Failed", disruption="PreemptionByScheduler"), Reason.PREEMPTED),
    ("by the eviction API", a_pod(phase="Failed", disruption="EvictionByEvictionAPI"), Reason.EVICTED),
    ("by a taint", a_pod(phase="Failed", disruption="DeletionByTaintManager"), Reason.EVICTED),
    ("its node was removed", a_pod(phase="Failed", disruption="DeletionByPodGC"), Reason.NODE_LOST),
    ("a disruption of a new kind", a_pod(phase="Failed", disruption="SomethingNew"), Reason.EVICTED),
]


@pytest.mark.parametrize(("pod", "reason"), [pytest.param(*row[1:], id=row[0]) for row in NEVER_EXECUTED])
def test_what_never_executed_goes_back_to_the_queue_avoiding_the_server(pod: ObservedPod, reason: Reason) -> None:
    decision = decided(a_starting_workload(), a_created_attempt(), seen(pod), 30)
    workload, attempt = decision.workload, decision.attempt
    assert (workload.status, workload.phase, workload.reason) == (Status.PENDING, Phase.QUEUED, Reason.BACKING_OFF)
    assert (workload.avoid_servers, workload.retries_used) == (("gpu-1",), 0)
    assert attempt is not None
    assert (attempt.reason, attempt.ended_at) == (reason, at(30))


def test_the_return_to_the_queue_forgets_the_server_and_says_why_and_until_when() -> None:
    workload = decided(a_starting_workload(), a_created_attempt(), seen(REFUSED), 30).workload
    assert (workload.server, workload.gpus, workload.started_at, workload.completed_at) == ("", (), None, None)
    assert (workload.queued_at, workload.not_before) == (at(30), at(40))
    assert [w for w in ("gpu-1", "no healthy devices present", "12:00:40") if w not in workload.message] == []


def refused_on(server: str, workload: Workload, seconds: float) -> Decision:
    """The next attempt, placed on `server` and refused there."""
    placed = place(workload, server, "nvidia.com/gpu", at(seconds))
    assert placed.attempt is not None
    return decided(placed.workload, placed.attempt, seen(REFUSED), seconds + 5)


def test_three_tries_each_elsewhere_with_growing_pauses_then_it_fails() -> None:
    workload, pauses = a_workload(), []
    for server, seconds in (("gpu-1", 0), ("gpu-2", 100)):
        workload = refused_on(server, workload, seconds).workload
        assert workload.not_before is not None
        pauses.append((workload.not_before - at(seconds + 5)).total_seconds())
    assert (workload.avoid_servers, pauses) == (("gpu-1", "gpu-2"), [10, 20])
    last = refused_on("gpu-3", workload, 200).workload
    assert (last.status, last.reason, last.attempt) == (Status.FAILED, Reason.NODE_REFUSED, 3)
    assert "given up after 3 tries" in last.message
    assert last.completed_at == at(205)


@pytest.mark.parametrize(
    ("max_retries", "used", "again"),
    [
        pytest.param(0, 0, False, id="never without the submitter's word"),
        pytest.param(1, 0, True, id="once when allowed"),
        pytest.param(1, 1, False, id="not twice"),
        pytest.param(5, 4, True, id="the fifth of five"),
    ],
)
def test_what_had_executed_is_tried_again_only_while_max_retries_lasts(
    max_retries: int, used: int, again: bool
) -> None:
    workload = a_running_workload(max_retries=max_retries, retries_used=used, attempt=used + 1)
    after = decided(workload, an_executing_attempt(number=used + 1), seen(EVICTED)).workload
    if again:
        assert (after.status, after.retries_used, after.started_at) == (Status.PENDING, used + 1, None)
    else:
        assert (after.status, after.reason, after.exit_code) == (Status.FAILED, Reason.EVICTED, 137)
        assert ("given up" in after.message) is (used > 0)


def test_a_retry_after_executing_has_its_own_three_tries_to_start() -> None:
    workload = a_workload(max_retries=1, attempt=1, retries_used=1)
    for server in ("gpu-2", "gpu-3"):
        workload = refused_on(server, workload, 100).workload
        assert workload.phase is Phase.QUEUED
    assert refused_on("gpu-4", workload, 200).workload.status is Status.FAILED


@pytest.mark.parametrize("reason", ["", "Evicted"])
def test_an_end_without_times_after_an_outage_of_ours_may_have_executed(reason: str) -> None:
    """The kubelet writes it for what was running as for what never ran, so side effects can't be ruled out."""
    words = "The container could not be located when the pod was terminated"
    end = an_end(137, "ContainerStatusUnknown", finished=None, started=None, message=words)
    after = decided(a_placed_workload(), an_attempt(), seen(an_ended_pod(end, reason=reason))).workload
    assert after.status is Status.FAILED
    assert after.reason.is_infrastructure


@pytest.mark.parametrize("word", ["ContainerStatusUnknown", "Unknown"])
def test_a_lost_container_that_had_executed_is_a_lost_server(word: str) -> None:
    end = an_end(255, word, finished=None, started=None)
    after = decided(a_running_workload(), an_executing_attempt(), seen(an_ended_pod(end))).workload
    assert (after.status, after.reason) == (Status.FAILED, Reason.NODE_LOST)


def test_a_pod_terminating_on_a_lost_node_is_waited_for() -> None:
    """Until the node returns or its object goes, its container may still run."""
    pod = a_pod(phase="Running", running_since=at(65), reason="NodeLost", deletion_requested_at=at(400))
    after = decided(a_running_workload(), an_executing_attempt(), seen(pod, answers=False)).workload
    assert (after.status, after.phase) == (Status.RUNNING, Phase.UNKNOWN)


OUT_OF_MEMORY = an_ended_pod(an_end(137, "OOMKilled"))
START_ERROR = an_ended_pod(an_end(128, "StartError", started=None))
OWN_FAULTS: list[tuple[str, Attempt, Observation]] = [
    ("out of memory", an_executing_attempt(), seen(OUT_OF_MEMORY)),
    ("a start error", a_created_attempt(), seen(START_ERROR)),
    ("exit code 1", an_executing_attempt(), seen(an_ended_pod(an_end(1)))),
    ("run limit", an_executing_attempt(), seen(an_ended_pod(an_end(137), reason="DeadlineExceeded"))),
    ("image", stopped_for(Reason.IMAGE_INVALID, 9, a_created_attempt()), without_job()),
    ("start limit", stopped_for(Reason.START_TIMEOUT, 1800, a_created_attempt()), without_job()),
    ("Job deleted", a_created_attempt(), without_job()),
    ("pod deleted", a_created_attempt(), seen(failure="BackoffLimitExceeded")),
]


@pytest.mark.parametrize(("attempt", "observation"), [pytest.param(*row[1:], id=row[0]) for row in OWN_FAULTS])
def test_what_is_no_fault_of_the_server_is_never_tried_again(attempt: Attempt, observation: Observation) -> None:
    workload = a_running_workload(max_retries=9) if attempt.started_at else a_starting_workload(max_retries=9)
    assert decided(workload, attempt, observation, 4000).workload.status.is_terminal


def test_a_job_that_the_api_refuses_for_good_fails_at_once_with_its_words() -> None:
    decision = refuse(a_placed_workload(), an_attempt(), "admission webhook denied: no\nlatest", at(3), POLICY)
    assert (decision.workload.status, decision.workload.reason) == (Status.FAILED, Reason.JOB_REFUSED)
    assert "admission webhook denied: no latest" in decision.workload.message
    assert decision.actions == ()
    assert decision.attempt is not None
    assert decision.attempt.ended_at == at(3)


def test_a_pod_that_the_scheduler_never_binds_is_tried_on_another_server() -> None:
    """Scheduler and placement disagree about the server: that is infrastructure (design §4)."""
    pod = a_pod(pod_started_at=None, scheduling_message="0/3 nodes are available: insufficient nvidia.com/gpu")
    stopping = decided(a_starting_workload(), a_created_attempt(), seen(pod), START_LIMIT)
    assert stopping.attempt is not None
    after = decided(stopping.workload, stopping.attempt, without_job(), START_LIMIT + 5).workload
    assert (after.phase, after.avoid_servers) == (Phase.QUEUED, ("gpu-1",))
    assert "insufficient nvidia.com/gpu" in after.message


def test_a_word_seen_early_does_not_make_a_later_slow_pull_unschedulable() -> None:
    unbound = a_pod(pod_started_at=None, scheduling_message="0/3 nodes are available")
    first = decided(a_starting_workload(), a_created_attempt(), seen(unbound), 10)
    assert first.attempt is not None
    pulling = a_waiting_pod("ImagePullBackOff", "no such tag")
    late = decided(
        first.workload, first.attempt, Observation(replace(a_job()), pulling, node_answers=True), START_LIMIT
    )
    assert late.attempt is not None
    after = decided(late.workload, late.attempt, without_job(), START_LIMIT + 5).workload
    assert (after.status, after.reason) == (Status.FAILED, Reason.IMAGE_PULL_FAILED)
