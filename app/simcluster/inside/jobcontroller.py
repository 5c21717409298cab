"""Applies what jobs.py decides: creates, releases and deletes pods, writes the Job's status."""

from __future__ import annotations

from app.simcluster.defaults import default_pod
from app.simcluster.inside.context import Inside
from app.simcluster.inside.deletion import delete_object, delete_pod
from app.simcluster.inside.jobs import TRACKING, Decision, decide_job, finished_at
from app.simcluster.inside.quota import exceeded
from app.simcluster.inside.webhooks import denial, injected
from app.simcluster.meta import (
    Json,
    finalizers_of,
    is_terminating,
    key_of,
    name_of,
    namespace_of,
    owner_of,
    uid_of,
    without_finalizer,
)
from app.simcluster.names import generated_name
from app.simcluster.resources import JOBS, NAMESPACES, PODS

NAME = "jobs"
TTL = "job-ttl"
ORPHANS = "job-orphans"
COMPONENT = "job-controller"
_OURS = "kubernetes.io/job-controller"


class JobController:
    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._store = inside.store
        self._refused: dict[str, float] = {}  # Jobs whose pod was refused: when it is tried again
        inside.engine.handle(NAME, self._sync)
        inside.engine.handle(TTL, self._expire)
        inside.engine.handle(ORPHANS, self._release_orphan)
        inside.store.subscribe(JOBS, self._on_job)
        inside.store.subscribe(PODS, self._on_pod)
        for job in inside.store.objects(JOBS):
            self._on_job(None, job)
        for pod in inside.store.objects(PODS):
            self._on_pod(None, pod)

    def _on_job(self, old: Json | None, new: Json | None) -> None:
        if new:
            self._inside.engine.wake(NAME, key_of(new))
        elif old:
            self._refused.pop(key_of(old), None)
            for resource, key in self._inside.index.owned.get(uid_of(old), ()):
                if resource is PODS:
                    self._inside.engine.wake(ORPHANS, key)

    def _on_pod(self, old: Json | None, new: Json | None) -> None:
        pod = new or old or {}
        owner = owner_of(pod)
        if owner and owner["kind"] == "Job":
            self._inside.engine.wake(NAME, f"{namespace_of(pod)}/{owner['name']}")
        if new and TRACKING in finalizers_of(new):
            self._inside.engine.wake(ORPHANS, key_of(new))

    def _sync(self, key: str) -> None:
        job = self._store.get(JOBS, key)
        if job is None or job["spec"].get("managedBy", _OURS) != _OURS:
            return
        now = self._inside.engine.clock()
        pods = self._pods_of(job)
        self._apply(job, decide_job(job, pods, now, self._inside.settings))

    def _pods_of(self, job: Json) -> list[Json]:
        owned = sorted(key for resource, key in self._inside.index.owned.get(uid_of(job), ()) if resource is PODS)
        return [pod for key in owned if (pod := self._store.get(PODS, key))]

    def _apply(self, job: Json, decision: Decision) -> None:
        with self._store.batch():
            for key in decision.delete:
                self._delete(job, key)
            refused = sum(not self._create(job) for _ in range(decision.create))
            job = self._store.update(JOBS, {**job, "status": _without_active(decision.status, refused)})
            for key in decision.release:
                self._release(key)
            for event in decision.events:
                record = self._inside.events.warning if event.warning else self._inside.events.normal
                record(job, event.reason, event.message, COMPONENT)
        if decision.next_at is not None:
            self._inside.engine.wake_at(decision.next_at, NAME, key_of(job))
        if refused:
            self._inside.engine.wake_at(self._refused[key_of(job)], NAME, key_of(job))
        self._plan_expiry(job)

    def _create(self, job: Json) -> bool:
        """True unless the pod is refused, which is told, or was a moment ago."""
        now, key = self._inside.engine.clock(), key_of(job)
        if now < self._refused.get(key, 0):
            return False
        self._refused.pop(key, None)
        pod = default_pod(injected(pod_of(job)), self._inside.settings)
        if why := self._refusal(pod):
            self._refused[key] = now + self._inside.settings.pod_retry_seconds
            self._inside.events.warning(job, "FailedCreate", f"Error creating: {why}", COMPONENT)
            return False
        pod = self._store.create(PODS, pod)
        self._inside.events.normal(job, "SuccessfulCreate", f"Created pod: {name_of(pod)}", COMPONENT)
        return True

    def _refusal(self, pod: Json) -> str:
        """What the API server would answer to the pod's creation; empty where it takes it."""
        namespace = self._store.get(NAMESPACES, namespace_of(pod))
        if namespace is None or is_terminating(namespace):
            return f"unable to create new content in namespace {namespace_of(pod)} because it is being terminated"
        if denied := denial(PODS, pod):
            return denied.message
        why = exceeded(self._store, self._inside.index, PODS, pod)
        return f'pods "{name_of(pod)}" is forbidden: {why}' if why else ""

    def _delete(self, job: Json, key: str) -> None:
        if pod := self._store.get(PODS, key):
            delete_pod(self._store, pod, None)
            self._inside.events.normal(job, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}", COMPONENT)

    def _release(self, key: str) -> None:
        pod = self._store.get(PODS, key)
        if pod and TRACKING in finalizers_of(pod):
            self._store.update(PODS, without_finalizer(pod, TRACKING))

    def _release_orphan(self, key: str) -> None:
        """A pod whose Job is gone or lets it go must not be held by the tracking finalizer."""
        pod = self._store.get(PODS, key)
        if pod is None or TRACKING not in finalizers_of(pod):
            return
        owner = owner_of(pod)
        job = self._store.get(JOBS, f"{namespace_of(pod)}/{owner['name']}") if owner else None
        if job is None or owner is None or uid_of(job) != owner["uid"]:
            self._release(key)

    def _plan_expiry(self, job: Json) -> None:
        ttl, finished = job["spec"].get("ttlSecondsAfterFinished"), finished_at(job)
        if ttl is not None and finished is not None and not is_terminating(job):
            self._inside.engine.wake_at(finished + ttl, TTL, key_of(job))

    def _expire(self, key: str) -> None:
        job = self._store.get(JOBS, key)
        finished = finished_at(job) if job else None
        if job is None or finished is None or is_terminating(job):
            return
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        if ttl is not None and self._inside.engine.clock() >= finished + ttl:
            delete_object(self._store, JOBS, job, "Foreground", None)


def _without_active(status: Json, count: int) -> Json:
    """The status without so many of the pods that it already counts as active."""
    active = status.get("active", 0) - count
    if not count:
        return status
    return {name: value for name, value in {**status, "active": active}.items() if name != "active" or active > 0}


def pod_of(job: Json) -> Json:
    """A pod of the Job's template, before defaults."""
    template = job["spec"]["template"]
    metadata = template.get("metadata") or {}
    base = f"{name_of(job)}-"
    owner = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": name_of(job),
        "uid": uid_of(job),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    own = {
        "name": generated_name(base),
        "generateName": base,
        "namespace": namespace_of(job),
        "ownerReferences": [owner],
        "finalizers": [*(metadata.get("finalizers") or []), TRACKING],
    }
    kept = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    return {"metadata": {**own, **kept}, "spec": template["spec"]}
