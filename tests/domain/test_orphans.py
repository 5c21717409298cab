"""Which Jobs nobody expects, and which are adopted; pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.observed import ObservedPod
from app.domain.orphans import SURE_SECONDS, Find, OrphanKind, adopt, is_adoptable, judge, orphan, supersede
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, Workload, job_name, read_job_name
from tests.domain.builders import (
    POLICY,
    WORKLOAD_ID,
    a_created_attempt,
    a_job,
    a_placed_workload,
    a_pod,
    a_running_pod,
    a_running_workload,
    a_workload,
    an_attempt,
    at,
)

OURS, OTHER = "installation-1", "installation-2"
JOB = a_job(installation=OURS, server="gpu-7", gpu_resource="nvidia.com/gpu", created_at=at(2))
FIND = Find(JOB.name, JOB)
HELD = Find(JOB.name, pod=a_running_pod(installation=OURS, job_uid="job-1"))
ENDED = a_placed_workload(status=Status.COMPLETED, phase=Phase.COMPLETED)
CLEAN = a_created_attempt(ended_at=at(60), cleaned_at=at(90))


def by(installation: str) -> Find:
    return Find(JOB.name, replace(JOB, installation=installation))


@pytest.mark.parametrize(
    ("find", "workload", "attempt", "kind"),
    [
        pytest.param(FIND, a_placed_workload(), an_attempt(), None, id="created and not noted"),
        pytest.param(FIND, a_placed_workload(), a_created_attempt(), None, id="live"),
        pytest.param(FIND, ENDED, a_created_attempt(ended_at=at(60)), None, id="kept for a while"),
        pytest.param(HELD, a_placed_workload(), a_created_attempt(), None, id="its end will be recorded"),
        pytest.param(FIND, None, None, OrphanKind.UNKNOWN_WORKLOAD, id="no row"),
        pytest.param(HELD, None, None, OrphanKind.UNKNOWN_WORKLOAD, id="no row, a held pod"),
        pytest.param(by(OTHER), None, None, OrphanKind.FOREIGN, id="another installation"),
        pytest.param(by(""), None, None, OrphanKind.FOREIGN, id="by hand"),
        pytest.param(FIND, ENDED, None, OrphanKind.UNKNOWN_ATTEMPT, id="ended in the database"),
        pytest.param(FIND, a_placed_workload(), a_created_attempt(job_uid="x"), OrphanKind.REPLACED, id="another uid"),
        pytest.param(FIND, ENDED, CLEAN, OrphanKind.LEFT_OVER, id="clean, yet there"),
        pytest.param(HELD, ENDED, CLEAN, OrphanKind.LEFT_OVER, id="clean, yet held"),
    ],
)
def test_what_nobody_expects(find: Find, workload: Workload | None, attempt: Attempt | None, kind: OrphanKind) -> None:
    assert judge(find, workload, attempt, OURS) is kind


@pytest.mark.parametrize(
    ("kind", "grace", "seconds"),
    [
        (OrphanKind.UNKNOWN_WORKLOAD, 3600, 3600),
        (OrphanKind.UNKNOWN_ATTEMPT, 3600, 3600),
        (OrphanKind.REPLACED, 3600, 3600),
        (OrphanKind.LEFT_OVER, 3600, SURE_SECONDS),
        (OrphanKind.LEFT_OVER, 10, 10),
        (OrphanKind.LEFT_OVER, 0, None),
        (OrphanKind.UNKNOWN_WORKLOAD, 0, None),
    ],
)
def test_when_it_is_removed(kind: OrphanKind, grace: int, seconds: int | None) -> None:
    policy = replace(POLICY, orphan_grace_seconds=grace)
    removed = orphan(FIND, kind, at(100), OURS, policy).removed_at
    assert removed == (None if seconds is None else at(100) + timedelta(seconds=seconds))


@pytest.mark.parametrize("installation", ["", OTHER])
@pytest.mark.parametrize("kind", OrphanKind)
def test_what_others_made_is_never_removed(kind: OrphanKind, installation: str) -> None:
    assert orphan(by(installation), kind, at(100), OURS, POLICY).removed_at is None


@pytest.mark.parametrize(
    ("find", "workload", "attempt", "expected"),
    [
        pytest.param(FIND, a_workload(), None, True, id="it waits"),
        pytest.param(by(""), a_workload(), None, True, id="made by an earlier release"),
        pytest.param(by(OTHER), a_workload(), None, False, id="another installation says the same id"),
        pytest.param(HELD, a_workload(), None, True, id="only its pod is left"),
        pytest.param(FIND, a_placed_workload(), an_attempt(), False, id="its attempt is known"),
        pytest.param(FIND, a_workload(attempt=1), None, False, id="no later than what is known"),
        pytest.param(FIND, replace(ENDED, attempt=0), None, False, id="it has ended"),
        pytest.param(Find("some-job", JOB), a_workload(), None, False, id="not our name"),
        pytest.param(Find(JOB.name, a_job(attempt=2)), a_workload(), None, False, id="it says otherwise of itself"),
    ],
)
def test_what_is_adopted(find: Find, workload: Workload, attempt: Attempt | None, expected: bool) -> None:
    assert is_adoptable(find, workload, attempt, OURS) is expected


def test_an_adopted_attempt_is_where_its_job_is() -> None:
    decision = adopt(a_workload(), FIND, at(500))
    assert (decision.workload.phase, decision.workload.attempt, decision.workload.server) == (
        Phase.CREATING,
        1,
        "gpu-7",
    )
    assert decision.attempt == Attempt(WORKLOAD_ID, 1, "gpu-7", "nvidia.com/gpu", placed_at=at(2), job_uid="job-1")


def test_a_pod_tells_as_much() -> None:
    pod = replace(a_pod(created_at=at(3)), node="gpu-8", job_uid="job-1", gpu_requests=(("nvidia.com/gpu", 1),))
    attempt = adopt(a_workload(), Find(JOB.name, pod=pod), at(500)).attempt
    assert attempt is not None
    assert (attempt.server, attempt.gpu_resource, attempt.placed_at) == ("gpu-8", "nvidia.com/gpu", at(3))
    assert (attempt.job_uid, attempt.pod_uid) == ("job-1", "pod-1")


def test_a_job_from_the_future_was_placed_now() -> None:
    """The cluster's clock is ahead: the start limit is not to grow by that."""
    attempt = adopt(a_workload(), FIND, at(-600)).attempt
    assert attempt is not None
    assert attempt.placed_at == at(-600)


