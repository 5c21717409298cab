"""What an API server takes of a Job and what it refuses: field by field, nothing of it is made (dry run).

Every field that our manifest writes is here once as it must not be; beside it what is taken although it looks odd.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest

from app.cluster.manifest import ManifestSettings, build_job
from app.cluster.port import JobSpec, RefusedError
from app.cluster.transport import Request, Transport
from app.domain.workload import job_name

Json = dict[str, Any]
SPEC = "spec.template.spec"
TERM = (
    f"{SPEC}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]"
)
GPU = "nvidia.com/gpu"


def job() -> Json:
    workload_id = uuid4()
    spec = JobSpec(
        job_name=job_name(workload_id, 1),
        workload_id=workload_id,
        attempt=1,
        organization="contract",
        image="busybox:1.36",
        cpu_millis=50,
        memory_bytes=32 * 2**20,
        gpu_count=1,
        gpu_resource=GPU,
        server="nowhere",
        run_limit_seconds=60,
        start_limit_seconds=60,
    )
    return build_job(spec, ManifestSettings())


def at(path: str) -> Callable[[Any], Callable[[Json], None]]:
    """Put a value at a path of the Job; a name in a list stands for appending."""

    def put(value: Any) -> Callable[[Json], None]:
        def change(document: Json) -> None:
            *parents, last = [int(part) if part.isdecimal() else part for part in path.split("/")]
            where: Any = document
            for part in parents:
                where = where[part]
            if last == "+":
                where.append(value)
            else:
                where[last] = value

        return change

    return put


POD = "spec/template/spec"
CONTAINER = f"{POD}/containers/0"
label = at("spec/template/metadata/labels/k")
key = at("spec/template/metadata/labels")
noted = at("spec/template/metadata/annotations")
env = at(f"{CONTAINER}/env")
volume = at(f"{POD}/volumes/+")
mount = at(f"{CONTAINER}/volumeMounts/+")
toleration = at(f"{POD}/tolerations/+")
limits = at(f"{CONTAINER}/resources/limits")
affinity = at(
    f"{POD}/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0"
)


def a_volume(**source: Any) -> Callable[[Json], None]:
    return volume({"name": "b", **source})


def a_mount(path: str, name: str = "shared-memory") -> Callable[[Json], None]:
    return mount({"name": name, "mountPath": path})


def a_field(operator: str = "In", field: str = "metadata.name", *values: str) -> Callable[[Json], None]:
    return affinity({"key": field, "operator": operator, "values": list(values)})


TAKEN: Mapping[str, Callable[[Json], None]] = {
    "as we make it": lambda _: None,
    "the longest label": key({"k" * 63: "v" * 63}),
    "the longest prefix": key({f"{'.'.join(['d' * 63] * 3)}.{'d' * 61}/k": ""}),
    "annotations of 256 KiB": noted({"a": "x" * (256 * 1024 - 1)}),
    "the longest name": at("metadata/name")("n" * 63),
    "an environment of 1 MiB": env([{"name": f"A{i}", "value": "x" * 2**17} for i in range(8)]),
    "a variable twice": env([{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]),
    "an empty value": env([{"name": "A", "value": ""}]),
    "a NUL, which no process can be given": env([{"name": "A", "value": "x\0y"}]),
    "a relative mount path": a_mount("x"),
    "a mount path with a colon": a_mount("/x:y"),
    "a mount on the root": a_mount("/"),
    "a claim": a_volume(persistentVolumeClaim={"claimName": "c", "readOnly": True}),
    "a claim that can't be": a_volume(persistentVolumeClaim={"claimName": "A b"}),
    "NFS": a_volume(nfs={"server": "[fd00::7]", "path": "/x", "readOnly": True}),
    "a directory of the host": a_volume(hostPath={"path": "/a", "type": "Directory"}),
    "a runtime class that there is not": at(f"{POD}/runtimeClassName")("nowhere"),
    "a pull secret that there is not": at(f"{POD}/imagePullSecrets")([{"name": "nowhere"}]),
    "a toleration of all values": toleration({"key": "a", "operator": "Exists"}),
    "a toleration of one value": toleration({"key": "a", "operator": "Equal", "value": "v", "effect": "NoExecute"}),
    "a capability that nobody knows": at(f"{CONTAINER}/securityContext/capabilities/drop")(["NOPE"]),
    "an image with a space before it": at(f"{CONTAINER}/image")(" busybox"),
}

MOUNTS = f"{SPEC}.containers[0].volumeMounts[1]"
VOLUME = f"{SPEC}.volumes[1]"
TOLERATION = f"{SPEC}.tolerations[1]"
REFUSED: Mapping[str, tuple[Callable[[Json], None], str]] = {
    "a label's value of 64": (label("v" * 64), "spec.template.labels"),
    "a label's key of 64": (key({"k" * 64: ""}), "spec.template.labels"),
    "a prefix of 254": (key({f"{'.'.join(['d' * 63] * 3)}.{'d' * 62}/k": ""}), "spec.template.labels"),
    "a line's end in a label": (label("v\n"), "spec.template.labels"),
    "the Job controller's label": (key({"job-name": "v"}), "spec.template.metadata.labels[job-name]"),
    "the controller's other label": (key({"controller-uid": "v"}), "spec.template.metadata.labels[controller-uid]"),
    "annotations above 256 KiB": (noted({"a": "é" * (128 * 1024)}), "spec.template.annotations"),
    "a name of 64": (at("metadata/name")("n" * 64), "spec.template.labels"),
    "a variable without a name": (env([{"name": "", "value": "x"}]), f"{SPEC}.containers[0].env[0].name"),
    "a variable named a=b": (env([{"name": "a=b", "value": "x"}]), f"{SPEC}.containers[0].env[0].name"),
    "a mount of no volume": (a_mount("/x", "nowhere"), f"{MOUNTS}.name"),
    "a path mounted twice": (a_mount("/dev/shm"), f"{MOUNTS}.mountPath"),  # noqa: S108
    "a mount without a path": (a_mount(""), f"{MOUNTS}.mountPath"),
    "a volume's name in capitals": (volume({"name": "A", "emptyDir": {}}), f"{VOLUME}.name"),
    "a volume's name of 64": (volume({"name": "a" * 64, "emptyDir": {}}), f"{VOLUME}.name"),
    "a volume twice": (volume({"name": "shared-memory", "emptyDir": {}}), f"{VOLUME}.name"),
    "two kinds of one volume": (a_volume(emptyDir={}, hostPath={"path": "/x"}), f"{VOLUME}.hostPath"),
    "a claim without a name": (a_volume(persistentVolumeClaim={"claimName": ""}), f"{VOLUME}.persistentVolumeClaim"),
    "NFS without a server": (a_volume(nfs={"path": "/x"}), f"{VOLUME}.nfs.server"),
    "NFS with a relative path": (a_volume(nfs={"server": "s", "path": "x"}), f"{VOLUME}.nfs.path"),
    "a host path with dots": (a_volume(hostPath={"path": "/a/../b"}), f"{VOLUME}.hostPath.path"),
    "a kind of host path": (a_volume(hostPath={"path": "/a", "type": "Nope"}), f"{VOLUME}.hostPath.type"),
    "a size below nothing": (a_volume(emptyDir={"sizeLimit": "-1"}), f"{VOLUME}.emptyDir.sizeLimit"),
    "a toleration's operator": (toleration({"key": "a", "operator": "Is"}), f"{TOLERATION}.operator"),
    "Exists with a value": (toleration({"key": "a", "operator": "Exists", "value": "x"}), f"{TOLERATION}.operator"),
    "a toleration's effect": (toleration({"key": "a", "operator": "Exists", "effect": "No"}), f"{TOLERATION}.effect"),
    "a toleration's key": (toleration({"key": "a b", "operator": "Exists"}), f"{TOLERATION}.key"),
    "a toleration's value of 64": (toleration({"key": "a", "value": "v" * 64}), f"{TOLERATION}.operator"),
    "a runtime class's name": (at(f"{POD}/runtimeClassName")("A b"), f"{SPEC}.runtimeClassName"),
    "a seccomp profile": (
        at(f"{POD}/securityContext/seccompProfile/type")("Nope"),
        f"{SPEC}.securityContext.seccompProfile.type",
    ),
    "privileges without escalation": (
        at(f"{CONTAINER}/securityContext/privileged")(True),
        f"{SPEC}.containers[0].securityContext",
    ),
    "memory above its limit": (limits({GPU: "1", "memory": "1Mi"}), f"{SPEC}.containers[0].resources.requests"),
    "GPUs without a limit": (limits({"memory": "32Mi"}), f"{SPEC}.containers[0].resources.limits"),
    "GPUs above their limit": (limits({GPU: "2", "memory": "32Mi"}), f"{SPEC}.containers[0].resources.requests"),
    "a resource without a domain": (limits({GPU: "1", "gpu": "1"}), f"{SPEC}.containers[0].resources.limits[gpu]"),
    "no image": (at(f"{CONTAINER}/image")(""), f"{SPEC}.containers[0].image"),
    "a pull policy": (at(f"{CONTAINER}/imagePullPolicy")("Sometimes"), f"{SPEC}.containers[0].imagePullPolicy"),
    "a deadline of 0": (at(f"{POD}/activeDeadlineSeconds")(0), f"{SPEC}.activeDeadlineSeconds"),
    "a deadline of 2^31": (at(f"{POD}/activeDeadlineSeconds")(2**31), f"{SPEC}.activeDeadlineSeconds"),
    "a Job's finalizer without a domain": (at("metadata/finalizers")(["x"]), "metadata.finalizers[0]"),
    "a replacement policy": (at("spec/podReplacementPolicy")("Now"), "spec.podReplacementPolicy"),
    "pods that start again": (at(f"{POD}/restartPolicy")("Always"), f"{SPEC}.restartPolicy"),
    "two nodes by name": (a_field("In", "metadata.name", "a", "b"), f"{TERM}.values"),
    "a node by its uid": (a_field("In", "metadata.uid", "a"), f"{TERM}.key"),
    "a container's name": (at(f"{CONTAINER}/name")("A"), f"{SPEC}.containers[0].name"),
}


pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")


async def send(transport: Transport, namespace: str, document: Json) -> None:
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    await transport.call(Request("POST", path, {"dryRun": "All"}, document))


@pytest.mark.parametrize("name", TAKEN)
async def test_what_is_taken(transport: Transport, namespace: str, name: str):
    document = job()
    TAKEN[name](document)
    await send(transport, namespace, document)


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_and_where(transport: Transport, namespace: str, name: str):
    change, field = REFUSED[name]
    document = job()
    change(document)
    with pytest.raises(RefusedError) as caught:
        await send(transport, namespace, document)
    assert (caught.value.status, caught.value.reason) == (422, "Invalid")
    _, _, said = caught.value.message.partition(" is invalid: ")
    assert said.removeprefix("[").startswith(field)


async def test_a_body_above_3_mib_is_too_large(transport: Transport, namespace: str):
    document = job()
    env([{"name": f"A{i}", "value": "x" * 2**17} for i in range(25)])(document)
    with pytest.raises(RefusedError) as caught:
        await send(transport, namespace, document)
    assert (caught.value.status, caught.value.reason) == (413, "RequestEntityTooLarge")
