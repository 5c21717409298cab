"""The cluster in our words: eleven verbs, the values they take and give, and the ways they fail.

Reconcilers and the watch loops know this module and nothing of Kubernetes; `kubernetes_port` implements it. Every verb
may be repeated, also by another process that took over: a Job is created under a name derived from its workload and
attempt, what is deleted or patched is named by its uid, a thing that is already gone is deleted. A verb raises one of
four errors, and retry or give up is decided by that type:

ClusterError
├── UnavailableError  no verdict: unreachable, overloaded, failing, or our credentials aren't accepted; or the
│   │                 installation is not in order (no namespace, a full quota, no permission); try again later
│   └── NotSetUpError  an operator has to do something first, which the message names
├── RefusedError      a verdict on this very request; the same request will be refused again
│   └── LogGoneError   the server has no log of that container any more
├── ConflictError     the name belongs to something that isn't ours, or the uid is another's
└── GoneError         the position to continue from is no longer held; list again

Where a verb takes a namespace, an empty one is that of the settings. Left out: typed Kubernetes models.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Protocol
from uuid import UUID

from app.cluster.cluster_clock import ClusterClock
from app.domain.labels import Labels
from app.domain.observed import ObservedJob, ObservedNode, ObservedPod
from app.domain.volumes import Volume


class ClusterError(Exception):
    """Base of everything a verb raises. `message` is one line, short enough for a log and for an operator's page."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnavailableError(ClusterError):
    """`retry_after` is the wait that the server asked for, `status` its HTTP status; None where there was none."""

    def __init__(self, message: str, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class NotSetUpError(UnavailableError):
    """What is asked for works once the cluster is set up for us: try again later."""


class RefusedError(ClusterError):
    """`status` is the HTTP status, `reason` Kubernetes' word for it (NotFound, Forbidden, Invalid, …)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class LogGoneError(RefusedError):
    """The message is what the kubelet says in the log's place, as if it were one: with the status of a success."""

    def __init__(self, message: str) -> None:
        super().__init__(HTTPStatus.OK, "LogGone", message)


class ConflictError(ClusterError):
    pass


class GoneError(ClusterError):
    pass


@dataclass(frozen=True)
class VolumeMount:
    """A volume where the container finds it. `read_only` is the submitter's wish; the volume has a word of its own."""

    volume: Volume
    path: str
    read_only: bool = False


@dataclass(frozen=True)
class JobSpec:
    """One attempt as the cluster is asked to run it. The manifest adds what is the same for every Job.

    `namespace` empty is that of the settings.
    `shared_memory_bytes` None: as the installation sets it for each GPU.
    """

    job_name: str
    workload_id: UUID
    attempt: int
    organization: str
    image: str
    cpu_millis: int
    memory_bytes: int
    gpu_count: int
    gpu_resource: str
    server: str
    run_limit_seconds: int
    start_limit_seconds: int
    project: str = ""
    installation: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env_vars: tuple[tuple[str, str], ...] = ()
    labels: Labels = ()
    mounts: tuple[VolumeMount, ...] = ()
    shared_memory_bytes: int | None = None
    namespace: str = ""


class Kind(StrEnum):
    """What can be listed and watched: every node, every pod of every namespace, our own Jobs."""

    NODES = "nodes"
    PODS = "pods"
    JOBS = "jobs"


Observed = ObservedNode | ObservedPod | ObservedJob


@dataclass(frozen=True)
class Listing:
    """All objects of a kind at one moment. `skipped` counts those that could not be understood."""

    items: tuple[Observed, ...]
    resource_version: str
    skipped: int = 0


class EventKind(StrEnum):
    CHANGED = "changed"  # added or modified
    DELETED = "deleted"
    BOOKMARK = "bookmark"


@dataclass(frozen=True)
class WatchEvent:
    """One step of a watch. `resource_version` is where to continue from after it.

    `item` is None for a bookmark and for an object that could not be understood; a deleted item is its last state.
    """

    kind: EventKind
    resource_version: str
    item: Observed | None = None


@dataclass(frozen=True)
class LogRange:
    """Which part of a log: the last `tail_lines`, or from `since` on.

    `follow`: to its end, at most for an hour. UnavailableError after two minutes without a word: either the container
    says nothing or the connection is dead, so go on from what came last.
    """

    tail_lines: int | None = None
    since: datetime | None = None
    follow: bool = False


class ClusterPort(Protocol):
    """What the app asks of a cluster. `clock` says how far the cluster's clock is ahead of ours."""

    clock: ClusterClock

    async def create_job(self, spec: JobSpec) -> ObservedJob:
        """Create the Job, or find that this attempt's Job exists already. ConflictError when the name is another's."""
        ...

    async def delete_job(self, name: str, uid: str, namespace: str = "") -> None:
        """Delete the Job and, in the background, its pods. Absent is success, another uid ConflictError."""
        ...

    async def find(
        self, job_name: str, job_uid: str = "", namespace: str = ""
    ) -> tuple[ObservedJob | None, ObservedPod | None]:
        """The Job and its pod as they are now, read from the API and not from a cache. None means absent.

        With `job_uid`, another Job of that name and its pods are absent too.
        """
        ...

    async def limit_run(self, pod: ObservedPod, seconds: int) -> None:
        """Let the cluster end the pod `seconds` after the pod's own start. A lower limit, or no pod, is success."""
        ...

    async def release_pod(self, pod: ObservedPod) -> None:
        """Take our hold off the pod, so that the cluster may drop it. An absent pod is success."""
        ...

    async def delete_pod(self, pod: ObservedPod) -> None:
        """Delete the pod, with its grace time. An absent pod is success, another uid ConflictError."""
        ...

    def read_log(self, pod: ObservedPod, part: LogRange) -> AsyncGenerator[bytes, None]:
        """The workload's output in pieces of any size, each line with the time it was written at before it.

        RefusedError while there is no container or no longer a log.
        """
        ...

    async def list_all(self, kind: Kind) -> Listing:
        """Every object of a kind, however many pages it takes."""
        ...

    def watch(
        self, kind: Kind, resource_version: str, opened: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after `resource_version`. Ends when the server ends it, which is normal; GoneError: list again.

        `opened` is called when the server has accepted the watch: where nothing changes, the first event may take long.
        """
        ...

    async def ping(self) -> None:
        """Ask for something small, once. UnavailableError when nobody answers within a few seconds."""
        ...

    async def check(self, organizations: Collection[str] = ()) -> tuple[str, ...]:
        """Sentences on what is missing for work: permissions, namespaces. UnavailableError when nobody answers.

        `organizations` are the slugs of those whose namespaces are looked at, where they have their own.
        """
        ...
