"""A small coherent cluster and the decisions at work on it, in any order of events.

Holds: nothing runs when a workload has ended or waits again, a container is started once only without `maxRetries`,
the end comes once and stays, and whatever happened a cancel brings it to an end with nothing left behind.

Left out: a kubelet that forgets an executed container's times (test_retry has it).
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.domain.cleanup import decide_cleanup
from app.domain.events import event_between
from app.domain.lifecycle import (
    Action,
    CreateJob,
    DeleteJob,
    LimitRun,
    ReleasePod,
    TakeLog,
    decide,
    decide_waiting,
    place,
)
from app.domain.observed import Observation, ObservedJob, ObservedPod, Terminated
from app.domain.workload import Attempt, EventType, Workload
from tests.depth import examples
from tests.domain.builders import POLICY, START_LIMIT, a_job, a_pod, a_workload, at


class Cluster(RuleBasedStateMachine):
    """One workload; the methods named for the app's parts use its decisions, the rules are what happens to it."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0
        self.workload: Workload = a_workload()
        self.attempt: Attempt | None = None
        self.job: ObservedJob | None = None
        self.pod: ObservedPod | None = None
        self.has_had_pod = False
        self.answers = True
        self.executions = 0
        self.ends = 0

    @initialize(stage=st.integers(0, 4))
    def begins_at(self, stage: int) -> None:
        """Most of a story happens to what has a pod; finding the way there again and again would waste the steps."""
        for step in (self.placement, self.look, self.pod_appears, self.container_starts)[:stage]:
            step()

    # the app

    @rule()
    def look(self) -> None:
        observation, now = Observation(self.job, self.pod, self.answers), at(self.seconds)
        if self.attempt is not None and self.attempt.ended_at is not None:
            self.attempt, actions, _ = decide_cleanup(self.attempt, observation, now, POLICY)
        elif self.attempt is not None:
            decision = decide(self.workload, self.attempt, observation, now, POLICY)
            self.store(decision.workload, decision.attempt)
            actions = decision.actions
        else:
            self.store(decide_waiting(self.workload, now).workload, None)
            actions = ()
        for action in actions:
            self.apply(action)

    @precondition(lambda self: self.workload.waits and self.workload.cancel_requested_at is None)
    @rule()
    def placement(self) -> None:
        decision = place(self.workload, f"gpu-{self.workload.attempt + 1}", "nvidia.com/gpu", at(self.seconds))
        self.store(decision.workload, decision.attempt)
        self.job, self.pod, self.has_had_pod, self.answers = None, None, False, True

    def store(self, workload: Workload, attempt: Attempt | None) -> None:
        event = event_between(self.workload, workload, at(self.seconds))
        self.ends += event is not None and event.type is EventType.ENDED
        self.workload = workload
        self.attempt = None if workload.waits else attempt

    def apply(self, action: Action) -> None:
        if isinstance(action, CreateJob) and self.job is None and self.attempt is not None:
            self.job, self.has_had_pod = a_job(uid=f"job-{self.seconds}", attempt=self.attempt.number), False
        elif isinstance(action, DeleteJob):
            self.job_is_deleted()
        elif isinstance(action, LimitRun) and self.pod is not None:
            self.pod = replace(self.pod, run_limit_seconds=action.seconds)
        elif isinstance(action, TakeLog) and self.attempt is not None:
            assert self.pod is None or self.pod.is_held  # or there is no log any more
            self.attempt = replace(self.attempt, log_taken_at=at(self.seconds))
            self.look()
        elif isinstance(action, ReleasePod) and self.pod is not None:
            self.pod = replace(self.pod, is_held=False)
            self.pod_is_collected()

    @precondition(lambda self: self.attempt is not None)
    @rule(minded=st.sampled_from([False, False, False, True]))
    def cancel(self, minded: bool) -> None:
        if minded and not self.workload.status.is_terminal and self.workload.cancel_requested_at is None:
            now = at(self.seconds)
            self.store(replace(self.workload, cancel_requested_at=now, cancelled_by="bob"), self.attempt)

    # the cluster

    @rule(seconds=st.sampled_from([1, 5, 60, START_LIMIT, 4000, 100_000]))
    def time_passes(self, seconds: int) -> None:
        self.seconds += seconds
        self.look()

    @precondition(lambda self: self.job is not None and not self.has_had_pod)
    @rule()
    def pod_appears(self) -> None:
        self.pod, self.has_had_pod = a_pod(pod_started_at=at(self.seconds)), True

    @precondition(lambda self: self.job is not None and not self.has_had_pod and self.answers)
    @rule()
    def pod_starts_at_once(self) -> None:
        self.pod_appears()
        self.container_starts()

    @precondition(lambda self: self.is_starting())
    @rule(word=st.sampled_from(["ErrImagePull", "InvalidImageName", "ContainerCreating"]))
    def container_waits(self, word: str) -> None:
        self.change_pod(waiting_reason=word)

    @precondition(lambda self: self.is_starting() and self.pod.deletion_requested_at is None)
    @rule()
    def container_starts(self) -> None:
        self.executions += 1
        self.change_pod(phase="Running", waiting_reason="", running_since=at(self.seconds))

    @precondition(lambda self: self.is_alive() and self.pod.running_since)
    @rule(code=st.sampled_from([0, 1, 137]), word=st.sampled_from(["Error", "OOMKilled"]))
    def container_ends(self, code: int, word: str) -> None:
        self.container_is_over(code, word if code else "Completed")

    @precondition(lambda self: self.is_alive() and self.pod.running_since)
    @rule()
    def deadline_passes(self) -> None:
        limit = self.pod.run_limit_seconds if self.pod else None
        if limit is not None and at(self.seconds - limit) >= at(0):
            self.container_is_over(137, "Error", reason="DeadlineExceeded")

    @precondition(lambda self: self.is_alive())
    @rule()
    def kubelet_evicts(self) -> None:
        if self.pod is not None and self.pod.running_since:
            self.container_is_over(137, "Error", reason="Evicted", disruption="TerminationByKubelet")
        else:
            self.change_pod(phase="Failed", reason="Evicted", disruption="TerminationByKubelet")

    @precondition(lambda self: self.is_starting())
    @rule()
    def kubelet_refuses(self) -> None:
        self.change_pod(phase="Failed", reason="UnexpectedAdmissionError")

    @precondition(lambda self: self.is_alive() and self.pod.deletion_requested_at is not None)
    @rule()
    def kubelet_kills(self) -> None:
        if self.pod is not None and self.pod.running_since:
            self.container_is_over(143, "Error")
        else:
            lost = Terminated(137, "ContainerStatusUnknown", "could not be located", None, None)
            self.change_pod(phase="Failed", terminated=lost)

    @precondition(lambda self: self.job is not None)
    @rule()
    def job_is_deleted(self) -> None:
        self.job = None
        self.pod_is_deleted()

    @precondition(lambda self: self.pod is not None)
    @rule()
    def pod_is_deleted(self) -> None:
        if self.pod is not None and self.pod.deletion_requested_at is None:
            self.change_pod(deletion_requested_at=at(self.seconds))
        self.pod_is_collected()

    @precondition(lambda self: self.pod is not None)
    @rule(answers=st.booleans())
    def node_answers(self, answers: bool) -> None:
        self.answers = answers

    def is_alive(self) -> bool:
        return self.answers and self.pod is not None and not self.pod.is_over

    def is_starting(self) -> bool:
        return self.is_alive() and self.pod is not None and self.pod.running_since is None

    def change_pod(self, **changes: object) -> None:
        assert self.pod is not None
        self.pod = replace(self.pod, **changes)  # type: ignore[arg-type]
        if self.pod.is_over and self.job is not None:
            failed = self.pod.phase == "Failed"
            self.job = replace(self.job, is_complete=not failed, failure="BackoffLimitExceeded" if failed else "")

    def container_is_over(self, code: int, word: str, **changes: object) -> None:
        end = Terminated(code, word, "", self.pod.running_since if self.pod else None, at(self.seconds))
        self.change_pod(
            **{"phase": "Failed" if code else "Succeeded", "terminated": end, "running_since": None, **changes}
        )

    def pod_is_collected(self) -> None:
        if self.pod is not None and self.pod.is_over and self.pod.deletion_requested_at and not self.pod.is_held:
            self.pod = None

    # what holds at all times

    @invariant()
    def status_and_phase_agree(self) -> None:
        assert self.workload.status in self.workload.phase.statuses

    @invariant()
    def the_end_comes_once(self) -> None:
        assert self.ends == self.workload.status.is_terminal

    @invariant()
    def nothing_runs_when_it_has_ended_or_waits(self) -> None:
        if self.workload.status.is_terminal or self.workload.waits:
            assert self.pod is None or self.pod.is_over

    @invariant()
    def without_retries_it_executes_once(self) -> None:
        assert self.executions <= 1
        assert self.workload.attempt <= 3

    def teardown(self) -> None:
        """Whatever happened: a server that answers and a cancel bring it to its end, and nothing is left behind."""
        self.answers = True
        self.cancel(minded=True)
        for _ in range(4):
            self.look()
            if self.is_alive() and self.pod is not None and self.pod.deletion_requested_at is not None:
                self.kubelet_kills()
            self.seconds += 100_000
        assert self.workload.status.is_terminal
        self.the_end_comes_once()
        if self.attempt is not None:
            assert (self.job, self.pod) == (None, None)
            assert self.attempt.cleaned_at is not None


Cluster.TestCase.settings = settings(max_examples=examples(300), stateful_step_count=30, deadline=None)
TestCluster = Cluster.TestCase