@pytest.mark.parametrize("phase", [Phase.CREATING, Phase.INITIALIZING, Phase.RUNNING, Phase.STOPPING, Phase.UNKNOWN])
def test_an_attempt_that_was_overtaken_is_closed_and_the_later_one_adopted(phase: Phase) -> None:
    status = Status.RUNNING if phase is Phase.RUNNING else Status.PENDING
    find = Find(job_name(WORKLOAD_ID, 2), replace(JOB, name=job_name(WORKLOAD_ID, 2), attempt=2))
    closed = supersede(a_running_workload(phase=phase, status=status), a_created_attempt(), find, at(500))
    assert (closed.workload.waits, closed.workload.started_at) == (True, None)
    assert closed.attempt is not None
    assert (closed.attempt.reason, closed.attempt.ended_at) == (Reason.JOB_DELETED, at(500))
    assert adopt(closed.workload, find, at(500)).workload.attempt == 2


@pytest.mark.parametrize(
    "name", ["gw-1", "gw-" + "0" * 32, f"gw-{WORKLOAD_ID.hex.upper()}-x", "x", f"gw-{WORKLOAD_ID}-1"]
)
def test_names_of_others(name: str) -> None:
    assert read_job_name(name) is None


def test_our_names_are_read_back() -> None:
    assert read_job_name(job_name(WORKLOAD_ID, 12)) == (WORKLOAD_ID, 12)


def test_what_is_left_of_a_find_is_known_by_the_jobs_uid() -> None:
    pod = ObservedPod("pod-1", "n", "gpuyard", JOB.name, "gpu-1", "Failed", job_uid="job-1")
    assert (FIND.uid, Find(JOB.name, pod=pod).uid) == ("job-1", "job-1")
    assert Find(JOB.name, pod=replace(pod, job_uid="")).uid == "pod-1"
