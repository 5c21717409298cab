"""JobSpec → the Kubernetes Job, as a plain dict. Pure; called by the adapter when it creates a Job.

One Job, one pod, no second try by Kubernetes: a retry is a decision of ours and makes another Job. Left out on purpose:
`ttlSecondsAfterFinished` (a Job is deleted after its end is stored, never by a timer) and `nodeName` (the scheduler and
the device plugin must keep their accounts, see `_only_on`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.cluster import labels
from app.cluster.port import JobSpec
from app.domain.quantity import format_cpu, format_memory
from app.placement.snapshot import TOLERATED

Manifest = dict[str, Any]

# The Job's own deadline makes the controller delete the pod, exit code and all. It is only there for the case that the
# pod never starts and this app is gone, hence far behind the pod's own deadline, which keeps the pod.
BACKSTOP_SECONDS = 3600

# Only what says "for GPU work". Tolerating node.kubernetes.io/unschedulable would defeat a cordon.
_TOLERATIONS = tuple({"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(TOLERATED))


@dataclass(frozen=True)
class ManifestSettings:
    """`image_pull_policy` None lets the reference decide: Always for `latest` or no tag, else IfNotPresent."""

    image_pull_policy: str | None = None
    termination_grace_seconds: int = 30


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
    return {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": pod_limit,
        "terminationGracePeriodSeconds": settings.termination_grace_seconds,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # the environment is what was asked for, and nothing of the namespace's services
        "affinity": _only_on(spec.server),
        "tolerations": [dict(toleration) for toleration in _TOLERATIONS],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(spec, settings)],
    }


def _only_on(server: str) -> Manifest:
    """The one node, by its name and not by a label that might differ from it, still through the scheduler."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [server]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _container(spec: JobSpec, settings: ManifestSettings) -> Manifest:
    container: Manifest = {
        "name": labels.CONTAINER,
        "image": spec.image,
        "imagePullPolicy": settings.image_pull_policy or _pull_policy(spec.image),
        "resources": _resources(spec),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        # CUDA images run as root, so runAsNonRoot would refuse most of them; this is as far as they all go.
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    if spec.command:
        container["command"] = [_literal(word) for word in spec.command]
    if spec.args:
        container["args"] = [_literal(word) for word in spec.args]
    if spec.env_vars:
        container["env"] = [{"name": name, "value": _literal(value)} for name, value in spec.env_vars]
    return container


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
        labels.MANAGED_BY: labels.MANAGER,
        labels.WORKLOAD: str(spec.workload_id),
        labels.ATTEMPT: str(spec.attempt),
        **{key: value for key, value in for_people.items() if value},
    }
