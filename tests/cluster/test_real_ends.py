"""Every end that a real Kubernetes 1.36 could be brought to: its raw objects → observer → decision.

The objects in samples/ends were recorded there, under our own manifests: pods and their Jobs once nothing of them ran
any more, or while they still did where that is what matters. Left out: what the laboratory has no means for (a node's
shutdown by its init system, preemption by the scheduler, a container runtime that says Unknown).
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from app.cluster.answers import error_of, may_be_accepted_later
from app.cluster.observer import Observer, last_words
from app.cluster.port import RefusedError
from app.domain.cleanup import decide_cleanup
from app.domain.lifecycle import Action, Decision, DeleteJob, Policy, decide
from app.domain.observed import Observation
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, Workload
from tests.domain.builders import POLICY, START_LIMIT, a_placed_workload

Json = dict[str, Any]
OBSERVER = Observer()
NOTHING_LEFT = Observation()


def recorded(name: str) -> Json:
    found: Json = json.loads((Path(__file__).parent / "samples" / "ends" / f"{name}.json").read_text())
    return found


def observation(name: str, *, node_answers: bool | None = True) -> Observation:
    raw = recorded(name)
    job = OBSERVER.job(raw["job"]) if raw["job"] else None
    if job is not None and "event" in raw:
        job = replace(job, obstacle=last_words([raw["event"]]))
    return Observation(job, OBSERVER.pod(raw["pod"]) if raw["pod"] else None, node_answers)


def placed_at(name: str) -> datetime:
    raw = recorded(name)
    return datetime.fromisoformat((raw["pod"] or raw["job"])["metadata"]["creationTimestamp"])


def started(name: str, **changes: Any) -> tuple[Workload, Attempt]:
    workload = a_placed_workload(id=UUID(int=1), **changes)
    return workload, Attempt(workload.id, 1, "real-1", "nvidia.com/gpu", placed_at(name))


def looked_at(
    name: str, seconds: float = 240, *, node_answers: bool | None = True, policy: Policy = POLICY
) -> Decision:
    """What is decided on it that many seconds after the placement, by a process that sees it for the first time."""
    workload, attempt = started(name)
    now = placed_at(name) + timedelta(seconds=seconds)
    return decide(workload, attempt, observation(name, node_answers=node_answers), now, policy)


ENDS: list[tuple[str, Status, Reason, int | None, bool, str]] = [
    # sample, status, reason, exit code, whether it executed, words
    ("oom0", Status.FAILED, Reason.OUT_OF_MEMORY, 0, True, "memory limit of 16Gi"),
    ("sigkill", Status.COMPLETED, Reason.EXITED, 137, True, "signal 9, SIGKILL"),
    ("sigself", Status.COMPLETED, Reason.EXITED, 137, True, "signal 9, SIGKILL"),
    ("injected", Status.COMPLETED, Reason.EXITED, 5, True, "exit code 5"),
    ("endsdown-back", Status.COMPLETED, Reason.EXITED, 6, True, "exit code 6"),
    ("poddeleted", Status.FAILED, Reason.POD_DELETED, 143, True, "deleted by somebody on real-1"),
    ("podforced", Status.FAILED, Reason.POD_DELETED, 143, True, "deleted by somebody on real-1"),
    ("nsdeleted", Status.FAILED, Reason.POD_DELETED, 143, True, "deleted by somebody on real-1"),
    ("pulldeleted", Status.FAILED, Reason.POD_DELETED, None, False, "deleted by somebody on real-1"),
    ("jobdeleted", Status.FAILED, Reason.JOB_DELETED, 143, True, "its Job was deleted by somebody"),
    ("initfails", Status.FAILED, Reason.CONFIGURATION_ERROR, None, False, "init container agent-init ended with"),
    ("evicted", Status.FAILED, Reason.EVICTED, 137, True, 'Evicted: Usage of EmptyDir volume "v" exceeds'),
    ("preempted", Status.FAILED, Reason.PREEMPTED, 143, True, "Preempting: Preempted in order to admit critical pod"),
    ("drained", Status.FAILED, Reason.EVICTED, 143, True, "EvictionByEvictionAPI"),
    ("tainted", Status.FAILED, Reason.EVICTED, 143, True, "DeletionByTaintManager"),
    ("unreachable-back", Status.FAILED, Reason.EVICTED, 143, True, "DeletionByTaintManager"),
    ("nodedeleted", Status.FAILED, Reason.NODE_LOST, None, True, "lost with its server real-1: DeletionByPodGC"),
    ("nodedeleted-3", Status.FAILED, Reason.NODE_LOST, 143, True, "lost with its server real-1: DeletionByPodGC"),
    ("vanishes-back", Status.FAILED, Reason.NODE_REFUSED, 137, True, "no healthy devices present"),
]


@pytest.mark.parametrize(("name", "status", "reason", "code", "executed", "words"), ENDS, ids=[e[0] for e in ENDS])
def test_the_end_of_what_is_over(
    name: str, status: Status, reason: Reason, code: int | None, executed: bool, words: str
):
    ended = looked_at(name).workload
    assert (ended.status, ended.reason, ended.exit_code) == (status, reason, code)
    assert words in ended.message
    assert ended.completed_at is not None
    assert (ended.started_at is not None) is executed
    if ended.started_at is not None:
        assert placed_at(name) <= ended.started_at <= ended.completed_at


REFUSED = [
    ("admissionerror", "UnexpectedAdmissionError", "Requested: 9, Available: 4"),
    ("nohealthy", "UnexpectedAdmissionError", "Requested: 2, Available: 1"),
    ("outofcpu", "OutOfcpu", "requested: 90000, used: 0, capacity: 2000"),
]


@pytest.mark.parametrize(("name", "word", "numbers"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_its_kubelet_refused_is_tried_on_another_server(name: str, word: str, numbers: str):
    decision = looked_at(name)
    waiting, attempt = decision.workload, decision.attempt
    assert attempt is not None
    assert (waiting.phase, waiting.reason, waiting.avoid_servers) == (Phase.QUEUED, Reason.BACKING_OFF, ("real-1",))
    assert (attempt.reason, attempt.exit_code, attempt.started_at) == (Reason.NODE_REFUSED, None, None)
    assert word in attempt.message
    assert numbers in attempt.message


NEVER_STARTED = [
    ("unauthorized", Reason.IMAGE_PULL_FAILED, "401 Unauthorized"),
    ("missing", Reason.IMAGE_PULL_FAILED, "not found"),
    ("registrydown", Reason.IMAGE_PULL_FAILED, "connection refused"),
    ("registrybroken", Reason.IMAGE_PULL_FAILED, "500 Internal Server Error"),
    ("configerror", Reason.CONFIGURATION_ERROR, 'secret "absent" not found'),
    ("quotapod", Reason.JOB_NOT_CREATED, "exceeded quota: gpus"),
    ("denypods", Reason.JOB_NOT_CREATED, "images must come from registry.example.com"),
]


@pytest.mark.parametrize(("name", "reason", "words"), NEVER_STARTED, ids=[row[0] for row in NEVER_STARTED])
def test_what_never_starts_is_named_while_it_waits_and_when_the_start_limit_ends_it(
    name: str, reason: Reason, words: str
):
    waiting = looked_at(name, 60).workload
    assert (waiting.status, waiting.phase) == (Status.PENDING, Phase.INITIALIZING)
    assert words in waiting.message
    stopping = looked_at(name, START_LIMIT)
    assert stopping.workload.phase is Phase.STOPPING
    assert [type(action) for action in stopping.actions] == [DeleteJob]
    assert stopping.attempt is not None
    ended = decide(stopping.workload, stopping.attempt, NOTHING_LEFT, placed_at(name), POLICY).workload
    assert (ended.status, ended.reason, ended.exit_code, ended.started_at) == (Status.FAILED, reason, None, None)
    assert words in ended.message
    assert f"{START_LIMIT} s" in ended.message


def test_a_silent_server_is_waited_for_and_its_pod_goes_on_when_it_is_back():
    silent = looked_at("blip-unreachable", node_answers=False)
    assert (silent.workload.status, silent.workload.phase) == (Status.RUNNING, Phase.UNKNOWN)
    assert silent.attempt is not None
    back = decide(
        silent.workload, silent.attempt, observation("blip-unreachable"), placed_at("blip-unreachable"), POLICY
    )
    assert (back.workload.status, back.workload.phase) == (Status.RUNNING, Phase.RUNNING)


def test_what_is_evicted_from_a_silent_server_waits_for_the_kubelets_word():
    """Its deletion stamp and its condition are there, but nobody knows whether it still runs."""
    waits = looked_at("unreachable-1", node_answers=False)
    assert (waits.workload.phase, waits.actions) == (Phase.UNKNOWN, ())


def test_a_forced_deletion_is_no_end_while_the_container_runs():
    """Our finalizer keeps the pod, although its deletion allows it no time at all."""
    pod = observation("podforced-1").pod
    assert pod is not None
    assert (pod.deletion_requested_at is not None, pod.is_held, pod.is_over) == (True, True, False)
    assert looked_at("podforced-1", 5).workload.phase is Phase.RUNNING


def test_what_the_kubelet_of_a_removed_node_writes_later_changes_nothing():
    """The garbage collector says Failed, the kubelet that still lives says Running again, and then the end."""
    for later in ("nodedeleted-2", "nodedeleted-3"):
        after, actions = swept(looked_at("nodedeleted"), observation(later))
        assert after.exit_code is None
        assert DeleteJob in actions


def swept(decision: Decision, seen: Observation) -> tuple[Attempt, set[type[Action]]]:
    """The ended attempt after it was looked at again at once, and what is done then."""
    assert decision.attempt is not None
    ended = replace(decision.attempt, log_taken_at=decision.attempt.ended_at)
    assert ended.ended_at is not None
    after, actions, _ = decide_cleanup(ended, seen, ended.ended_at, POLICY)
    return after, {type(action) for action in actions}


def test_a_sidecar_that_goes_on_neither_hides_the_end_nor_keeps_the_gpus():
    """An old-fashioned one, that runs beside our container and isn't stopped with it."""
    name = "oldsidecar"
    assert looked_at(name, 5).workload.status is Status.RUNNING
    ended = looked_at(name)
    assert (ended.workload.status, ended.workload.exit_code) == (Status.COMPLETED, 4)
    assert DeleteJob in swept(ended, observation(name))[1]


