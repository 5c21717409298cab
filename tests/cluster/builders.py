"""Objects for the cluster tests: raw JSON as an API server sends it, cut down to what is read, and specs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from app.cluster import labels
from app.cluster.port import JobSpec
from app.domain.observed import ObservedJob, ObservedPod
from app.domain.workload import job_name

Json = dict[str, Any]

WORKLOAD = UUID("0123456789abcdef0123456789abcdef")
JOB = job_name(WORKLOAD, 1)
NAMESPACE = "jobs"


def sample(name: str) -> Json:
    """An object of a real Kubernetes 1.36, made with our own manifests."""
    found: Json = json.loads((Path(__file__).parent / "samples" / f"{name}.json").read_text())
    return found


def job_spec(**changes: Any) -> JobSpec:
    values: Json = {
        "job_name": JOB,
        "workload_id": WORKLOAD,
        "attempt": 1,
        "organization": "acme",
        "image": "busybox:1.36",
        "cpu_millis": 500,
        "memory_bytes": 256 * 1024**2,
        "gpu_count": 1,
        "gpu_resource": "nvidia.com/gpu",
        "server": "gpu-1",
        "run_limit_seconds": 600,
        "start_limit_seconds": 300,
    }
    return JobSpec(**{**values, **changes})


def job_json(name: str = JOB, uid: str = "job-uid", version: int = 1, **more: Any) -> Json:
    marks = {labels.MANAGED_BY: labels.MANAGER, labels.WORKLOAD: str(WORKLOAD), labels.ATTEMPT: "1"}
    metadata = {"name": name, "uid": uid, "labels": marks, "resourceVersion": str(version)}
    return {"kind": "Job", "metadata": metadata, **more}


def node_json(name: str = "gpu-1", version: int = 1, gpus: int = 4) -> Json:
    amounts = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": str(gpus)}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"kind": "Node", "metadata": {"name": name, "uid": name, "resourceVersion": str(version)}, "status": status}


def pod_json(**changes: Any) -> Json:
    """One of our pods; `metadata`, `spec` and `status` add to what it has anyway."""
    marks = {labels.MANAGED_BY: labels.MANAGER, labels.JOB_NAME: JOB}
    return {
        "kind": "Pod",
        "metadata": {
            "name": "pod",
            "namespace": NAMESPACE,
            "uid": "pod-uid",
            "labels": marks,
            "resourceVersion": "1",
            **changes.get("metadata", {}),
        },
        "spec": {"nodeName": "gpu-1", **changes.get("spec", {})},
        "status": {"phase": "Running", **changes.get("status", {})},
    }


def container_status(state: Json, **more: Any) -> Json:
    return {"containerStatuses": [{"name": labels.CONTAINER, "state": state, **more}]}


def pod(uid: str = "pod-uid", **changes: Any) -> ObservedPod:
    values: Json = {
        "name": f"pod-{uid}",
        "namespace": NAMESPACE,
        "job_name": JOB,
        "node": "gpu-1",
        "phase": "Running",
        "gpu_requests": (("nvidia.com/gpu", 1),),
    }
    return ObservedPod(uid=uid, **{**values, **changes})


def job(uid: str = "job-uid", name: str = JOB, **changes: Any) -> ObservedJob:
    return ObservedJob(**{"uid": uid, "name": name, "workload_id": str(WORKLOAD), "attempt": 1, **changes})
