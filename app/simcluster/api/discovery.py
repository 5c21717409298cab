"""What the server says it can do: versions, groups, kinds, and just enough of an OpenAPI document that kubectl
leaves validation to the server. Pure."""

from __future__ import annotations

from app.simcluster.fleet import VERSION
from app.simcluster.meta import Json
from app.simcluster.resources import ALL, ResourceType

AGGREGATED = "apidiscovery.k8s.io"
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_SUB_VERBS = {"status": ["get", "patch", "update"], "log": ["get"], "binding": ["create"], "eviction": ["create"]}
_SUB_KINDS = {"eviction": ("policy", "v1", "Eviction"), "binding": ("", "v1", "Binding")}


def version() -> Json:
    major, minor, _ = VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{VERSION}+simcluster",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def groups() -> list[str]:
    return sorted({resource.group for resource in ALL if resource.group})


def core_versions() -> Json:
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list() -> Json:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups()]}


def group(name: str) -> Json:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def _group(name: str) -> Json:
    entry = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [entry], "preferredVersion": entry}


def resource_list(name: str) -> Json:
    resources = [entry for resource in ALL if resource.group == name for entry in _entries(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/v1" if name else "v1",
        "resources": resources,
    }


def _entries(resource: ResourceType) -> list[Json]:
    main: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    return [main, *(_sub_entry(resource, sub) for sub in resource.subresources)]


def _sub_entry(resource: ResourceType, sub: str) -> Json:
    entry: Json = {
        "name": f"{resource.plural}/{sub}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _SUB_VERBS[sub],
    }
    if sub in _SUB_KINDS:
        entry["group"], entry["version"], entry["kind"] = _SUB_KINDS[sub]
    return entry


def aggregated(names: list[str]) -> Json:
    """The whole of a discovery root in one document."""
    items = [{"metadata": {"name": name or None}, "versions": [_aggregated_version(name)]} for name in names]
    for item in items:
        if item["metadata"] == {"name": None}:
            item["metadata"] = {}
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/v2", "metadata": {}, "items": items}


def _aggregated_version(name: str) -> Json:
    resources = [_aggregated_resource(resource) for resource in ALL if resource.group == name]
    return {"version": "v1", "resources": resources, "freshness": "Current"}


def _aggregated_resource(resource: ResourceType) -> Json:
    entry: Json = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _VERBS,
        "subresources": [_aggregated_sub(resource, sub) for sub in resource.subresources],
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _aggregated_sub(resource: ResourceType, sub: str) -> Json:
    kind = _SUB_KINDS.get(sub, (resource.group, resource.version, resource.kind))
    return {"subresource": sub, "responseKind": _kind(*kind), "verbs": _SUB_VERBS[sub]}


def _kind(group_name: str, version_name: str, kind: str) -> Json:
    return {"group": group_name, "version": version_name, "kind": kind}


# OpenAPI v3


def openapi_root() -> Json:
    paths = {root_of(name): {"serverRelativeURL": f"/openapi/v3/{root_of(name)}"} for name in ["", *groups()]}
    return {"paths": paths}


def root_of(name: str) -> str:
    return f"apis/{name}/v1" if name else "api/v1"


def openapi(name: str) -> Json:
    """Says of each kind that the server checks its fields, and lets every field pass."""
    resources = [resource for resource in ALL if resource.group == name]
    return {
        "openapi": "3.0.0",
        "info": {"title": "GPUYard simulated cluster", "version": VERSION},
        "paths": {_path(resource): _operations(resource) for resource in resources},
        "components": {"schemas": {_schema_name(resource): _schema(resource) for resource in resources}},
    }


def _path(resource: ResourceType) -> str:
    place = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"/{root_of(resource.group)}{place}/{resource.plural}/{{name}}"


def _operations(resource: ResourceType) -> Json:
    names = ("dryRun", "fieldManager", "fieldValidation")
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    operation = {
        "operationId": f"patch{resource.kind}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-group-version-kind": _kind(resource.group, resource.version, resource.kind),
        "x-kubernetes-action": "patch",
    }
    return {"patch": operation}


def _schema_name(resource: ResourceType) -> str:
    return f"simcluster.{resource.group.replace('.', '_') or 'core'}.v1.{resource.kind}"


def _schema(resource: ResourceType) -> Json:
    return {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-group-version-kind": [_kind(resource.group, resource.version, resource.kind)],
    }
