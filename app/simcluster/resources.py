"""The kinds the cluster serves. Everything generic (routes, discovery, storage) is driven by this table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ResourceType:
    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As in messages: `pods`, but `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODES = ResourceType("", "v1", "nodes", "node", "Node", False, ("no",), ("status",))
NAMESPACES = ResourceType("", "v1", "namespaces", "namespace", "Namespace", False, ("ns",), ("status",))
PODS = ResourceType("", "v1", "pods", "pod", "Pod", True, ("po",), ("status", "log", "binding", "eviction"), ("all",))
EVENTS = ResourceType("", "v1", "events", "event", "Event", True, ("ev",))
JOBS = ResourceType("batch", "v1", "jobs", "job", "Job", True, (), ("status",), ("all",))
RESOURCEQUOTAS = ResourceType(
    "", "v1", "resourcequotas", "resourcequota", "ResourceQuota", True, ("quota",), ("status",)
)
LEASES = ResourceType("coordination.k8s.io", "v1", "leases", "lease", "Lease", True)

ALL = (NODES, NAMESPACES, PODS, EVENTS, JOBS, LEASES, RESOURCEQUOTAS)
BY_PLURAL = {resource.plural: resource for resource in ALL}
