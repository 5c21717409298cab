"""How many of a node's GPUs count: those that the cluster offers, those that its node agent knows to work, or the less.

Called by `app.placement.snapshot`. The cluster's number falls when the device plugin sees a device fail, the agent's
when the agent does; whoever sees less is believed. Slices (MIG, shared GPUs) are left as the cluster counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.domain.observed import ObservedNode
from app.domain.wording import gpus, plural

NEVER_REPORTED = "without a report of a node agent"
NOT_FRESH = "without a fresh report of its node agent"


@dataclass(frozen=True, slots=True)
class AgentCount:
    """A node agent's word: the whole GPUs that work. `why_none` reads after "is": why its word offers none at all."""

    whole_gpus: int
    is_fresh: bool = True
    why_none: str = ""


@dataclass(frozen=True, slots=True)
class Reports:
    """What the agents of one cluster's nodes said. `required`: a node without a fresh report offers nothing."""

    by_node: Mapping[str, AgentCount] = field(default_factory=dict)
    required: bool = False

    def counted(self, node: ObservedNode) -> ObservedNode:
        """The node with the GPUs that count as allocatable."""
        agent = self.by_node.get(node.name)
        if agent is None or not agent.is_fresh:
            nothing = tuple((resource, 0) for resource, _ in node.allocatable_gpus)
            return replace(node, allocatable_gpus=nothing) if self.required else node
        return replace(node, allocatable_gpus=_at_most(node, agent.whole_gpus))

    def why_nothing(self, node: ObservedNode) -> str:
        """Why the node offers no GPU, empty where it may. One without GPUs needs no agent."""
        agent = self.by_node.get(node.name)
        if not node.gpu_total:
            return ""
        if agent is None:
            return NEVER_REPORTED if self.required else ""
        if not agent.is_fresh:
            return NOT_FRESH if self.required else ""
        return agent.why_none

    def note(self, node: ObservedNode) -> str:
        """In words, where both count whole GPUs and differ; where they are shared, the cluster has none to compare."""
        agent = self.by_node.get(node.name)
        whole = [count for resource, count in node.allocatable_gpus if node.is_whole(resource)]
        offered = sum(whole)
        if agent is None or not agent.is_fresh or agent.whole_gpus == offered:
            return ""
        if not whole and any(node.device(resource).kind.is_shared for resource, _ in node.allocatable_gpus):
            return ""
        known = f"the node agent knows {plural(agent.whole_gpus, 'whole GPU')} in order"
        return f"the cluster offers {gpus(offered)}, {known}; the smaller number counts"


NO_AGENTS = Reports()


def _at_most(node: ObservedNode, whole: int) -> tuple[tuple[str, int], ...]:
    """What it offers, with so many whole GPUs at most, taken from the names that have most of them."""
    counts = dict(node.allocatable_gpus)
    names = [resource for resource in counts if node.is_whole(resource)]
    while sum(counts[it] for it in names) > whole:
        counts[max(names, key=lambda it: (counts[it], it))] -= 1
    return tuple(counts.items())
