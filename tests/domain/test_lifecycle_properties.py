"""What holds of every story, however odd the facts are and in whatever order they come.

The facts here need not fit together: a pod may run again after it ended. test_lifecycle_machine has a cluster that is
coherent. Left out of both: what `cleaned_at` needs, which is a table in test_waiting.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.lifecycle import CreateJob, Decision, decide, decide_waiting, place
from app.domain.observed import Observation, ObservedPod, Terminated
from app.domain.states import Phase, Status
from app.domain.workload import Attempt, Workload
from tests.depth import examples
from tests.domain.builders import GPU, POLICY, a_job, a_pod, a_workload, at

MOMENTS = st.none() | st.integers(0, 8000).map(at)
ENDS = st.builds(
    Terminated,
    exit_code=st.sampled_from([0, 1, 128, 137, 143, 255]),
    reason=st.sampled_from(["Completed", "Error", "OOMKilled", "StartError", "ContainerStatusUnknown", ""]),
    message=st.sampled_from(["", "words"]),
    started_at=MOMENTS,
    finished_at=MOMENTS,
)
PODS: st.SearchStrategy[ObservedPod] = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", ""]),
        "reason": st.sampled_from(["", "Evicted", "DeadlineExceeded", "OutOfcpu", "NodeLost", "NewWord"]),
        "waiting_reason": st.sampled_from(["", "ErrImagePull", "InvalidImageName", "ContainerCreating"]),
        "scheduling_message": st.sampled_from(["", "0/1 nodes are available"]),
        "running_since": MOMENTS,
        "terminated": st.none() | ENDS,
        "disruption": st.sampled_from(["", "DeletionByTaintManager", "NewWord"]),
        "pod_started_at": MOMENTS,
        "deletion_requested_at": MOMENTS,
        "run_limit_seconds": st.none() | st.integers(1, 6000),
        "gpus": st.sampled_from([(), (GPU,)]),
    }
).map(lambda facts: a_pod(**facts))
JOBS = st.fixed_dictionaries(
    {
        "is_deleting": st.booleans(),
        "is_complete": st.booleans(),
        "failure": st.sampled_from(["", "", "BackoffLimitExceeded", "DeadlineExceeded"]),
    }
).map(lambda facts: a_job(**facts))
OBSERVATIONS = st.builds(Observation, st.none() | JOBS, st.none() | PODS, st.none() | st.booleans())
STEPS = st.lists(
    st.tuples(st.integers(0, 3000), st.sampled_from([False, False, True]), OBSERVATIONS), min_size=1, max_size=10
)


class Story:
    """One workload and the decisions about it, each checked as it is taken."""

    def __init__(self, max_retries: int, queue_limit: int | None) -> None:
        self.workload: Workload = a_workload(max_retries=max_retries, queue_limit=queue_limit)
        self.attempt: Attempt | None = None
        self.executed = 0
        self.ends = 0

    def step(self, observation: Observation, now: datetime) -> None:
        if self.workload.status.is_terminal:
            return
        decision = self.decide_once(observation, now)
        check_consistent(decision.workload)
        self.ends += decision.workload.status.is_terminal
        if decision.workload.phase is Phase.QUEUED and self.attempt is not None:
            self.executed += decision.attempt is not None and decision.attempt.started_at is not None
        self.workload = decision.workload
        self.attempt = None if self.workload.waits else decision.attempt

    def decide_once(self, observation: Observation, now: datetime) -> Decision:
        if self.attempt is None:
            waiting = decide_waiting(self.workload, now)
            return waiting if waiting.workload.status.is_terminal else place(waiting.workload, "gpu-1", "gpu", now)
        decision = decide(self.workload, self.attempt, observation, now, POLICY)
        if decision.attempt is not None and decision.attempt.ended_at is None:
            check_settled(decision, observation, now)
        return decision


def check_consistent(workload: Workload) -> None:
    assert workload.status in workload.phase.statuses
    assert (workload.completed_at is not None) is workload.status.is_terminal
    assert workload.message
    if workload.waits:
        assert (workload.server, workload.started_at) == ("", None)
    if workload.phase is Phase.RUNNING:
        assert workload.started_at is not None


def check_settled(decision: Decision, observation: Observation, now: datetime) -> None:
    """The same facts again change nothing, and the next look lies ahead: no hot loop."""
    assert decision.attempt is not None
    assert decide(decision.workload, decision.attempt, observation, now, POLICY) == decision
    assert decision.wake_at is not None
    assert decision.wake_at > now
    if decision.attempt.job_uid or decision.attempt.pod_uid:
        assert CreateJob() not in decision.actions


@settings(max_examples=examples(300), deadline=None)
@given(STEPS, st.integers(0, 2), st.none() | st.integers(1, 5000))
def test_every_story_is_consistent_and_ends_at_most_once(
    steps: list[tuple[int, bool, Observation]], max_retries: int, queue_limit: int | None
) -> None:
    story, seconds = Story(max_retries, queue_limit), 0
    for pause, cancels, observation in steps:
        seconds += pause
        if cancels and story.workload.cancel_requested_at is None:
            story.workload = replace(story.workload, cancel_requested_at=at(seconds), cancelled_by="bob")
        story.step(observation, at(seconds))
    assert story.ends <= 1
    assert story.executed <= max_retries
    assert story.workload.attempt <= 3 + max_retries


@settings(max_examples=examples(200), deadline=None)
@given(OBSERVATIONS, st.integers(0, 9000), st.none() | st.integers(0, 9000))
def test_a_recorded_end_is_never_rewritten(observation: Observation, now: int, cancelled: int | None) -> None:
    recorded: dict[str, Any] = {"started_at": at(65), "finished_at": at(600), "exit_code": 3, "termination": "Error"}
    attempt = Attempt(a_workload().id, 1, "gpu-1", "gpu", at(0), job_uid="job-1", pod_uid="pod-1", **recorded)
    asked = None if cancelled is None else at(cancelled)
    running = a_workload(status=Status.RUNNING, phase=Phase.RUNNING, attempt=1, cancel_requested_at=asked)
    after = decide(running, attempt, observation, at(now), POLICY).attempt
    assert after is not None
    assert {name: getattr(after, name) for name in recorded} == recorded


@settings(max_examples=examples(200), deadline=None)
@given(OBSERVATIONS, st.integers(0, 9000))
def test_a_cancelled_workload_never_goes_back_to_the_queue(observation: Observation, now: int) -> None:
    workload = a_workload(phase=Phase.INITIALIZING, attempt=1, max_retries=9, cancel_requested_at=at(now))
    attempt = Attempt(workload.id, 1, "gpu-1", "gpu", at(0), job_uid="job-1")
    after = decide(workload, attempt, observation, at(now), POLICY).workload
    assert after.phase is Phase.STOPPING or after.status.is_terminal
