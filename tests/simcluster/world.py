"""A whole simulated cluster without HTTP and with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from app.simcluster.cluster import Cluster
from app.simcluster.defaults import default_job, default_pod
from app.simcluster.fleet import NodeSpec
from app.simcluster.inside.deletion import delete_object
from app.simcluster.journal import Journal
from app.simcluster.meta import Json
from app.simcluster.resources import JOBS, NODES, PODS, ResourceType
from app.simcluster.settings import Settings

FLEET = (NodeSpec("gpu-1", 4, "NVIDIA-L40S", 46068, cpu="16", memory="64Gi"), NodeSpec("cpu-1", cpu="8"))
START = 1_780_000_000.0
STEP = 0.25
SETTINGS = Settings(run_seconds=4, pull_seconds=1, start_seconds=0, heartbeat_seconds=10, node_grace_seconds=3)


class World:
    def __init__(self, folder: Path, fleet: Iterable[NodeSpec] = FLEET, **settings: Any) -> None:
        self.now = START
        self.folder = folder
        self.fleet = tuple(fleet)
        self.settings = replace(SETTINGS, **settings)
        self.open()

    def open(self) -> None:
        self.journal = Journal(self.folder, self.settings.compact_bytes)
        self.cluster = Cluster(self.settings, lambda: self.now, self.journal, self.fleet)
        self.store = self.cluster.store
        self.cluster.engine.settle()

    def restart(self) -> None:
        """As after `kill -9`: nothing is written on the way out."""
        self.journal.close()
        self.open()

    def settle(self) -> None:
        self.cluster.engine.settle()

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + STEP)
            self.settle()

    def run(self, name: str = "job", *, gpus: int = 1, spec: Json | None = None, **env: Any) -> str:
        """A Job with one container that behaves as `env` says; the pod's key."""
        job = job_document(name, gpus=gpus, spec=spec, **env)
        self.store.create(JOBS, default_job(job, str(uuid4())))
        self.settle()
        return self.pod_of(name)

    def pod_of(self, job: str) -> str:
        return next((key for key in sorted(self.store.keys(PODS)) if key.startswith(f"default/{job}-")), "")

    def bare_pod(self, name: str, spec: Json) -> str:
        pod = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        self.store.create(PODS, default_pod(pod, self.settings))
        self.settle()
        return f"default/{name}"

    def delete(self, resource: ResourceType, key: str, policy: str = "Background", grace: int | None = None) -> None:
        delete_object(self.store, resource, self.get(resource, key), policy, grace)
        self.settle()

    def get(self, resource: ResourceType, key: str) -> Json:
        found = self.store.get(resource, key)
        assert found is not None, f"no {resource.kind} {key}"
        return found

    def pod(self, key: str) -> Json:
        return self.get(PODS, key)

    def job(self, name: str = "job") -> Json:
        return self.get(JOBS, f"default/{name}")

    def node(self, name: str = "gpu-1") -> Json:
        return self.get(NODES, name)

    def state(self, key: str) -> Json:
        found: Json = self.pod(key)["status"]["containerStatuses"][0]["state"]
        return found


def container(gpus: int = 0, image: str = "busybox:1.36", **env: Any) -> Json:
    variables = [{"name": f"SIM_{name.upper()}", "value": str(value)} for name, value in env.items()]
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    made: Json = {"name": "main", "image": image, "resources": resources}
    return {**made, "env": variables} if variables else made


def job_document(name: str, *, gpus: int = 1, spec: Json | None = None, **env: Any) -> Json:
    pod = {"restartPolicy": "Never", "containers": [container(gpus, **env)]}
    template: Json = {"spec": pod}
    wanted = {"backoffLimit": 0, "template": template, **(spec or {})}
    return {"metadata": {"name": name, "namespace": "default", "labels": {"app": "test"}}, "spec": wanted}


def conditions(obj: Json) -> dict[str, str]:
    """Type: reason, of the conditions that hold."""
    found = obj["status"].get("conditions") or []
    return {item["type"]: item.get("reason", "") for item in found if item["status"] == "True"}
