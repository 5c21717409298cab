"""What the cluster has under our Job names, and the database does not expect: adopted, reported, or removed in time.

Called by `app.reconcile.orphans`. Most of it comes of a database that was restored from a backup: the cluster is newer
then, and knows attempts that the database has not heard of. An attempt that exists is never started a second time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from app.domain import wording
from app.domain.lifecycle import Decision, Policy
from app.domain.observed import ObservedJob, ObservedPod
from app.domain.states import Phase, Reason, Status, check_transition
from app.domain.workload import Attempt, Workload, read_job_name

SURE_SECONDS = 60  # what no restored database can explain is removed this long after it was first seen


class OrphanKind(StrEnum):
    """Why nobody expects it."""

    FOREIGN = "foreign"
    UNKNOWN_WORKLOAD = "unknown_workload"
    UNKNOWN_ATTEMPT = "unknown_attempt"
    REPLACED = "replaced"
    LEFT_OVER = "left_over"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    OrphanKind.FOREIGN: "made by another installation of GPUYard, by an early release or by hand; never removed",
    OrphanKind.UNKNOWN_WORKLOAD: "made by this installation, whose database has no such workload",
    OrphanKind.UNKNOWN_ATTEMPT: "made by this installation, whose database has the workload but no such attempt",
    OrphanKind.REPLACED: "has the name of an attempt's Job, which was another one: somebody made this in its place",
    OrphanKind.LEFT_OVER: "of an attempt that has ended and of which nothing should be left",
}


@dataclass(frozen=True)
class Find:
    """A Job under one of our names, or a pod that we hold although its Job is gone: one of the two is there."""

    name: str
    job: ObservedJob | None = None
    pod: ObservedPod | None = None
    namespace: str = ""

    @property
    def uid(self) -> str:
        """Of the Job, also where only its pod is left."""
        return self.job.uid if self.job else (self.pod.job_uid or self.pod.uid) if self.pod else ""

    @property
    def installation(self) -> str:
        return self.job.installation if self.job else self.pod.installation if self.pod else ""

    @property
    def attempt(self) -> tuple[UUID, int] | None:
        """By its name; a Job that says otherwise of itself is none of an attempt."""
        named = read_job_name(self.name)
        if named is None or self.job is None:
            return named
        return named if (str(named[0]), named[1]) == (self.job.workload_id, self.job.attempt) else None


@dataclass(frozen=True)
class Orphan:
    """`removed_at` is None for what is only reported."""

    find: Find
    kind: OrphanKind
    since: datetime
    removed_at: datetime | None


def judge(find: Find, workload: Workload | None, attempt: Attempt | None, installation: str) -> OrphanKind | None:
    """None for what is as it should be: the attempt is live, or its leftovers are being seen to."""
    if workload is None:
        return OrphanKind.UNKNOWN_WORKLOAD if find.installation == installation else OrphanKind.FOREIGN
    if attempt is None:
        return OrphanKind.UNKNOWN_ATTEMPT
    if attempt.cleaned_at is not None:
        return OrphanKind.LEFT_OVER
    is_other = find.job is not None and attempt.job_uid and find.job.uid != attempt.job_uid
    return OrphanKind.REPLACED if is_other else None


def out_of_place(find: Find, installation: str) -> OrphanKind:
    """Of a Job with an attempt's name in a namespace where none of the organization's is made."""
    return OrphanKind.UNKNOWN_ATTEMPT if find.installation == installation else OrphanKind.FOREIGN


def orphan(find: Find, kind: OrphanKind, since: datetime, installation: str, policy: Policy) -> Orphan:
    """With the moment of its removal: only of what this installation made, and not where the policy says never."""
    grace = policy.orphan_grace_seconds
    if find.installation != installation or not grace:
        return Orphan(find, kind, since, None)
    seconds = min(grace, SURE_SECONDS) if kind is OrphanKind.LEFT_OVER else grace
    return Orphan(find, kind, since, since + timedelta(seconds=seconds))


def is_adoptable(find: Find, workload: Workload, attempt: Attempt | None, installation: str) -> bool:
    """True for an attempt later than all that the database knows, of a workload that has not ended there."""
    named = find.attempt
    is_later = named is not None and named[1] > workload.attempt and attempt is None
    return is_later and not workload.status.is_terminal and find.installation in (installation, "")


def adopt(workload: Workload, find: Find, now: datetime, cluster: str = "") -> Decision:
    """Let a waiting workload go on with the attempt that the cluster has, wherever that was placed."""
    named, job, pod = find.attempt, find.job, find.pod
    assert named is not None  # noqa: S101 — `is_adoptable` was asked
    server = (job.server if job else "") or (pod.node if pod else "")
    created = (job.created_at if job else None) or (pod.created_at if pod else None)
    attempt = Attempt(
        workload.id,
        named[1],
        server,
        job.gpu_resource if job else next((name for name, _ in pod.gpu_requests), "") if pod else "",
        placed_at=min(now, created or now),
        job_uid=job.uid if job else pod.job_uid if pod else "",
        pod_uid=pod.uid if pod else "",
        pod_name=pod.name if pod else "",
        cluster=cluster,
        namespace=find.namespace,
    )
    check_transition(workload.phase, Phase.CREATING)
    adopted = replace(
        workload,
        status=Status.PENDING,
        phase=Phase.CREATING,
        reason=Reason.PLACED,
        message=wording.adopted(find.name, server),
        attempt=attempt.number,
        server=server,
        cluster=cluster,
        not_before=None,
    )
    return Decision(adopted, attempt)


def supersede(workload: Workload, attempt: Attempt, find: Find, now: datetime) -> Decision:
    """Close an attempt of which nothing is left, as the cluster has a later one; the workload waits to adopt that."""
    words = wording.superseded(find.name)
    check_transition(workload.phase, Phase.QUEUED)
    waiting = replace(
        workload,
        status=Status.PENDING,
        phase=Phase.QUEUED,
        reason=Reason.BACKING_OFF,
        message=words,
        started_at=None,
        server="",
        cluster="",
        gpus=(),
    )
    return Decision(waiting, replace(attempt, reason=Reason.JOB_DELETED, message=words, ended_at=now))
