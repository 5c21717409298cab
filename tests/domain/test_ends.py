"""How an attempt ends: every end of the design, and which of several facts wins.

Left out: cancels against the container's own end (test_cancel) and what may be tried again (test_retry).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from app.domain.observed import Observation, ObservedPod
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt
from tests.domain.builders import (
    GPU,
    RUN_LIMIT,
    SERVER,
    START_LIMIT,
    STARTED,
    a_created_attempt,
    a_pod,
    a_running_workload,
    a_starting_workload,
    an_attempt,
    an_end,
    an_ended_pod,
    an_executing_attempt,
    at,
    cancelled_at,
    decided,
    seen,
    stopped_for,
    without_job,
)

KILLED = an_end(137)
OOM = an_end(137, "OOMKilled")
NEVER_RAN = an_end(128, "StartError", started=60, message='exec: "trian": not found')
LOST = an_end(137, "ContainerStatusUnknown", finished=None, started=None, message="could not be located")

EXECUTED: list[tuple[str, Attempt, Observation, Status, Reason, int | None]] = [
    ("exit code 0", an_executing_attempt(), seen(an_ended_pod(an_end(0))), Status.COMPLETED, Reason.EXITED, 0),
    ("exit code 1", an_executing_attempt(), seen(an_ended_pod(an_end(1))), Status.COMPLETED, Reason.EXITED, 1),
    ("killed from inside", an_executing_attempt(), seen(an_ended_pod(KILLED)), Status.COMPLETED, Reason.EXITED, 137),
    ("its start unseen", a_created_attempt(), seen(an_ended_pod(an_end(0))), Status.COMPLETED, Reason.EXITED, 0),
    (
        "its container ended while the pod's phase lags behind",
        an_executing_attempt(),
        seen(a_pod(phase="Running", terminated=an_end(2))),
        Status.COMPLETED,
        Reason.EXITED,
        2,
    ),
    (
        "the kubelet's deadline",
        an_executing_attempt(),
        seen(an_ended_pod(KILLED, reason="DeadlineExceeded")),
        Status.TIMEOUT,
        Reason.RUN_TIMEOUT,
        137,
    ),
    (
        "the kubelet's deadline, the program ended well within its grace time",
        an_executing_attempt(),
        seen(an_ended_pod(an_end(0), phase="Failed", reason="DeadlineExceeded")),
        Status.TIMEOUT,
        Reason.RUN_TIMEOUT,
        0,
    ),
    (
        "the Job's own deadline took the pod away",
        an_executing_attempt(),
        seen(failure="DeadlineExceeded"),
        Status.TIMEOUT,
        Reason.RUN_TIMEOUT,
        None,
    ),
    (
        "stopped by us at the limit",
        stopped_for(Reason.RUN_TIMEOUT, 3710, an_executing_attempt()),
        seen(an_ended_pod(an_end(143, finished=3715), deletion_requested_at=at(3710)), is_deleting=True),
        Status.TIMEOUT,
        Reason.RUN_TIMEOUT,
        143,
    ),
    (
        "stopped by us at the limit, nothing left to ask",
        stopped_for(Reason.RUN_TIMEOUT, 3710, an_executing_attempt()),
        without_job(),
        Status.TIMEOUT,
        Reason.RUN_TIMEOUT,
        None,
    ),
    (
        "ended by itself just before we stopped it at the limit",
        stopped_for(Reason.RUN_TIMEOUT, 3710, an_executing_attempt()),
        seen(an_ended_pod(an_end(0, finished=3708), deletion_requested_at=at(3711)), is_deleting=True),
        Status.COMPLETED,
        Reason.EXITED,
        0,
    ),
    ("out of memory", an_executing_attempt(), seen(an_ended_pod(OOM)), Status.FAILED, Reason.OUT_OF_MEMORY, 137),
    (
        "out of memory in a child, code 0",
        an_executing_attempt(),
        seen(an_ended_pod(an_end(0, "OOMKilled"))),
        Status.FAILED,
        Reason.OUT_OF_MEMORY,
        0,
    ),
    (
        "evicted",
        an_executing_attempt(),
        seen(an_ended_pod(KILLED, reason="Evicted", disruption="TerminationByKubelet")),
        Status.FAILED,
        Reason.EVICTED,
        137,
    ),
    (
        "evicted in the second before we stopped it",
        stopped_for(Reason.RUN_TIMEOUT, 3710, an_executing_attempt()),
        seen(an_ended_pod(an_end(137, finished=3708), reason="Evicted", disruption="TerminationByKubelet")),
        Status.FAILED,
        Reason.EVICTED,
        137,
    ),
    (
        "deleted by somebody, the pod's last words kept",
        an_executing_attempt(),
        seen(an_ended_pod(an_end(143), deletion_requested_at=at(599))),
        Status.FAILED,
        Reason.POD_DELETED,
        143,
    ),
    (
        "its Job deleted by somebody, the pod's last words kept",
        an_executing_attempt(),
        without_job(an_ended_pod(an_end(143), deletion_requested_at=at(599))),
        Status.FAILED,
        Reason.JOB_DELETED,
        143,
    ),
    (
        "ended by itself, deleted afterwards",
        an_executing_attempt(),
        without_job(an_ended_pod(an_end(0), deletion_requested_at=at(650))),
        Status.COMPLETED,
        Reason.EXITED,
        0,
    ),
    (
        "ended by itself, refused anew by a kubelet that started again",
        an_executing_attempt(),
        seen(an_ended_pod(an_end(3), reason="UnexpectedAdmissionError")),
        Status.COMPLETED,
        Reason.EXITED,
        3,
    ),
    (
        "refused by a kubelet that started again, and stopped for it",
        an_executing_attempt(),
        seen(an_ended_pod(KILLED, reason="UnexpectedAdmissionError")),
        Status.FAILED,
        Reason.NODE_REFUSED,
        137,
    ),
    (
        "deleted by somebody, the stamp moved on past the end",
        an_executing_attempt(),
        seen(an_ended_pod(an_end(143), deletion_requested_at=at(601))),
        Status.FAILED,
        Reason.POD_DELETED,
        143,
    ),
    (
        "failed by itself, deleted at once",
        an_executing_attempt(),
        seen(an_ended_pod(an_end(3), deletion_requested_at=at(601))),
        Status.COMPLETED,
        Reason.EXITED,
        3,
    ),
    (
        "its pod vanished",
        an_executing_attempt(),
        seen(failure="BackoffLimitExceeded"),
        Status.FAILED,
        Reason.POD_DELETED,
        None,
    ),
    ("everything vanished", an_executing_attempt(), without_job(), Status.FAILED, Reason.JOB_DELETED, None),
]


@pytest.mark.parametrize(
    ("attempt", "observation", "status", "reason", "code"), [pytest.param(*row[1:], id=row[0]) for row in EXECUTED]
)
def test_the_end_of_what_executed(
    attempt: Attempt, observation: Observation, status: Status, reason: Reason, code: int | None
) -> None:
    ended = decided(a_running_workload(), attempt, observation, 4000).workload
    assert (ended.status, ended.reason, ended.exit_code) == (status, reason, code)


PULLING = a_created_attempt(waiting_reason="ImagePullBackOff", waiting_message="no such tag")
NEVER: list[tuple[str, Attempt, Observation, Reason, str]] = [
    ("start error", a_created_attempt(), seen(an_ended_pod(NEVER_RAN)), Reason.START_ERROR, "trian"),
    (
        "start error in its old spelling",
        a_created_attempt(),
        seen(an_ended_pod(replace(NEVER_RAN, reason="ContainerCannotRun"))),
        Reason.START_ERROR,
        "trian",
    ),
    (
        "image pulled in vain, stopped by us",
        stopped_for(Reason.START_TIMEOUT, 1800, PULLING),
        without_job(),
        Reason.IMAGE_PULL_FAILED,
        "1800 s of being placed: ImagePullBackOff: no such tag",
    ),
    (
        "image pulled in vain, the pod's own deadline while we were down",
        PULLING,
        seen(a_pod(phase="Failed", reason="DeadlineExceeded")),
        Reason.IMAGE_PULL_FAILED,
        "no such tag",
    ),
    (
        "the same, with the kubelet's stand-in for a container that never was",
        PULLING,
        seen(an_ended_pod(LOST, reason="DeadlineExceeded")),
        Reason.IMAGE_PULL_FAILED,
        "no such tag",
    ),
    (
        "the Job's own deadline, before it had a pod",
        a_created_attempt(pod_uid=""),
        seen(failure="DeadlineExceeded"),
        Reason.START_TIMEOUT,
        "1800 s",
    ),
    (
        "its Job failed before it had a pod",
        a_created_attempt(pod_uid=""),
        seen(failure="BackoffLimitExceeded", failure_message="pods is forbidden: quota"),
        Reason.JOB_REFUSED,
        "quota",
    ),
    (
        "stopped for its reference",
        stopped_for(Reason.IMAGE_INVALID, 20, a_created_attempt(waiting_reason="InvalidImageName")),
        without_job(),
        Reason.IMAGE_INVALID,
        "InvalidImageName",
    ),
    (
        "deleted by somebody while the image was pulled",
        PULLING,
        seen(an_ended_pod(LOST, deletion_requested_at=at(600))),
        Reason.POD_DELETED,
        "deleted by somebody",
    ),
    (
        "an init container of the cluster's owner failed",
        a_created_attempt(),
        seen(a_pod(phase="Failed", init_failure="init container mesh ended with exit code 7")),
        Reason.CONFIGURATION_ERROR,
        "mesh ended with exit code 7",
    ),
    (
        "deleted by somebody while an init container ran",
        a_created_attempt(),
        seen(a_pod(phase="Failed", init_failure="init container mesh ended", deletion_requested_at=at(600))),
        Reason.POD_DELETED,
        "deleted by somebody",
    ),
    (
        "the Job was never taken, stopped by us",
        stopped_for(Reason.START_TIMEOUT, 1800, an_attempt(waiting_reason="JobNotCreated", waiting_message="quota")),
        without_job(),
        Reason.JOB_NOT_CREATED,
        "quota",
    ),
    ("its Job vanished", a_created_attempt(), without_job(), Reason.JOB_DELETED, an_attempt().job_name),
]


@pytest.mark.parametrize(
    ("attempt", "observation", "reason", "said"), [pytest.param(*row[1:], id=row[0]) for row in NEVER]
)
def test_what_never_executed_fails_by_kind_with_the_last_message(
    attempt: Attempt, observation: Observation, reason: Reason, said: str
) -> None:
    ended = decided(a_starting_workload(), attempt, observation, 4000).workload
    assert (ended.status, ended.reason, ended.started_at) == (Status.FAILED, reason, None)
    assert said in ended.message


@pytest.mark.parametrize(("cancelled", "deadline", "oom", "disrupted"), list(product([True, False], repeat=4)))
def test_of_several_facts_the_first_in_the_designs_order_wins(
    cancelled: bool, deadline: bool, oom: bool, disrupted: bool
) -> None:
    order = [
        (cancelled, Status.CANCELLED, Reason.CANCELLED_BY_USER),
        (deadline, Status.TIMEOUT, Reason.RUN_TIMEOUT),
        (oom, Status.FAILED, Reason.OUT_OF_MEMORY),
        (disrupted, Status.FAILED, Reason.EVICTED),
        (True, Status.COMPLETED, Reason.EXITED),
    ]
    workload = cancelled_at(500, a_running_workload()) if cancelled else a_running_workload()
    pod: ObservedPod = an_ended_pod(OOM if oom else KILLED)
    pod = replace(pod, reason="DeadlineExceeded" if deadline else "", disruption="EvictionByEvictionAPI" * disrupted)
    ended = decided(workload, an_executing_attempt(), seen(pod)).workload
    assert (ended.status, ended.reason) == next((s, r) for holds, s, r in order if holds)


def test_an_end_closes_workload_and_attempt_with_everything_known() -> None:
    decision = decided(a_running_workload(), an_executing_attempt(), seen(an_ended_pod(an_end(3))))
    ended, attempt = decision.workload, decision.attempt
    assert attempt is not None
    assert (ended.phase, ended.server, ended.gpus) == (Phase.COMPLETED, SERVER, (GPU,))
    assert (ended.started_at, ended.completed_at) == (at(STARTED), at(600))
    assert (attempt.reason, attempt.ended_at, attempt.exit_code) == (Reason.EXITED, at(600), 3)
    assert (decision.actions, decision.wake_at) == ((), at(700))
    assert ended.message == attempt.message == "ended with exit code 3"


def test_the_sentences_carry_their_numbers() -> None:
    timeout = decided(
        a_running_workload(), an_executing_attempt(), seen(an_ended_pod(KILLED, reason="DeadlineExceeded"))
    )
    assert f"{RUN_LIMIT} s" in timeout.workload.message
    memory = decided(a_running_workload(), an_executing_attempt(), seen(an_ended_pod(OOM)))
    assert "16Gi" in memory.workload.message
    never = decided(a_starting_workload(), stopped_for(Reason.START_TIMEOUT, 1800, an_attempt()), without_job())
    assert f"{START_LIMIT} s" in never.workload.message


def test_the_first_terminal_observation_is_kept() -> None:
    workload, first = a_running_workload(), an_end(0)
    recorded = decided(workload, an_executing_attempt(), seen(an_ended_pod(first))).attempt
    assert recorded is not None
    for later in (an_end(137, "OOMKilled", 900), LOST, an_end(255, "Unknown", 900)):
        again = decided(workload, recorded, seen(an_ended_pod(later)), 900)
        assert (again.workload.status, again.workload.exit_code) == (Status.COMPLETED, 0)
        assert again.workload.completed_at == at(600)
