"""Many workloads on a small fleet, in any order of events: what must hold at every moment, and in the end.

Facts of the cluster (every end that a pod can come to, nodes that don't answer, people who delete things, late
rewrites of what had ended), commands, deaths of the app between any two of its calls, clocks that jump, and news that
come late. tests/domain/fleet.py has the model; test_lifecycle_machine tells one workload's story in more detail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.cluster.port import Kind
from app.domain.observed import Terminated
from app.domain.states import Phase as WorkloadPhase
from app.domain.states import Status
from app.domain.workload import EventType, Workload
from tests.depth import examples
from tests.domain.builders import POLICY, RUN_LIMIT, START_LIMIT, a_workload, at
from tests.domain.fleet import GPUS_PER_NODE, NODES, ModelApp, ModelCluster, a_node

MOST_WORKLOADS = 5
SKEW = 3  # seconds that our clock may be off
REFUSALS = ("UnexpectedAdmissionError", "OutOfcpu", "NodeAffinity", "Preempting", "Evicted", "NodeShutdown", "")
REASONS = ("Evicted", "Preempting", "Terminated", "NodeLost", "DeadlineExceeded")
DISRUPTIONS = ("TerminationByKubelet", "PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI", "")
OBSTACLES = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "ContainerCreating")
WHICH = st.integers(0, 11)


class Fleet(RuleBasedStateMachine):
    """Rules that need a target take the n-th of those that are fit for it."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ModelCluster()
        self.app = ModelApp(self.cluster)
        self.asked_at: dict[UUID, int] = {}  # when a cancel was asked for, by the cluster's clock
        self.ended: dict[UUID, Workload] = {}
        self.recorded: dict[tuple[UUID, int], tuple[object, ...]] = {}
        self.erased: Counter[str] = Counter()  # Jobs of which others left no trace before we had noted any

    @initialize(workloads=st.integers(1, 3), has_pods=st.booleans(), runs=st.booleans())
    def begins_with(self, workloads: int, has_pods: bool, runs: bool) -> None:
        """Jobs that were asked for just now: finding the way there again and again would waste the steps."""
        for which in range(workloads):
            self.submit(gpus=1 + which % GPUS_PER_NODE, retries=which, limit=None)
            self.one_is_looked_at(which)
            if has_pods:
                self.pod_appears(0, runs)

    # people

    @precondition(lambda self: len(self.app.rows) < MOST_WORKLOADS)
    @rule(gpus=st.integers(1, GPUS_PER_NODE), retries=st.sampled_from([0, 0, 1, 2]), limit=st.sampled_from([None, 900]))
    def submit(self, gpus: int, retries: int, limit: int | None) -> None:
        made = a_workload(max_retries=retries, queue_limit=limit, id=UUID(int=len(self.app.rows) + 1))
        resources = replace(made.spec.resources, gpu_count=gpus)
        self.app.submit(replace(made, spec=replace(made.spec, resources=resources, preemptible=True)))
        self.app.place_all()

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        self.cancel_one(self.nth(list(self.app.rows), which))

    def cancel_one(self, workload_id: UUID) -> None:
        if not self.app.rows[workload_id].status.is_terminal:
            self.asked_at.setdefault(workload_id, self.cluster.seconds)
        self.app.cancel(workload_id)

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH)
    def room_is_made(self, which: int) -> None:
        self.app.preempt(self.nth(list(self.app.rows), which))

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH, resumes=st.booleans())
    def suspend(self, which: int, resumes: bool) -> None:
        workload_id = self.nth(list(self.app.rows), which)
        if resumes:
            self.app.resume(workload_id)
        else:
            self.app.suspend(workload_id)

    # the app

    @rule()
    def everything_is_looked_at(self) -> None:
        for kind in Kind:
            self.app.catch_up(kind)
        self.app.place_all()
        for workload_id in self.app.rows:
            self.app.reconcile(workload_id)

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH)
    def one_is_looked_at(self, which: int) -> None:
        self.app.reconcile(self.nth(list(self.app.rows), which))

    @rule(kind=st.sampled_from(list(Kind)))
    def news_arrive(self, kind: Kind) -> None:
        self.app.catch_up(kind)

    @rule()
    def the_queue_is_placed(self) -> None:
        self.app.place_all()

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH, calls=st.integers(0, 2))
    def the_process_dies(self, which: int, calls: int) -> None:
        self.app.reconcile(self.nth(list(self.app.rows), which), calls=calls)
        self.app.restart()

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH)
    def a_cancel_comes_between_store_and_call(self, which: int) -> None:
        workload_id = self.nth(list(self.app.rows), which)
        self.app.reconcile(workload_id, meanwhile=lambda: self.cancel_one(workload_id))

    @precondition(lambda self: self.app.rows)
    @rule(which=WHICH)
    def a_suspend_comes_between_store_and_call(self, which: int) -> None:
        workload_id = self.nth(list(self.app.rows), which)
        self.app.reconcile(workload_id, meanwhile=lambda: self.app.suspend(workload_id))

    # time

    @rule(seconds=st.sampled_from([1, 6, 60, 600, START_LIMIT, RUN_LIMIT + 60, 100_000]))
    def time_passes(self, seconds: int) -> None:
        self.cluster.pass_time(seconds)

    @rule(skew=st.integers(-SKEW, SKEW))
    def our_clock_is_set(self, skew: int) -> None:
        self.app.skew = skew

    # the cluster

    @precondition(lambda self: self.jobs_without_pod())
    @rule(which=WHICH, starts=st.booleans())
    def pod_appears(self, which: int, starts: bool) -> None:
        name = self.nth(self.jobs_without_pod(), which)
        self.cluster.make_pod(name)
        if starts and self.cluster.is_live(name):
            self.cluster.start(name)

    @precondition(lambda self: self.starting())
    @rule(which=WHICH, word=st.sampled_from(OBSTACLES))
    def container_waits(self, which: int, word: str) -> None:
        self.cluster.change(self.nth(self.starting(), which), waiting_reason=word)

    @precondition(lambda self: self.starting())
    @rule(which=WHICH)
    def container_starts(self, which: int) -> None:
        name = self.nth(self.starting(), which)
        if self.cluster.pods[name].deletion_requested_at is None:
            self.cluster.start(name)

    @precondition(lambda self: self.starting())
    @rule(which=WHICH)
    def container_can_not_start(self, which: int) -> None:
        end = Terminated(128, "StartError", "no such file", None, at(self.cluster.seconds))
        self.cluster.end(self.nth(self.starting(), which), 137, terminated=end)

    @precondition(lambda self: self.starting())
    @rule(which=WHICH, word=st.sampled_from(REFUSALS))
    def kubelet_refuses(self, which: int, word: str) -> None:
        self.cluster.end(self.nth(self.starting(), which), 137, reason=word)

    @precondition(lambda self: self.executing())
    @rule(which=WHICH, code=st.sampled_from([0, 1, 137, 143]))
    def container_ends(self, which: int, code: int) -> None:
        self.cluster.end(self.nth(self.executing(), which), code)

    @precondition(lambda self: self.executing())
    @rule(which=WHICH, word=st.sampled_from(REASONS[:3]), disruption=st.sampled_from(DISRUPTIONS))
    def container_is_put_out(self, which: int, word: str, disruption: str) -> None:
        self.cluster.end(self.nth(self.executing(), which), 143, reason=word, disruption=disruption)

    @precondition(lambda self: self.cluster.pods)
    @rule(which=WHICH, disruption=st.sampled_from(["", *DISRUPTIONS]))
    def pod_is_deleted(self, which: int, disruption: str) -> None:
        name = self.nth(list(self.cluster.pods), which)
        if disruption:
            self.cluster.change(name, disruption=disruption)
        self.cluster.delete_pod(name)

    @precondition(lambda self: self.cluster.pods)
    @rule(which=WHICH)
    def pod_vanishes(self, which: int) -> None:
        name = self.nth(list(self.cluster.pods), which)
        self.cluster.force_delete(name)
        self.note_erased(name)

    @precondition(lambda self: self.dying())
    @rule(which=WHICH)
    def kubelet_carries_out_a_deletion(self, which: int) -> None:
        self.cluster.kill(self.nth(self.dying(), which))

    @precondition(lambda self: self.cluster.jobs)
    @rule(which=WHICH, is_told=st.booleans())
    def somebody_deletes_a_job(self, which: int, is_told: bool) -> None:
        """And that is looked at before the news of its pod arrive, or later."""
        name = self.nth(list(self.cluster.jobs), which)
        workload_id = UUID(self.cluster.jobs[name].workload_id)
        self.cluster.delete_job(name, self.cluster.jobs[name].uid)
        self.note_erased(name)
        if is_told:
            self.app.catch_up(Kind.JOBS)
            self.app.reconcile(workload_id)

    @precondition(lambda self: self.cluster.jobs)
    @rule(which=WHICH, word=st.sampled_from(["DeadlineExceeded", "BackoffLimitExceeded"]))
    def the_job_fails_first(self, which: int, word: str) -> None:
        """The Job's own deadline, or its pod counted as failed before the pod says so."""
        name = self.nth(list(self.cluster.jobs), which)
        job = self.cluster.jobs[name]
        may = {
            "DeadlineExceeded": self.cluster.has_passed_its_deadline(name),
            "BackoffLimitExceeded": job.uid in self.cluster.had_pod,
        }
        if not job.is_complete and not job.failure and may[word]:
            self.cluster.jobs[name] = replace(job, failure=word)
            self.cluster.had_pod.add(job.uid)
            self.cluster.delete_pod(name)

    @precondition(lambda self: self.over())
    @rule(which=WHICH, word=st.sampled_from(REASONS), forgets=st.booleans())
    def what_had_ended_is_rewritten(self, which: int, word: str, forgets: bool) -> None:
        name = self.nth(self.over(), which)
        self.cluster.rewritten.add(name)
        lost = Terminated(137, "ContainerStatusUnknown", "could not be located", None, None)
        self.cluster.change(name, reason=word, **({"terminated": lost, "phase": "Failed"} if forgets else {}))

    @rule(which=WHICH, is_ready=st.booleans())
    def node_answers(self, which: int, is_ready: bool) -> None:
        name = self.nth(list(NODES), which)
        self.cluster.nodes[name] = a_node(name, is_ready=is_ready)

    def note_erased(self, name: str) -> None:
        if name not in self.cluster.jobs and name not in self.cluster.pods:
            noted = {attempt.job_name for _, attempt in self.app.live_attempts() if attempt.job_uid or attempt.pod_uid}
            self.erased[name] += name not in noted

    # who is fit for what

    @staticmethod
    def nth(items: list[Any], which: int) -> Any:
        return items[which % len(items)]

    def jobs_without_pod(self) -> list[str]:
        return [name for name, job in self.cluster.jobs.items() if job.uid not in self.cluster.had_pod]

    def starting(self) -> list[str]:
        return [name for name in self.cluster.live_pods() if self.cluster.pods[name].running_since is None]

    def executing(self) -> list[str]:
        return [name for name in self.cluster.live_pods() if self.cluster.pods[name].running_since is not None]

    def dying(self) -> list[str]:
        return [n for n in self.cluster.live_pods() if self.cluster.pods[n].deletion_requested_at is not None]

    def over(self) -> list[str]:
        return [name for name, pod in self.cluster.pods.items() if pod.is_over]

    # what holds at every moment

    @invariant()
    def the_end_comes_once_and_stays(self) -> None:
        for workload_id, workload in self.app.rows.items():
            types = [event.type for event in self.app.events[workload_id]]
            assert types.count(EventType.ENDED) == workload.status.is_terminal
            if workload.status.is_terminal:
                assert types[-1] is EventType.ENDED
                assert self.ended.setdefault(workload_id, workload) == workload

    @invariant()
    def the_state_is_the_fold_of_its_events(self) -> None:
        for workload_id, workload in self.app.rows.items():
            last = self.app.events[workload_id][-1]
            told = (last.status, last.phase, last.reason, last.attempt)
            assert told == (workload.status, workload.phase, workload.reason, workload.attempt)
            assert not workload.status.is_terminal or last.exit_code == workload.exit_code

    @invariant()
    def no_gpu_is_given_away_twice(self) -> None:
        for node in NODES:
            taken = self.cluster.taken(node)
            for workload, attempt in self.app.live_attempts():
                if attempt.server == node and self.cluster.may_get_pod(attempt.job_name):
                    taken[attempt.job_name] = workload.spec.resources.gpu_count
            assert sum(taken.values()) <= GPUS_PER_NODE, (node, taken)

    @invariant()
    def one_attempt_lives_at_a_time(self) -> None:
        for workload_id, workload in self.app.rows.items():
            names = self.app.jobs_of(workload_id)
            alive = [n for n in names if n in self.cluster.pods and not self.cluster.pods[n].is_over]
            assert alive in ([], names[-1:])
            is_idle = workload.waits or workload.phase is WorkloadPhase.SUSPENDED
            assert not (alive and (workload.status.is_terminal or is_idle))
            assert workload.phase is not WorkloadPhase.SUSPENDED or workload.held_at is not None
            assert sum(a.ended_at is None for a in self.app.attempts[workload_id]) <= 1

    @invariant()
    def nothing_is_created_or_executed_twice(self) -> None:
        for name, count in self.cluster.created.items():
            assert count <= 1 + self.erased[name]
        for workload_id, workload in self.app.rows.items():
            names = self.app.jobs_of(workload_id)
            executed = sum(max(0, self.cluster.executions[name] - self.erased[name]) for name in names)
            assert executed <= 1 + workload.spec.max_retries + workload.attempts_yielded

    @invariant()
    def what_was_recorded_stays(self) -> None:
        for workload_id, attempts in self.app.attempts.items():
            for attempt in attempts:
                if attempt.termination:
                    found = (attempt.termination, attempt.exit_code, attempt.finished_at)
                    assert self.recorded.setdefault((workload_id, attempt.number), found) == found

    @invariant()
    def an_end_is_true(self) -> None:
        for workload_id, workload in self.ended.items():
            names = self.app.jobs_of(workload_id)
            last = self.cluster.ran.get(names[-1]) if names else None
            if any(name in self.cluster.rewritten or self.erased[name] for name in names):
                continue
            if workload.status is Status.COMPLETED:
                assert last is not None
                assert last[2] == workload.exit_code
            if workload.status is Status.TIMEOUT and last is not None and names[-1] not in self.cluster.late:
                assert last[1] - last[0] >= RUN_LIMIT - SKEW
            if workload_id in self.asked_at and workload.status is not Status.CANCELLED:
                ended = max((self.cluster.finished.get(name, -1) for name in names), default=-1)
                assert 0 <= ended <= self.asked_at[workload_id] + SKEW, workload

    # what holds in the end

    def teardown(self) -> None:
        """The cluster comes to rest, time passes: every workload has its end, and nothing is left of any."""
        self.app.skew = 0
        self.cluster.nodes = {name: a_node(name) for name in NODES}
        for _ in range(20):
            for workload_id in self.app.rows:
                self.app.resume(workload_id)
            self.round(self.come_to_an_end)
        for workload in self.app.rows.values():
            assert workload.status.is_terminal, workload
        self.cluster.pass_time(POLICY.job_retention_seconds)
        for _ in range(3):
            self.round(lambda: None)
        assert (self.cluster.jobs, self.cluster.pods) == ({}, {})
        assert self.app.claims.open("") == []
        assert all(attempt.cleaned_at for attempts in self.app.attempts.values() for attempt in attempts)

    def round(self, happens: Callable[[], None]) -> None:
        happens()
        self.everything_is_looked_at()
        self.the_end_comes_once_and_stays()
        self.no_gpu_is_given_away_twice()
        self.an_end_is_true()
        self.cluster.pass_time(1000)

    def come_to_an_end(self) -> None:
        for name in self.jobs_without_pod():
            self.cluster.make_pod(name)
        for name in self.dying():
            self.cluster.kill(name)
        for name in self.executing():
            self.cluster.end(name, 0)
        for name in self.starting():
            self.cluster.start(name)


# Without shrinking: it would take minutes. The steps that are printed are the story as it was found.
Fleet.TestCase.settings = settings(
    max_examples=examples(150),
    stateful_step_count=50,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
TestFleet = Fleet.TestCase
