"""What is free right now, for whoever shows it: the same sum that placement plans on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.cluster.projection import Projection
from app.domain.observed import ObservedNode
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration
from app.placement.snapshot import ServerCapacity, Snapshot, take_snapshot
from app.reconcile.claims import Claims


@dataclass(frozen=True)
class Board:
    projection: Projection
    claims: Claims
    tolerated: tuple[Toleration, ...] = DEFAULT_TOLERATIONS

    def snapshot(self, pool_of: Callable[[ObservedNode], str]) -> Callable[[], Snapshot]:
        """Copy the facts now; the sum is made by whoever calls the result, on any thread."""
        nodes, pods = tuple(self.projection.nodes.values()), tuple(self.projection.bound_pods())
        claims = self.claims.open()
        return lambda: take_snapshot(nodes, pods, claims, pool_of, tolerated=self.tolerated)

    def servers(self) -> dict[str, ServerCapacity]:
        """By name; a server that the cluster does not show now is missing."""
        return {server.name: server for server in self.snapshot(lambda node: node.pool)().servers}
