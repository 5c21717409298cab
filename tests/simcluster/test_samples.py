"""The same documents as a real Kubernetes 1.36 (samples/, recorded from a kubelet with a pretended device plugin).

Compared are the fields that are there, and the order of conditions; not the values, which differ by name and time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.simcluster.meta import Json
from app.simcluster.resources import JOBS, PODS
from tests.simcluster.world import World, container

SAMPLES = Path(__file__).parent / "samples"
# of the real documents: what belongs to the sample's own labels, commands and images, or is left out on purpose
LEFT_OUT = {
    "metadata.labels.sample",
    "metadata.labels.app",
    "spec.template.metadata.labels.sample",
    "spec.containers[].command[]",
    "spec.template.spec.containers[].command[]",
    "spec.automountServiceAccountToken",
    "spec.template.spec.automountServiceAccountToken",
    "spec.enableServiceLinks",
    "spec.template.spec.enableServiceLinks",
    "status.allocatedResources.nvidia.com/gpu",
    "status.resources.limits.nvidia.com/gpu",
    "status.resources.requests.nvidia.com/gpu",
    "status.resources",
}
# a real kubelet's last write of a finished pod has it or hasn't
AT_TIMES = ".allocatedResourcesStatus[]."
OF_A_JOB = {"metadata.finalizers[]"}


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Every leaf, with list indices left out."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from paths(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for item in value:
            yield from paths(item, f"{path}[]")
    else:
        yield path


def shape(document: Json) -> set[str]:
    found = set(paths(document)) - LEFT_OUT
    return {path for path in found if ".env[]" not in path and AT_TIMES not in path}


def sample(name: str) -> Json:
    document: Json = json.loads((SAMPLES / f"{name}.json").read_text())
    return document


def condition_types(document: Json) -> list[str]:
    return [condition["type"] for condition in document["status"].get("conditions") or []]


def same(ours: Json, name: str) -> None:
    real = sample(name)
    assert shape(ours) == shape(real)
    assert condition_types(ours) == condition_types(real)


@pytest.mark.parametrize(
    ("name", "env", "seconds"),
    [
        ("pod-running", {"seconds": 100}, 2),
        ("pod-succeeded", {}, 6),
        ("pod-failed-exit3", {"exit_code": 3}, 6),
        ("pod-failed-starterror", {"outcome": "start-error", "gpus": 0}, 6),
        ("pod-imagepullbackoff", {"outcome": "image-missing", "gpus": 0}, 5),
        ("pod-pending-unscheduled", {"gpus": 99}, 1),
    ],
)
def test_pods(world: World, name: str, env: dict[str, Any], seconds: float):
    key = world.run("job", **env)
    world.pass_time(seconds)
    assert shape(world.get(PODS, key)) - OF_A_JOB == shape(sample(name)) - OF_A_JOB
    assert condition_types(world.get(PODS, key)) == condition_types(sample(name))


def test_a_pod_past_its_deadline(world: World):
    spec = {"restartPolicy": "Never", "activeDeadlineSeconds": 3, "containers": [container(1, seconds=100)]}
    key = world.run(spec={"template": {"spec": spec}})
    world.pass_time(5)
    ours = world.pod(key)
    assert shape(ours) - OF_A_JOB == shape(sample("pod-deadlineexceeded")) - OF_A_JOB
    assert condition_types(ours) == condition_types(sample("pod-deadlineexceeded"))


@pytest.mark.parametrize(
    ("name", "env", "seconds"),
    [
        ("job-succeeded", {}, 6),
        ("job-failed-exit3", {"exit_code": 3}, 6),
        ("job-pending-unscheduled", {"gpus": 99}, 1),
    ],
)
def test_jobs(world: World, name: str, env: dict[str, Any], seconds: float):
    world.run("job", **env)
    world.pass_time(seconds)
    same(world.get(JOBS, "default/job"), name)


def test_nodes(world: World):
    real, ours = shape(sample("node")), shape(world.node())
    missing = {path for path in real - ours if not path.startswith(("status.images", "metadata.annotations"))}
    kept = ("status.allocatable.hugepages", "status.capacity.hugepages", "status.declaredFeatures")
    assert {path for path in missing if not path.startswith(kept)} == set()
    assert condition_types(world.node()) == condition_types(sample("node"))
