"""Servers on record: what the cluster shows of its nodes is written down, and stays when a node goes."""

from __future__ import annotations

from dataclasses import dataclass

from app.clock import Clock
from app.reconcile.clusters import Cluster
from app.reconcile.planning import pool_owner
from app.store import people, servers


@dataclass(frozen=True)
class NodeRecorder:
    cluster: Cluster
    clock: Clock

    async def record(self) -> bool:
        """True once done; False while it is not known what the cluster has."""
        if not self.cluster.is_current:
            return False
        owner = pool_owner(await people.organizations())
        nodes = [(node, owner(node)) for node in self.cluster.projection.nodes.values()]
        await servers.record_nodes(self.cluster.name, nodes, self.clock.now())
        return True
