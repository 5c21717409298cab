"""Servers, nodes, pods and requests with the fields a test cares for; everything else is ample."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.domain.observed import ObservedNode, ObservedPod
from app.domain.server import ServerId
from app.domain.states import Reason
from app.placement.plan import Answer, Place, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot

GPU = "nvidia.com/gpu"
GI = 2**30
START = datetime(2026, 1, 1, tzinfo=UTC)


def server(name: str, free: int = 8, total: int = 8, *, unhealthy: int = 0, **fields: Any) -> ServerCapacity:
    return capacity(name, {GPU: free}, {GPU: total}, unhealthy=unhealthy, **fields)


def capacity(
    name: str, free: Mapping[str, int], total: Mapping[str, int], *, unhealthy: int = 0, **fields: Any
) -> ServerCapacity:
    defaults: dict[str, Any] = {
        "organization": "acme",
        "cpu_free": 64_000,
        "cpu_total": 64_000,
        "memory_free": 512 * GI,
        "memory_total": 512 * GI,
        "gpus_allocatable": {resource: count - unhealthy for resource, count in total.items()},
    }
    return ServerCapacity(name=name, gpus_free=free, gpus_total=total, **{**defaults, **fields})


def request(
    number: int = 1, gpus: int = 1, *, age: int = 0, avoid: Collection[str] = frozenset(), **fields: Any
) -> Request:
    """`age` is how many seconds before the others it was queued; `avoid` has names, `cluster/name` where it matters."""
    values: dict[str, Any] = {"organization": "acme", "cpu_millis": 1000, "memory_bytes": GI, **fields}
    values["avoid"] = frozenset(map(ServerId.parse, avoid))
    queued_at = START - timedelta(seconds=age)
    return Request(workload_id=UUID(int=number), gpu_count=gpus, queued_at=queued_at, **values)


def answers(queue: list[Request], *servers: ServerCapacity) -> dict[int, Answer]:
    """The plan's answers by the numbers that the requests were made with."""
    return {workload.int: answer for workload, answer in plan(queue, Snapshot(servers)).answers.items()}


def answer(wanted: Request, *servers: ServerCapacity) -> Answer:
    return answers([wanted], *servers)[wanted.workload_id.int]


def told(wanted: Request, *servers: ServerCapacity) -> tuple[Reason, str]:
    """Why that one workload waits, were it alone in the queue."""
    found = answer(wanted, *servers)
    assert not isinstance(found, Place)
    return found.reason, found.message


def node(name: str = "gpu-1", gpus: int = 8, **fields: Any) -> ObservedNode:
    defaults: dict[str, Any] = {
        "uid": f"uid-{name}",
        "is_ready": True,
        "is_cordoned": False,
        "taints": (),
        "pressure": (),
        "pool": "acme",
        "cpu_millis": 64_000,
        "memory_bytes": 512 * GI,
        "capacity_gpus": ((GPU, gpus),),
        "allocatable_gpus": ((GPU, gpus),),
    }
    return ObservedNode(name=name, **{**defaults, **fields})


def pod(on: str = "gpu-1", phase: str = "Running", gpus: int = 1, **fields: Any) -> ObservedPod:
    defaults: dict[str, Any] = {"cpu_millis": 4000, "memory_bytes": 16 * GI, "gpu_requests": ((GPU, gpus),)}
    return ObservedPod("u", "p", "n", job_name="", node=on, phase=phase, **{**defaults, **fields})
