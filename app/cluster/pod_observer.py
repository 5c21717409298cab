"""A Pod's JSON → ObservedPod. The larger half of `observer`, its only caller."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from app.cluster import labels
from app.cluster.fields import Json, MalformedError, condition, mapping, moment, needed, objects, text, texts, whole
from app.cluster.requests import pod_requests
from app.domain.observed import NEUTRAL_WAITING, ObservedPod, Terminated
from app.domain.wording import because, exited


def pod_of(raw: Json, is_gpu: Callable[[str], bool]) -> ObservedPod:
    """A stranger's pod is capacity in use and nothing else: whatever is odd about the rest of it can't hide that."""
    metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
    ours = _ours(mapping(metadata, "labels"))
    requests = pod_requests(spec)
    return ObservedPod(
        uid=needed(metadata, "uid"),
        name=needed(metadata, "name"),
        namespace=sys.intern(needed(metadata, "namespace")),
        node=sys.intern(text(spec, "nodeName")),
        phase=sys.intern(text(status, "phase")),
        gpu_requests=tuple(sorted((name, count) for name, count in requests.items() if count and is_gpu(name))),
        cpu_millis=requests.get("cpu", 0),
        memory_bytes=requests.get("memory", 0),
        **ours,
        **(_life(metadata, spec, status, is_gpu) if ours["job_name"] else {}),
    )


def _life(metadata: Json, spec: Json, status: Json, is_gpu: Callable[[str], bool]) -> dict[str, Any]:
    devices = list(_devices(status, is_gpu))
    return {
        "reason": text(status, "reason"),
        "message": text(status, "message"),
        "disruption": text(condition(status, "DisruptionTarget"), "reason"),
        "scheduling_message": _scheduling_message(status),
        "created_at": moment(metadata, "creationTimestamp"),
        "pod_started_at": moment(status, "startTime"),
        "deletion_requested_at": _deletion_requested_at(metadata),
        "run_limit_seconds": whole(spec, "activeDeadlineSeconds"),
        "is_held": labels.FINALIZER in texts(metadata, "finalizers"),
        "gpus": _gpus(devices),
        "unhealthy_gpus": _gpus(device for device in devices if text(device, "health") == "Unhealthy"),
        **_container(status),
    }


def _ours(marks: Json) -> dict[str, Any]:
    """Of our own pods only: a stranger's pod is capacity in use and nothing else."""
    if marks.get(labels.MANAGED_BY) != labels.MANAGER:
        return {"job_name": ""}
    names = {"job_name": labels.JOB_NAME, "job_uid": labels.JOB_UID, "installation": labels.INSTALLATION}
    return {field: text(marks, label) for field, label in names.items()}


def _container(status: Json) -> dict[str, Any]:
    """What the workload's container does: it waits, runs or has ended. Sidecars of the cluster's owner don't count."""
    ours = (c for c in objects(status, "containerStatuses") if c.get("name") == labels.CONTAINER)
    state = mapping(next(ours, {}), "state")
    waiting, ended = mapping(state, "waiting"), mapping(state, "terminated")
    facts = {
        "waiting_reason": text(waiting, "reason"),
        "waiting_message": text(waiting, "message"),
        "running_since": moment(mapping(state, "running"), "startedAt"),
        "terminated": _terminated(ended) if ended else None,
    }
    is_set_up = bool(ended) or "running" in state
    return facts if is_set_up else facts | _setting_up(status)


def _setting_up(status: Json) -> dict[str, Any]:
    """What the init containers do that somebody put before ours; nothing where all goes well with them."""
    for container in objects(status, "initContainerStatuses"):
        who, state = f"init container {text(container, 'name')}", mapping(container, "state")
        waiting, ended = mapping(state, "waiting"), mapping(state, "terminated")
        if text(waiting, "reason") not in ("", *NEUTRAL_WAITING):
            message = because(text(waiting, "message"))
            return {"waiting_reason": text(waiting, "reason"), "waiting_message": f"{who}{message}"}
        if code := whole(ended, "exitCode"):
            words = " ".join(part for part in (text(ended, "reason"), text(ended, "message")) if part)
            return {"init_failure": f"{who} {exited(code)}{because(words)}"}
    return {}


def _terminated(ended: Json) -> Terminated:
    code = whole(ended, "exitCode")
    if code is None:
        raise MalformedError("an ended container has no exit code")  # never taken for 0
    return Terminated(
        exit_code=code,
        reason=text(ended, "reason"),
        message=text(ended, "message"),
        started_at=_real(moment(ended, "startedAt")),
        finished_at=_real(moment(ended, "finishedAt")),
    )


def _real(stamp: datetime | None) -> datetime | None:
    """The runtime writes 1970 for what never happened: the start of a container that could not be started."""
    return stamp if stamp and stamp.timestamp() > 0 else None


def _scheduling_message(status: Json) -> str:
    scheduled = next((c for c in objects(status, "conditions") if c.get("type") == "PodScheduled"), {})
    return text(scheduled, "message") if scheduled.get("status") == "False" else ""


def _deletion_requested_at(metadata: Json) -> datetime | None:
    """The moment of the delete by the cluster's clock: the stamp itself is when the grace time ends."""
    ends = moment(metadata, "deletionTimestamp")
    grace = whole(metadata, "deletionGracePeriodSeconds") or 0
    try:
        return ends and ends - timedelta(seconds=grace)
    except OverflowError:
        raise MalformedError(f"a grace time of {grace} s") from None


def _devices(status: Json, is_gpu: Callable[[str], bool]) -> Iterator[Json]:
    """What the kubelet gave the containers, each with an id and, by the device plugin's word, its health."""
    for container in objects(status, "containerStatuses"):
        for resource in objects(container, "allocatedResourcesStatus"):
            if is_gpu(text(resource, "name")):
                yield from objects(resource, "resources")


def _gpus(devices: Iterable[Json]) -> tuple[str, ...]:
    """The devices' ids as the device plugin knows them; a shared device is listed as `<id>::<replica>`.

    Sorted, since the kubelet lists the same devices in another order each time.
    """
    ids = (text(device, "resourceID").partition("::")[0] for device in devices)
    return tuple(sorted({found for found in ids if found}))
