"""The Job documents that are sent. Whole documents, so that a change of any field shows here."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster.labels import label_value, workload_of
from app.cluster.manifest import ManifestSettings, build_job
from app.domain.workload import job_name
from tests.cluster.builders import JOB, WORKLOAD, job_spec

LABELS = {
    "app.kubernetes.io/managed-by": "gpuyard",
    "gpuyard.dev/workload": str(WORKLOAD),
    "gpuyard.dev/attempt": "1",
    "gpuyard.dev/organization": "acme",
}

SMALLEST = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": JOB, "labels": LABELS},
    "spec": {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 0,
        "podReplacementPolicy": "Failed",
        "activeDeadlineSeconds": 4500,
        "template": {
            "metadata": {"labels": LABELS, "finalizers": ["gpuyard.dev/recorded"]},
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": 900,
                "terminationGracePeriodSeconds": 30,
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}
                            ]
                        }
                    }
                },
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [
                    {
                        "name": "workload",
                        "image": "busybox:1.36",
                        "imagePullPolicy": "IfNotPresent",
                        "resources": {
                            "requests": {"nvidia.com/gpu": "1", "cpu": "500m", "memory": "256Mi"},
                            "limits": {"nvidia.com/gpu": "1", "memory": "256Mi"},
                        },
                        "terminationMessagePolicy": "FallbackToLogsOnError",
                        "securityContext": {"allowPrivilegeEscalation": False},
                    }
                ],
            },
        },
    },
}


def container(**changes: Any) -> dict[str, Any]:
    manifest = build_job(job_spec(**changes), ManifestSettings())
    found: dict[str, Any] = manifest["spec"]["template"]["spec"]["containers"][0]
    return found


def test_the_smallest_job():
    assert build_job(job_spec(), ManifestSettings()) == SMALLEST


def test_a_job_with_everything():
    spec = job_spec(
        project="Vision (north)",
        command=("python", "-c"),
        args=("print('$HOME')",),
        env_vars=(("A", "1"), ("PRICE", "$5 $(A) $$")),
        gpu_count=2,
        gpu_resource="nvidia.com/mig-1g.10gb",
    )
    settings = ManifestSettings(image_pull_policy="Always", termination_grace_seconds=5)
    expected = build_job(job_spec(), ManifestSettings())
    pod = expected["spec"]["template"]["spec"]
    pod["terminationGracePeriodSeconds"] = 5
    pod["containers"][0] |= {
        "imagePullPolicy": "Always",
        "command": ["python", "-c"],
        "args": ["print('$$HOME')"],
        "env": [{"name": "A", "value": "1"}, {"name": "PRICE", "value": "$$5 $$(A) $$$$"}],
        "resources": {
            "requests": {"nvidia.com/mig-1g.10gb": "2", "cpu": "500m", "memory": "256Mi"},
            "limits": {"nvidia.com/mig-1g.10gb": "2", "memory": "256Mi"},
        },
    }
    marks = {**LABELS, "gpuyard.dev/project": "Vision-north"}
    expected["metadata"]["labels"] = expected["spec"]["template"]["metadata"]["labels"] = marks
    assert build_job(spec, settings) == expected


def test_two_jobs_share_nothing():
    first, second = (build_job(job_spec(), ManifestSettings()) for _ in range(2))
    first["spec"]["template"]["spec"]["tolerations"][0]["key"] = "changed"
    first["metadata"]["labels"]["changed"] = "yes"
    assert second == SMALLEST


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("registry:5000/team/app", "Always"),
        ("registry:5000/team/app:1", "IfNotPresent"),
        (f"app:latest@sha256:{'0' * 64}", "IfNotPresent"),
    ],
)
def test_pull_policy_follows_the_reference(image: str, policy: str):
    assert container(image=image)["imagePullPolicy"] == policy


def kubernetes_expands(text: str, known: dict[str, str]) -> str:
    """k8s.io/kubernetes third_party/forked/golang/expansion, in short."""
    out, at = "", 0
    while at < len(text):
        if text[at : at + 2] == "$$":
            out, at = out + "$", at + 2
        elif text[at : at + 2] == "$(" and ")" in text[at:]:
            end = text.index(")", at)
            out, at = out + known.get(text[at + 2 : end], text[at : end + 1]), end + 1
        else:
            out, at = out + text[at], at + 1
    return out


@given(st.text(alphabet="$()A b"))
def test_values_survive_the_expansion_by_kubernetes(value: str):
    sent = container(env_vars=(("X", value),), command=(value or "x",), args=(value,))
    for text in (sent["env"][0]["value"], sent["args"][0]):
        assert kubernetes_expands(text, {"A": "expanded", "A b": "expanded"}) == value


@given(st.text(max_size=80))
def test_label_values_are_valid(text: str):
    value = label_value(text)
    assert len(value) <= 63
    assert not value or (value[0].isalnum() and value[-1].isalnum() and value.isascii())


def test_workload_in_a_job_name():
    assert workload_of(job_name(WORKLOAD, 12)) == str(WORKLOAD)
    assert workload_of("gw-backup") is None
    assert workload_of(JOB + "-x") is None