def test_an_injected_sidecar_is_no_part_of_it():
    pod = observation("injected-running").pod
    assert pod is not None
    assert pod.running_since is not None
    assert (pod.phase, pod.terminated, pod.init_failure) == ("Running", None, "")
    assert looked_at("injected-running", 5).workload.phase is Phase.RUNNING


def test_a_gpu_that_goes_bad_stops_nothing():
    pod = observation("busy-unhealthy").pod
    assert pod is not None
    assert (pod.phase, len(pod.gpus)) == ("Running", 3)


ANSWERS = [
    ("answer-quota", True, "exceeded quota: jobs"),
    ("answer-terminating", True, "because it is being terminated"),
    ("answer-nsgone", True, 'namespaces "gy-gone" not found'),
    ("answer-deny-jobs", False, "images must come from registry.example.com"),
]


@pytest.mark.parametrize(("name", "later", "words"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_which_refusals_of_a_job_may_be_taken_back(name: str, later: bool, words: str):
    answer = recorded(name)
    refusal = error_of(answer["code"], answer, {})
    assert isinstance(refusal, RefusedError)
    assert may_be_accepted_later(refusal) is later
    assert words in refusal.message


def denial(message: str) -> RefusedError:
    return RefusedError(403, "Forbidden", message)


def test_what_a_webhook_or_a_policy_says_of_a_job_is_final():
    assert not may_be_accepted_later(denial('403 Forbidden: admission webhook "a.b" denied the request: no'))
    assert not may_be_accepted_later(denial("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"))
    assert may_be_accepted_later(denial('jobs.batch is forbidden: User "x" cannot create resource "jobs"'))


NODES = [
    ("node-unreachable", False, {"node.kubernetes.io/unreachable"}, 4),
    ("node-unhealthy", True, set(), 1),
    ("node-tainted", True, {"team"}, 4),
]


@pytest.mark.parametrize(("name", "ready", "taints", "allocatable"), NODES, ids=[row[0] for row in NODES])
def test_nodes_in_trouble(name: str, ready: bool, taints: set[str], allocatable: int):
    node = OBSERVER.node(recorded(name))
    assert node is not None
    assert node.is_ready is ready
    assert {taint.key for taint in node.taints} == taints
    assert node.allocatable_gpus == (("nvidia.com/gpu", allocatable),)
    assert node.capacity_gpus == (("nvidia.com/gpu", 4),)
