"""The Job documents that are sent. Whole documents, so that a change of any field shows here."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster import labels
from app.cluster.labels import label_value, workload_of
from app.cluster.manifest import ManifestSettings, PodSecurity, build_job
from app.cluster.observer import Observer
from app.cluster.port import VolumeMount
from app.domain.tolerations import Toleration
from app.domain.volumes import Volume, VolumeKind
from app.domain.workload import job_name
from tests.cluster.builders import JOB, WORKLOAD, job_spec

ORGANIZATION = UUID("00000000-0000-4000-8000-00000000000a")
LABELS = {
    "app.kubernetes.io/name": "gpu-workload",
    "app.kubernetes.io/instance": JOB,
    "app.kubernetes.io/component": "workload",
    "app.kubernetes.io/part-of": "gpuyard",
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
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["MKNOD", "NET_RAW", "SETFCAP"]},
                        },
                        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],  # noqa: S108
                    }
                ],
                "volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "256Mi"}}],
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


def pod(settings: ManifestSettings | None = None, **changes: Any) -> dict[str, Any]:
    manifest = build_job(job_spec(**changes), settings or ManifestSettings())
    found: dict[str, Any] = manifest["spec"]["template"]["spec"]
    return found


def test_what_the_installation_sets_for_every_pod():
    tolerations = tuple(map(Toleration.parse, ("dedicated=gpu:NoExecute", "spot")))
    made = pod(ManifestSettings(tolerations=tolerations, runtime_class="nvidia", image_pull_secrets=("a", "b")))
    assert made["tolerations"] == [
        {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoExecute"},
        {"key": "spot", "operator": "Exists"},
    ]
    assert (made["runtimeClassName"], made["imagePullSecrets"]) == ("nvidia", [{"name": "a"}, {"name": "b"}])


def test_a_restricted_pod_meets_pod_security_restricted():
    made = pod(ManifestSettings(pod_security=PodSecurity.RESTRICTED))
    assert made["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": True}
    assert made["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


GIB = 2**30
SHARED = [
    ({"gpu_count": 1, "memory_bytes": 16 * GIB}, "8Gi"),
    ({"gpu_count": 4, "memory_bytes": 64 * GIB}, "32Gi"),
    ({"gpu_count": 4, "memory_bytes": 10 * GIB}, "10Gi"),
    ({"shared_memory_bytes": GIB + 1, "memory_bytes": 2 * GIB}, "1073741825"),
]


@pytest.mark.parametrize(("changes", "size"), SHARED)
def test_shared_memory_is_as_asked_or_per_gpu_and_never_above_the_memory(changes: dict[str, Any], size: str):
    assert pod(**changes)["volumes"] == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}},
    ]


def test_without_a_size_shared_memory_is_the_container_runtimes():
    made = pod(ManifestSettings(shared_memory_bytes_per_gpu=0))
    assert "volumes" not in made
    assert "volumeMounts" not in made["containers"][0]


def volume(kind: VolumeKind, source: str, name: str = "data", *, read_only: bool = False) -> Volume:
    return Volume(ORGANIZATION, name, kind, source, read_only)


SOURCES = [
    (volume(VolumeKind.PVC, "claim"), {"persistentVolumeClaim": {"claimName": "claim"}}),
    (
        volume(VolumeKind.PVC, "claim", read_only=True),
        {"persistentVolumeClaim": {"claimName": "claim", "readOnly": True}},
    ),
    (
        volume(VolumeKind.NFS, "[fd00::7]:/export/a", read_only=True),
        {"nfs": {"server": "[fd00::7]", "path": "/export/a", "readOnly": True}},
    ),
    (volume(VolumeKind.NFS, "files:/"), {"nfs": {"server": "files", "path": "/"}}),
    (
        volume(VolumeKind.HOST_PATH, "/srv/data", read_only=True),
        {"hostPath": {"path": "/srv/data", "type": "Directory"}},
    ),
]


@pytest.mark.parametrize(("source", "expected"), SOURCES)
def test_each_kind_of_volume(source: Volume, expected: dict[str, Any]):
    made = pod(mounts=(VolumeMount(source, "/data"),))
    assert made["volumes"][1] == {"name": "volume-0", **expected}
    read_only = {"readOnly": True} if source.read_only else {}
    assert made["containers"][0]["volumeMounts"][1] == {"name": "volume-0", "mountPath": "/data", **read_only}


def test_a_volume_is_named_once_however_often_it_is_mounted():
    data = volume(VolumeKind.PVC, "data")
    models = volume(VolumeKind.PVC, "models", "m" * 63)
    mounts = (VolumeMount(data, "/a"), VolumeMount(models, "/m"), VolumeMount(data, "/b", read_only=True))
    made = pod(ManifestSettings(shared_memory_bytes_per_gpu=0), mounts=mounts)
    assert [it["name"] for it in made["volumes"]] == ["volume-0", "volume-1"]
    assert made["containers"][0]["volumeMounts"] == [
        {"name": "volume-0", "mountPath": "/a"},
        {"name": "volume-1", "mountPath": "/m"},
        {"name": "volume-0", "mountPath": "/b", "readOnly": True},
    ]


def test_a_submitters_labels_are_beside_ours():
    manifest = build_job(job_spec(labels=(("example.org/team", "vision"), ("run", ""))), ManifestSettings())
    marks = {**LABELS, "example.org/team": "vision", "run": ""}
    assert manifest["metadata"]["labels"] == manifest["spec"]["template"]["metadata"]["labels"] == marks


def test_a_label_cannot_stand_in_for_one_of_ours():
    manifest = build_job(job_spec(labels=(("gpuyard.dev/workload", "another's"),)), ManifestSettings())
    assert manifest["metadata"]["labels"]["gpuyard.dev/workload"] == str(WORKLOAD)


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


def test_job_and_pod_say_which_installation_made_them_and_where_they_belong():
    job = build_job(job_spec(installation="here"), ManifestSettings())
    for metadata in (job["metadata"], job["spec"]["template"]["metadata"]):
        assert metadata["labels"][labels.INSTALLATION] == "here"
    assert labels.INSTALLATION not in build_job(job_spec(), ManifestSettings())["metadata"]["labels"]
    job["metadata"]["uid"] = "job-uid"
    seen = Observer().job(job)
    assert seen is not None
    assert (seen.installation, seen.server, seen.gpu_resource) == ("here", "gpu-1", "nvidia.com/gpu")
