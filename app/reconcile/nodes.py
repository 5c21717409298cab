"""Servers on record: what the cluster shows of its nodes is written down, and stays when a node goes."""

from __future__ import annotations

from dataclasses import dataclass

from app.clock import Clock
from app.cluster.projection import Projection
from app.reconcile.schedule import pool_owner
from app.store import people, servers


@dataclass(frozen=True)
class NodeRecorder:
    projection: Projection
    clock: Clock

    async def record(self) -> bool:
        """True once done; False while the cluster has not been listed yet."""
        if not self.projection.synced:
            return False
        owner = pool_owner(await people.organizations())
        nodes = [(node, owner(node)) for node in self.projection.nodes.values()]
        await servers.record_nodes(nodes, self.clock.now())
        return True
