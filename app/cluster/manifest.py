"""JobSpec → the Kubernetes Job, as a plain dict. Pure; called by the adapter when it creates a Job.

One Job, one pod, no second try by Kubernetes: a retry is a decision of ours and makes another Job. Left out on purpose:
`ttlSecondsAfterFinished` (a Job is deleted after its end is stored, never by a timer) and `nodeName` (the scheduler and
the device plugin must keep their accounts, see `_only_on`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.cluster import labels
from app.cluster.mounts import volumes_and_mounts
from app.cluster.port import JobSpec
from app.domain.lifecycle import Policy
from app.domain.quantity import format_cpu, format_memory
from app.domain.submission import Defaults
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration

Manifest = dict[str, Any]

# The Job's own deadline makes the controller delete the pod, exit code and all. It is only there for the case that the
# pod never starts and this app is gone, hence far behind the pod's own deadline, which keeps the pod.
BACKSTOP_SECONDS = 3600

# Of what container runtimes leave to root, what no GPU image needs: raw sockets, with which a pod can pretend to be
# another one of its network; device nodes, of which the device plugin brings the right ones; file capabilities, which
# would go on working on a shared volume. The rest stays: apt-get, chown, su and sshd need CHOWN, DAC_OVERRIDE, FOWNER,
# SETUID, SETGID, SYS_CHROOT, and su and sshd fail for root without AUDIT_WRITE.
_NEVER_NEEDED = ("MKNOD", "NET_RAW", "SETFCAP")


class PodSecurity(StrEnum):
    """How much of root a container keeps: CUDA images run as root, so `restricted` is for own images only."""

    BASELINE = "baseline"
    RESTRICTED = "restricted"


@dataclass(frozen=True)
class ManifestSettings:
    """What is the same for every pod of the installation.

    `image_pull_policy` None lets the reference decide: Always for `latest` or no tag, else IfNotPresent.
    `runtime_class` empty is the node's default. Secrets are named only; they lie in the Jobs' namespace.
    `shared_memory_bytes_per_gpu` is for who names none, cut to the workload's memory; 0 leaves it to the runtime.
    """

    image_pull_policy: str | None = None
    termination_grace_seconds: int = Policy.termination_grace_seconds
    tolerations: tuple[Toleration, ...] = DEFAULT_TOLERATIONS
    runtime_class: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    pod_security: PodSecurity = PodSecurity.BASELINE
    shared_memory_bytes_per_gpu: int = Defaults.shared_memory_bytes_per_gpu


def build_job(spec: JobSpec, settings: ManifestSettings) -> Manifest:
    pod_limit = spec.start_limit_seconds + spec.run_limit_seconds
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": spec.job_name, "labels": _labels(spec)},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            # Without it a pod that merely begins to end counts as failed and is replaced while it still runs.
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": pod_limit + BACKSTOP_SECONDS,
            "template": {
                # The finalizer keeps the ended pod, with its exit code, times and log, until we have stored them.
                "metadata": {"labels": _labels(spec), "finalizers": [labels.FINALIZER]},
                "spec": _pod_spec(spec, settings, pod_limit),
            },
        },
    }


def _pod_spec(spec: JobSpec, settings: ManifestSettings, pod_limit: int) -> Manifest:
    volumes, mounts = volumes_and_mounts(spec.mounts, _shared_memory(spec, settings))
    pod: Manifest = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": pod_limit,
        "terminationGracePeriodSeconds": settings.termination_grace_seconds,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # the environment is what was asked for, and nothing of the namespace's services
        "affinity": _only_on(spec.server),
        "tolerations": [_toleration(toleration) for toleration in settings.tolerations],
        "securityContext": _pod_security(settings),
        "containers": [_container(spec, settings, mounts)],
    }
    optional: Manifest = {
        "volumes": volumes,
        "runtimeClassName": settings.runtime_class,
        "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
    }
    return {**pod, **{name: value for name, value in optional.items() if value}}


def _shared_memory(spec: JobSpec, settings: ManifestSettings) -> int:
    """Never above the memory limit, which it counts against."""
    if spec.shared_memory_bytes is not None:
        return spec.shared_memory_bytes
    return min(settings.shared_memory_bytes_per_gpu * spec.gpu_count, spec.memory_bytes)


def _toleration(toleration: Toleration) -> Manifest:
    operator = {"operator": "Exists"} if toleration.value is None else {"operator": "Equal", "value": toleration.value}
    effect = {"effect": toleration.effect} if toleration.effect else {}
    return {"key": toleration.key, **operator, **effect}


def _pod_security(settings: ManifestSettings) -> Manifest:
    must_not_be_root = {"runAsNonRoot": True} if settings.pod_security is PodSecurity.RESTRICTED else {}
    return {"seccompProfile": {"type": "RuntimeDefault"}, **must_not_be_root}


def _only_on(server: str) -> Manifest:
    """The one node, by its name and not by a label that might differ from it, still through the scheduler."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [server]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _container(spec: JobSpec, settings: ManifestSettings, mounts: list[Manifest]) -> Manifest:
    container: Manifest = {
        "name": labels.CONTAINER,
        "image": spec.image,
        "imagePullPolicy": settings.image_pull_policy or _pull_policy(spec.image),
        "resources": _resources(spec),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": _dropped(settings)}},
    }
    if mounts:
        container["volumeMounts"] = mounts
    if spec.command:
        container["command"] = [_literal(word) for word in spec.command]
    if spec.args:
        container["args"] = [_literal(word) for word in spec.args]
    if spec.env_vars:
        container["env"] = [{"name": name, "value": _literal(value)} for name, value in spec.env_vars]
    return container


def _dropped(settings: ManifestSettings) -> list[str]:
    return ["ALL"] if settings.pod_security is PodSecurity.RESTRICTED else list(_NEVER_NEEDED)


def _resources(spec: JobSpec) -> Manifest:
    """Memory is held to its request, because a node that runs out kills bystanders. CPU isn't: a quota throttles data
    loading although cores are idle, while the request alone already guarantees the share under contention.
    """
    gpus = {spec.gpu_resource: str(spec.gpu_count)}
    memory = format_memory(spec.memory_bytes)
    return {
        "requests": {**gpus, "cpu": format_cpu(spec.cpu_millis), "memory": memory},
        "limits": {**gpus, "memory": memory},
    }


def _literal(text: str) -> str:
    """Kubernetes expands `$(NAME)` and turns `$$` into `$`; with every `$` doubled the text arrives as it was."""
    return text.replace("$", "$$")


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    _, _, tag = image.rpartition("/")[2].partition(":")
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _labels(spec: JobSpec) -> dict[str, str]:
    for_people = {
        labels.ORGANIZATION: labels.label_value(spec.organization),
        labels.PROJECT: labels.label_value(spec.project),
    }
    return {
        **dict(spec.labels),
        labels.NAME: "gpu-workload",
        labels.INSTANCE: labels.label_value(spec.job_name),
        labels.COMPONENT: "workload",
        labels.PART_OF: labels.MANAGER,
        labels.MANAGED_BY: labels.MANAGER,
        labels.WORKLOAD: str(spec.workload_id),
        labels.ATTEMPT: str(spec.attempt),
        **({labels.INSTALLATION: spec.installation} if spec.installation else {}),
        **{key: value for key, value in for_people.items() if value},
    }
