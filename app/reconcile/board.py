"""What is free right now, for whoever shows it: the same sum that placement plans on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.domain.observed import ObservedNode
from app.domain.server import ServerId
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration
from app.placement import words
from app.placement.snapshot import ServerCapacity, Snapshot, take_snapshot
from app.reconcile.claims import Claims
from app.reconcile.clusters import Cluster

PoolOf = Callable[[ObservedNode], str]


@dataclass(frozen=True)
class Board:
    clusters: Sequence[Cluster]
    claims: Claims
    tolerated: tuple[Toleration, ...] = DEFAULT_TOLERATIONS

    @property
    def names_clusters(self) -> bool:
        """Whether there are several, so that people must be told which."""
        return len(self.clusters) > 1

    def snapshot(self, pool_of: PoolOf, others: Iterable[ServerCapacity] = ()) -> Callable[[], Snapshot]:
        """Copy the facts of the clusters that may be planned on; whoever calls the result makes the sum, on any thread.

        `others` are servers known from elsewhere.
        """
        parts = [self._part(cluster, pool_of) for cluster in self.clusters if cluster.is_current]
        return lambda: Snapshot.of([*others, *(server for part in parts for server in part().servers)])

    def _part(self, cluster: Cluster, pool_of: PoolOf) -> Callable[[], Snapshot]:
        nodes, pods = tuple(cluster.projection.nodes.values()), tuple(cluster.projection.bound_pods())
        claims = self.claims.open(cluster.name)
        return lambda: take_snapshot(nodes, pods, claims, pool_of, cluster=cluster.name, tolerated=self.tolerated)

    def servers(self) -> dict[ServerId, ServerCapacity]:
        """A server that its cluster does not show now is missing, and so are all of a cluster that does not answer."""
        answering = [cluster for cluster in self.clusters if cluster.contact.lost is None]
        parts = [self._part(cluster, lambda node: node.pool) for cluster in answering]
        return {server.id: server for part in parts for server in part().servers}

    def cuda_of(self, server: ServerId) -> str:
        """The highest CUDA version that the server's driver was made for, as its node says; empty where it doesn't."""
        found = (it.projection.nodes.get(server.name) for it in self.clusters if it.name == server.cluster)
        node = next(found, None)
        return node.cuda if node else ""

    def why_unseen(self, cluster: str) -> str:
        """Why a server on record in that cluster is not among `servers`."""
        found = next((it for it in self.clusters if it.name == cluster), None)
        if found is None:
            return words.not_in_settings(cluster)
        return words.NOT_SHOWN if found.contact.lost is None else self.no_answer(cluster)

    def no_answer(self, cluster: str) -> str:
        return words.no_answer(cluster if self.names_clusters else "")
