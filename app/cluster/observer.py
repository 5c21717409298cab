"""Raw JSON of Nodes, Pods and Jobs → what we observe of them. Pure; called by the adapter for all it reads.

The cluster holds objects of other people and of other versions: nothing here raises over them. An object that isn't
understood becomes None, and the caller counts it. Typed client models are left out, they cost three times the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from app.cluster import labels
from app.cluster.fields import Json, MalformedError, amount, condition, mapping, moment, needed, objects, text
from app.cluster.pod_observer import pod_of
from app.cluster.port import Kind, Observed
from app.domain.gpus import DEFAULT_GPU_RESOURCES
from app.domain.observed import ObservedJob, ObservedNode, ObservedPod, Taint

T = TypeVar("T")

_PRODUCT = "nvidia.com/gpu.product"
_GPU_MEMORY = "nvidia.com/gpu.memory"
_COMPUTE = ("nvidia.com/gpu.compute.major", "nvidia.com/gpu.compute.minor")
_SHARED = "-SHARED"
_DRIVER = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.{}", ("major", "minor", "rev"))
_RUNTIME = ("nvidia.com/cuda.runtime-version.full", "nvidia.com/cuda.runtime.{}", ("major", "minor"))
_LONGEST_NUMBER = 18  # digits: what fits everywhere
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


@dataclass(frozen=True)
class Observer:
    """`gpu_resources`: resources that are GPUs, a trailing `*` stands for anything. `pool_label`: a node's label."""

    gpu_resources: tuple[str, ...] = DEFAULT_GPU_RESOURCES
    pool_label: str = "gpuyard.dev/organization"

    def node(self, raw: object) -> ObservedNode | None:
        return _understood(lambda: self._node(_object(raw)))

    def pod(self, raw: object) -> ObservedPod | None:
        return _understood(lambda: pod_of(_object(raw), self.is_gpu))

    def job(self, raw: object) -> ObservedJob | None:
        return _understood(lambda: _job(_object(raw), self.is_gpu))

    def observe(self, kind: Kind, raw: object) -> Observed | None:
        match kind:
            case Kind.NODES:
                return self.node(raw)
            case Kind.PODS:
                return self.pod(raw)
            case Kind.JOBS:
                return self.job(raw)

    def is_gpu(self, resource: str) -> bool:
        return resource in self._exact or resource.startswith(self._prefixes)

    @cached_property
    def _exact(self) -> frozenset[str]:
        return frozenset(name for name in self.gpu_resources if not name.endswith("*"))

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(name[:-1] for name in self.gpu_resources if name.endswith("*"))

    def _node(self, raw: Json) -> ObservedNode:
        metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
        marks, allocatable = mapping(metadata, "labels"), mapping(status, "allocatable")
        capacity = self._gpus(mapping(status, "capacity"))
        return ObservedNode(
            name=needed(metadata, "name"),
            uid=text(metadata, "uid"),
            is_ready=bool(condition(status, "Ready")),
            is_cordoned=spec.get("unschedulable") is True,
            taints=tuple(Taint(needed(t, "key"), text(t, "value"), text(t, "effect")) for t in objects(spec, "taints")),
            pressure=tuple(kind for kind in _PRESSURES if condition(status, kind)),
            pool=text(marks, self.pool_label),
            cpu_millis=amount("cpu", allocatable.get("cpu", 0)),
            memory_bytes=amount("memory", allocatable.get("memory", 0)),
            capacity_gpus=capacity,
            allocatable_gpus=self._gpus(allocatable),
            product=text(marks, _PRODUCT),
            gpu_memory_mib=_decimal(text(marks, _GPU_MEMORY)),
            driver=_version(marks, *_DRIVER),
            cuda=_version(marks, *_RUNTIME),
            compute_capability=_compute_capability(marks),
            shared_gpus=tuple(name for name, _ in capacity if text(marks, f"{name}.product").endswith(_SHARED)),
        )

    def _gpus(self, resources: Json) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((name, amount(name, count)) for name, count in resources.items() if self.is_gpu(name)))


def last_words(events: Iterable[object]) -> str:
    """The message of the youngest of some raw events; empty without one that is understood."""
    known = [event for event in events if isinstance(event, dict) and isinstance(event.get("message"), str)]
    return max(known, key=_seen_at, default={"message": ""})["message"]


def _seen_at(event: Json) -> str:
    """Recorders fill in one or the other stamp; as texts of the same form they can be compared."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _understood(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except MalformedError:
        return None


def _object(raw: object) -> Json:
    if isinstance(raw, dict):
        return raw
    raise MalformedError("it is no object")


def _decimal(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _LONGEST_NUMBER else None


def _compute_capability(marks: Json) -> tuple[int, ...]:
    """Empty unless both numbers are there."""
    major, minor = (_decimal(text(marks, label)) for label in _COMPUTE)
    return () if major is None or minor is None else (major, minor)


def _version(marks: Json, full: str, part: str, parts: tuple[str, ...]) -> str:
    """The one label of today's feature discovery, else put together from the separate ones of older releases."""
    pieces = (text(marks, part.format(name)) for name in parts)
    return text(marks, full) or ".".join(piece for piece in pieces if piece)


def _job(raw: Json, is_gpu: Callable[[str], bool]) -> ObservedJob:
    metadata, status = mapping(raw, "metadata"), mapping(raw, "status")
    marks = mapping(metadata, "labels")
    pod_spec = mapping(mapping(mapping(raw, "spec"), "template"), "spec")
    # FailureTarget and SuccessCriteriaMet come first, and the outcome they name is never undone.
    failed = condition(status, "Failed") or condition(status, "FailureTarget")
    return ObservedJob(
        uid=needed(metadata, "uid"),
        name=needed(metadata, "name"),
        namespace=sys.intern(text(metadata, "namespace")),
        workload_id=text(marks, labels.WORKLOAD),
        attempt=_decimal(text(marks, labels.ATTEMPT)) or 0,
        is_deleting=bool(text(metadata, "deletionTimestamp")),
        is_complete=bool(condition(status, "Complete") or condition(status, "SuccessCriteriaMet")),
        failure=text(failed, "reason"),
        failure_message=text(failed, "message"),
        created_at=moment(metadata, "creationTimestamp"),
        installation=text(marks, labels.INSTALLATION),
        server=_server(pod_spec),
        gpu_resource=_gpu_resource(pod_spec, is_gpu),
    )


def _server(pod_spec: Json) -> str:
    """The node that the manifest binds the pod to, as `manifest` writes it."""
    affinity = mapping(mapping(pod_spec, "affinity"), "nodeAffinity")
    terms = objects(mapping(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms")
    fields = (field for term in terms for field in objects(term, "matchFields"))
    values = next((field.get("values") for field in fields if field.get("key") == "metadata.name"), None)
    return str(values[0]) if isinstance(values, list) and values else ""


def _gpu_resource(pod_spec: Json, is_gpu: Callable[[str], bool]) -> str:
    ours = (c for c in objects(pod_spec, "containers") if c.get("name") == labels.CONTAINER)
    limits = mapping(mapping(next(ours, {}), "resources"), "limits")
    return next((name for name in limits if is_gpu(name)), "")
