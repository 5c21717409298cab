"""The port over a Kubernetes API, or over anything that speaks as one. Made in `main`, once per cluster.

Every call is idempotent and repeated a few times when there was no verdict; what lasts longer is the caller's to wait
for. Left out: the loops around list and watch (`watches`) and any memory of what was seen (`projection`).
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Collection, Generator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import stamina

from app.clock import Clock
from app.cluster import labels
from app.cluster.answers import may_be_accepted_later
from app.cluster.brake import HeldBackError
from app.cluster.connection import Connection, ConnectionSettings
from app.cluster.lines import split_lines
from app.cluster.log_answer import only_a_log
from app.cluster.manifest import ManifestSettings, build_job
from app.cluster.namespaces import OwnNamespaces, create_namespace
from app.cluster.observer import Observer, last_words
from app.cluster.permissions import missing_everywhere, missing_permissions
from app.cluster.port import (
    ClusterPort,
    ConflictError,
    GoneError,
    JobSpec,
    Kind,
    Listing,
    LogRange,
    NotSetUpError,
    Observed,
    RefusedError,
    UnavailableError,
    WatchEvent,
)
from app.cluster.projection import only_of
from app.cluster.transport import (
    READ_SECONDS,
    STRATEGIC_MERGE,
    WRITE_SECONDS,
    Request,
    SilenceError,
    TooLongError,
    Transport,
    limits,
)
from app.cluster.watch_events import is_older, read_event
from app.domain.namespaces import Namespaces
from app.domain.observed import ObservedJob, ObservedPod

LONGEST_WAIT = 5.0  # what the server may ask us to wait inside a call; beyond it the caller shall know
FOLLOW_SECONDS = 3600.0
LARGEST_PAGE = 8000
PING_SECONDS = 5.0
_FORBIDDEN, _NOT_FOUND, _INVALID = 403, 404, 422


@dataclass(frozen=True)
class PortSettings:
    """`per_organization`: Jobs are in namespaces of their organizations, not only in `namespace`.

    `watch_seconds`: after which the server ends a watch. `quiet_seconds`: how long one may say nothing before it is
    asked whether anybody is there, `follow_quiet_seconds` how long a log. The others: for a page, an answer, a change.
    """

    namespace: str
    per_organization: bool = False
    observer: Observer = field(default_factory=Observer)
    manifest: ManifestSettings = field(default_factory=ManifestSettings)
    page_size: int = 500
    watch_seconds: int = 240
    quiet_seconds: float = 90.0
    follow_quiet_seconds: float = 120.0
    list_seconds: float = 60.0
    read_seconds: float = READ_SECONDS
    write_seconds: float = WRITE_SECONDS

    @property
    def of_organizations(self) -> Namespaces:
        """Their names, whether or not new Jobs are made there now."""
        return Namespaces(self.namespace, per_organization=True)


def _when_to_repeat(error: Exception) -> bool | float:
    if not isinstance(error, UnavailableError) or isinstance(error, HeldBackError | TooLongError):
        return False
    if error.status == _FORBIDDEN:
        return False  # a right comes with an operator, or when an API server that has just started knows of it
    if error.retry_after is None:
        return True
    return error.retry_after if error.retry_after <= LONGEST_WAIT else False


_repeat = stamina.AsyncRetryingCaller(attempts=3, timeout=30.0, wait_max=2.0, wait_jitter=0.3).on(_when_to_repeat)


class KubernetesPort(ClusterPort):
    def __init__(self, transport: Transport, settings: PortSettings) -> None:
        self._transport = transport
        self.clock = transport.cluster_clock
        self._settings = settings
        self._observer = settings.observer
        self._page_sizes: dict[Kind, int] = {}
        self._namespaces = OwnNamespaces(transport, settings.manifest.pod_security)

    async def close(self) -> None:
        await self._transport.close()

    async def create_job(self, spec: JobSpec) -> ObservedJob:
        try:
            return await _repeat(self._create_job, spec, build_job(spec, self._settings.manifest))
        except RefusedError as error:
            if may_be_accepted_later(error):
                self._namespaces.forget(spec.namespace)
                raise NotSetUpError(error.message, status=error.status) from error
            raise

    async def delete_job(self, name: str, uid: str, namespace: str = "") -> None:
        with _absent_is_fine():
            await self._delete(f"{self._jobs(namespace)}/{name}", uid, {"propagationPolicy": "Background"})

    async def find(
        self, job_name: str, job_uid: str = "", namespace: str = ""
    ) -> tuple[ObservedJob | None, ObservedPod | None]:
        # The Job first: it never knows of a pod that is not to be seen afterwards.
        job = await _repeat(self._get_job, job_name, namespace)
        job, pod = only_of(job_uid, job, await _repeat(self._pods_of, job_name, namespace))
        if job is not None and pod is None and not job.failure:
            job = replace(job, obstacle=await self._why_no_pod(job))
        return job, pod

    async def limit_run(self, pod: ObservedPod, seconds: int) -> None:
        try:
            with _absent_is_fine():
                await self._patch_pod(pod, {"spec": {"activeDeadlineSeconds": seconds}})
        except RefusedError as error:
            is_lower_already = error.status == _INVALID and "previous value" in error.message
            if not is_lower_already:
                raise

    async def release_pod(self, pod: ObservedPod) -> None:
        with _absent_is_fine():
            await self._patch_pod(pod, {"metadata": {"$deleteFromPrimitiveList/finalizers": [labels.FINALIZER]}})

    async def delete_pod(self, pod: ObservedPod) -> None:
        with _absent_is_fine():
            await self._delete(self._pod_path(pod), pod.uid, {})

    async def read_log(self, pod: ObservedPod, part: LogRange) -> AsyncGenerator[bytes, None]:
        query: dict[str, str | int] = {"container": labels.CONTAINER, "timestamps": "true"}
        query |= {"tailLines": part.tail_lines} if part.tail_lines is not None else {}
        query |= {"sinceTime": _rfc3339(part.since)} if part.since else {}
        query |= {"follow": "true"} if part.follow else {}
        settings = self._settings
        quiet = settings.follow_quiet_seconds if part.follow else None
        within = limits(FOLLOW_SECONDS if part.follow else settings.list_seconds, quiet)
        request = Request("GET", f"{self._pod_path(pod)}/log", query, limits=within)
        stream = self._transport.stream(request)
        async with aclosing(stream) as answer, aclosing(only_a_log(answer)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def list_all(self, kind: Kind) -> Listing:
        path, query = self._collection(kind)
        items: list[Observed] = []
        skipped = 0
        position = ""
        while True:
            page = await self._page(kind, path, query | ({"continue": position} if position else {}))
            raws, metadata = _items(page), _metadata(page)
            understood = [item for raw in raws if (item := self._observer.observe(kind, raw))]
            items += understood
            skipped += len(raws) - len(understood)
            position = metadata.get("continue") or ""
            if not position:
                return Listing(tuple(items), _resource_version(metadata), skipped)

    async def _page(self, kind: Kind, path: str, query: dict[str, str | int]) -> dict[str, Any]:
        """One page; of another size from now on where this one takes too much memory, or all of them too long."""
        size = self._page_sizes.get(kind, self._settings.page_size)
        within = limits(self._settings.list_seconds)
        request = Request("GET", path, query | {"limit": size}, limits=within, is_braked=False)
        try:
            return await _repeat(self._transport.call, request)
        except TooLongError:
            if size == 1:
                raise
            self._page_sizes[kind] = max(1, size // 4)
            return await self._page(kind, path, query)
        except GoneError:  # the first page's moment is over before the last page was read: fewer, larger ones
            self._page_sizes[kind] = max(size, min(LARGEST_PAGE, size * 2))
            raise

    async def watch(
        self, kind: Kind, resource_version: str, opened: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[WatchEvent, None]:
        path, query = self._collection(kind)
        # Spread, so that all watches of all replicas don't end and start together.
        seconds = int(self._settings.watch_seconds * random.uniform(0.8, 1.2))  # noqa: S311
        query |= {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": seconds}
        query |= {"resourceVersion": resource_version}
        request = Request("GET", path, query, limits=limits(seconds + 30, self._settings.quiet_seconds))
        try:
            stream = self._transport.stream(request, opened)
            async with aclosing(stream) as chunks, aclosing(split_lines(chunks)) as lines:
                async for line in lines:
                    event = read_event(line, kind, self._observer)
                    resource_version = event.resource_version
                    yield event
        except SilenceError:
            await self._confirm(kind, resource_version)

    async def _confirm(self, kind: Kind, resource_version: str) -> None:
        """After silence: whether anybody is there, and knows the version that is watched from.

        A real API server bookmarks with versions that are new to the watch only. Where nothing of a kind happens it may
        say nothing for many minutes, and so may one whose store was set back to before that version.
        """
        path, query = self._collection(kind)
        answer = await self._transport.call(Request("GET", path, query | {"limit": 1}, is_braked=False))
        found = _resource_version(_metadata(answer))
        if is_older(found, resource_version):
            raise GoneError(f"a watch of {kind} from version {resource_version}, and the cluster's API is at {found}")

    async def create_namespace(self) -> None:
        """Make the namespace of our Jobs unless it is there: a set-up step, beyond what the service itself needs."""
        with suppress(ConflictError):
            await _repeat(create_namespace, self._transport, self._settings.namespace, {})

    async def ping(self) -> None:
        await self._transport.call(Request("GET", "/version", limits=limits(PING_SECONDS), is_braked=False))

    async def check(self, organizations: Collection[str] = ()) -> tuple[str, ...]:
        await _repeat(self._transport.call, Request("GET", "/version"))
        if not self._settings.per_organization:
            return await missing_permissions(self._transport, self._settings.namespace)
        wanted = {self._settings.of_organizations.of(slug): slug for slug in organizations}
        lacking = await self._namespaces.lacking(wanted)
        return (*lacking, *await missing_everywhere(self._transport, wanted))

    async def _create_job(self, spec: JobSpec, manifest: dict[str, Any]) -> ObservedJob:
        if spec.namespace == self._settings.of_organizations.of(spec.organization):
            await self._namespaces.ensure(spec.namespace, spec.organization)
        try:
            answer = await self._transport.call(Request("POST", self._jobs(spec.namespace), body=manifest))
        except ConflictError:
            return await self._own_job(spec)
        return self._understood_job(answer)

    async def _own_job(self, spec: JobSpec) -> ObservedJob:
        """The Job that has the name already, when it is this attempt's: an earlier try of ours got through."""
        job = await self._get_job(spec.job_name, spec.namespace)
        if job is None:
            raise UnavailableError(f"job {spec.job_name} could not be created, nor is there one of that name")
        if (job.workload_id, job.attempt) != (str(spec.workload_id), spec.attempt):
            raise ConflictError(f"job {spec.job_name} exists and isn't attempt {spec.attempt} of {spec.workload_id}")
        return job

    async def _get_job(self, name: str, namespace: str) -> ObservedJob | None:
        try:
            answer = await self._transport.call(Request("GET", f"{self._jobs(namespace)}/{name}"))
        except RefusedError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        return self._understood_job(answer)

    def _understood_job(self, raw: object) -> ObservedJob:
        if job := self._observer.job(raw):
            return job
        raise UnavailableError("the cluster's API answered with a Job that can't be understood")

    async def _pods_of(self, job_name: str, namespace: str) -> list[ObservedPod]:
        selector = f"{labels.OURS},{labels.JOB_NAME}={job_name}"
        path = f"/api/v1/namespaces/{namespace or self._settings.namespace}/pods"
        answer = await self._transport.call(Request("GET", path, {"labelSelector": selector}))
        raws = _items(answer)
        pods = [pod for raw in raws if (pod := self._observer.pod(raw))]
        if len(pods) < len(raws):  # saying "absent" of what is there would end a workload
            raise UnavailableError("the cluster's API answered with a pod that can't be understood")
        return pods

    async def _why_no_pod(self, job: ObservedJob) -> str:
        """What the Job controller last said about a pod that it could not create; its events alone tell."""
        selector = f"involvedObject.uid={job.uid},reason=FailedCreate"
        path = f"/api/v1/namespaces/{job.namespace or self._settings.namespace}/events"
        try:
            found = _items(await self._transport.call(Request("GET", path, {"fieldSelector": selector})))
        except (RefusedError, UnavailableError):  # only words: whether there is a pod is known without them
            return ""
        return last_words(found)

    async def _delete(self, path: str, uid: str, options: dict[str, str]) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, **options}
        await _repeat(self._transport.call, Request("DELETE", path, body=body))

    async def _patch_pod(self, pod: ObservedPod, change: dict[str, Any]) -> None:
        body = {**change, "metadata": {"uid": pod.uid, **change.get("metadata", {})}}
        request = Request("PATCH", self._pod_path(pod), body=body, content_type=STRATEGIC_MERGE)
        try:
            await _repeat(self._transport.call, request)
        except RefusedError as error:
            # The uid in the patch is there to fail for another pod of that name: it can't be changed.
            if error.status == _INVALID and "metadata.uid" in error.message:
                raise ConflictError(f"pod {pod.name} is another one now") from error
            raise

    def _pod_path(self, pod: ObservedPod) -> str:
        return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"

    def _jobs(self, namespace: str) -> str:
        return f"/apis/batch/v1/namespaces/{namespace or self._settings.namespace}/jobs"

    def _collection(self, kind: Kind) -> tuple[str, dict[str, str | int]]:
        match kind:
            case Kind.NODES:
                return "/api/v1/nodes", {}
            case Kind.PODS:
                return "/api/v1/pods", {}
            case Kind.JOBS:
                where = "/apis/batch/v1/jobs" if self._settings.per_organization else self._jobs("")
                return where, {"labelSelector": labels.OURS}


@contextmanager
def _absent_is_fine() -> Generator[None, None, None]:
    try:
        yield
    except RefusedError as error:
        if error.status != _NOT_FOUND:
            raise


def _items(page: dict[str, Any]) -> list[object]:
    if isinstance(found := page.get("items") or [], list):
        return found
    raise UnavailableError("the cluster's API answered with a list that is none")


def _metadata(page: dict[str, Any]) -> dict[str, Any]:
    return found if isinstance(found := page.get("metadata"), dict) else {}


def _resource_version(metadata: dict[str, Any]) -> str:
    if isinstance(found := metadata.get("resourceVersion"), str) and found:
        return found
    raise UnavailableError("the cluster's API answered with a list without a resourceVersion")


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def open_port(connection: ConnectionSettings, settings: PortSettings, clock: Clock | None = None) -> KubernetesPort:
    """The adapter for one cluster. Nothing is sent, and no file is read, before its first call."""
    transport = Transport(
        Connection(connection), clock, read_seconds=settings.read_seconds, write_seconds=settings.write_seconds
    )
    return KubernetesPort(transport, settings)
