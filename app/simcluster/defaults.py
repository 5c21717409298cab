"""What the API server fills in when an object is created: defaults of the kind and of the admission plugins.

Compared with objects that a real 1.36 server returned. Pure.
"""

from __future__ import annotations

from app.simcluster.meta import Json, with_meta
from app.simcluster.resources import JOBS, PODS, ResourceType
from app.simcluster.settings import Settings

_POD_SPEC: Json = {
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_POD_ONLY: Json = {
    "restartPolicy": "Always",
    "enableServiceLinks": True,
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER: Json = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def default_pod(pod: Json, settings: Settings) -> Json:
    spec = {**_POD_ONLY, **_pod_spec(pod["spec"])}
    spec["containers"] = [_with_requests(item) for item in spec["containers"]]
    spec["tolerations"] = [*(spec.get("tolerations") or []), *_default_tolerations(spec, settings)]
    status = {"phase": "Pending", "qosClass": qos_class(spec)}
    return {**with_meta(pod, generation=1), "spec": spec, "status": status}


def _pod_spec(spec: Json) -> Json:
    containers = {
        name: [_default_container(item) for item in spec[name]]
        for name in ("initContainers", "containers")
        if spec.get(name)
    }
    return {**_POD_SPEC, **spec, **containers}


def _default_container(container: Json) -> Json:
    image = container.get("image", "")
    name = image.rpartition("/")[2]
    moving = "@" not in name and (":" not in name or name.endswith(":latest"))
    policy = {"imagePullPolicy": "Always" if moving else "IfNotPresent"}
    filled = {**_CONTAINER, **policy, **container}
    if ports := container.get("ports"):
        filled["ports"] = [{"protocol": "TCP", **port} for port in ports]
    return filled


def _with_requests(container: Json) -> Json:
    """Limits are requests too, where those are missing."""
    resources = container["resources"]
    limits = resources.get("limits")
    if not limits:
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **(resources.get("requests") or {})}}}


def _default_tolerations(spec: Json, settings: Settings) -> list[Json]:
    there = {item.get("key") for item in spec.get("tolerations") or [] if item.get("operator") == "Exists"}
    return [
        {
            "key": f"node.kubernetes.io/{name}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": settings.toleration_seconds,
        }
        for name in ("not-ready", "unreachable")
        if None not in there and f"node.kubernetes.io/{name}" not in there
    ]


def qos_class(spec: Json) -> str:
    """By cpu and memory alone: a pod that asks for GPUs only is BestEffort."""
    resources = [item.get("resources") or {} for item in spec["containers"]]
    asked = [
        (item.get("requests") or {}).get(name) or (item.get("limits") or {}).get(name)
        for item in resources
        for name in ("cpu", "memory")
    ]
    if not any(asked):
        return "BestEffort"
    equal = all(
        (item.get("limits") or {}).get(name)
        and (item.get("requests") or item["limits"]).get(name, item["limits"][name]) == item["limits"][name]
        for item in resources
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if equal else "Burstable"


def job_labels(name: str, uid: str) -> dict[str, str]:
    """What the pods of a Job carry. Whoever brings another value of one is refused."""
    return {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }


def default_job(job: Json, uid: str) -> Json:
    """`uid` is known before the object is stored, since the selector and the pods' labels carry it."""
    metadata, spec = job["metadata"], job["spec"]
    template = spec["template"]
    template_metadata = template.get("metadata") or {}
    labels = {**job_labels(metadata["name"], uid), **(template_metadata.get("labels") or {})}
    filled = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        **spec,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
        "template": {
            "metadata": {**template_metadata, "labels": labels},
            "spec": _pod_spec(template["spec"]),
        },
    }
    own = metadata.get("labels") or labels  # a Job without labels is found by its pods' ones
    return {**with_meta(job, generation=1, uid=uid, labels=own), "spec": filled, "status": {}}


def refilled(resource: ResourceType, new: Json, old: Json) -> Json:
    """An updated object with the defaults it left out. What only creation sets stays as it was."""
    if resource is JOBS:
        return {**new, "spec": default_job(new, old["metadata"]["uid"])["spec"]}
    if resource is PODS:
        spec = {**_POD_ONLY, **_pod_spec(new["spec"])}
        return {**new, "spec": {**spec, "containers": [_with_requests(item) for item in spec["containers"]]}}
    return new


def default_namespace(namespace: Json) -> Json:
    name = namespace["metadata"]["name"]
    labels = {**(namespace["metadata"].get("labels") or {}), "kubernetes.io/metadata.name": name}
    spec, status = {"finalizers": ["kubernetes"]}, {"phase": "Active"}
    return {**with_meta(namespace, labels=labels), "spec": spec, "status": status}
