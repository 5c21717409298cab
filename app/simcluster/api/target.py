"""The path of a request taken apart: which kind, namespace, object and subresource it is about. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from app.simcluster.api.errors import NoSuchPathError, no_such_resource
from app.simcluster.meta import join_key
from app.simcluster.resources import ALL, ResourceType

_RESOURCES = {(resource.group, resource.version, resource.plural): resource for resource in ALL}
_VERSIONS = {(resource.group, resource.version) for resource in ALL}
_PATH = re.compile(
    r"^/api(?:s/(?P<group>[^/]+))?/(?P<version>[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/(?!status$|finalize$)[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[^/]+))?)?/?$"
)


@dataclass(frozen=True, slots=True)
class Target:
    resource: ResourceType
    namespace: str = ""
    name: str = ""
    sub: str = ""

    @property
    def key(self) -> str:
        return join_key(self.namespace, self.name)


def parse_target(path: str) -> Target:
    match = _PATH.match(path)
    parts = {name: unquote(value or "") for name, value in match.groupdict().items()} if match else {}
    if (parts.get("group"), parts.get("version")) not in _VERSIONS:
        raise NoSuchPathError
    resource = _RESOURCES.get((parts["group"], parts["version"], parts["plural"]))
    if resource is None or (parts["sub"] and parts["sub"] not in resource.subresources):
        raise no_such_resource()
    misplaced = parts["namespace"] and not resource.namespaced
    if misplaced or (resource.namespaced and parts["name"] and not parts["namespace"]):
        raise no_such_resource()
    return Target(resource, parts["namespace"], parts["name"], parts["sub"])
