"""The fields that field selectors may name, by kind: the ones a real API server offers."""

from __future__ import annotations

from collections.abc import Callable

from app.simcluster.history import Facts
from app.simcluster.meta import Json, name_of, namespace_of
from app.simcluster.resources import EVENTS, JOBS, NAMESPACES, NODES, PODS, ResourceType


def _pod_fields(pod: Json) -> dict[str, str]:
    spec, status = pod["spec"], pod.get("status") or {}
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": str(bool(spec.get("hostNetwork"))).lower(),
        "status.phase": status.get("phase", ""),
        "status.podIP": status.get("podIP", ""),
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


def _node_fields(node: Json) -> dict[str, str]:
    return {"spec.unschedulable": str(bool((node.get("spec") or {}).get("unschedulable"))).lower()}


def _job_fields(job: Json) -> dict[str, str]:
    return {"status.successful": str((job.get("status") or {}).get("succeeded", 0))}


def _namespace_fields(namespace: Json) -> dict[str, str]:
    return {"status.phase": (namespace.get("status") or {}).get("phase", "")}


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _event_fields(event: Json) -> dict[str, str]:
    involved = event.get("involvedObject") or {}
    fields = {f"involvedObject.{name}": str(involved.get(name, "")) for name in _INVOLVED}
    source = (event.get("source") or {}).get("component", "")
    reporter = event.get("reportingComponent", "")
    kind, reason = str(event.get("type", "")), str(event.get("reason", ""))
    return {**fields, "type": kind, "reason": reason, "source": source, "reportingComponent": reporter}


_FIELDS: dict[ResourceType, Callable[[Json], dict[str, str]]] = {
    PODS: _pod_fields,
    NODES: _node_fields,
    JOBS: _job_fields,
    NAMESPACES: _namespace_fields,
    EVENTS: _event_fields,
}


def facts_of(resource: ResourceType, obj: Json) -> Facts:
    name, namespace = name_of(obj), namespace_of(obj)
    more = _FIELDS[resource](obj) if resource in _FIELDS else {}
    fields = {"metadata.name": name, "metadata.namespace": namespace, **more}
    return Facts(namespace, obj["metadata"].get("labels") or {}, fields)


_METADATA_FIELDS = ["metadata.name", "metadata.namespace"]
_EXAMPLE: Json = {"metadata": {"name": ""}, "spec": {}}


def known_fields(resource: ResourceType) -> list[str]:
    return sorted(facts_of(resource, _EXAMPLE).fields) if resource in _FIELDS else _METADATA_FIELDS
