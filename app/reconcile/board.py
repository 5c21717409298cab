"""What is free right now, for whoever shows it: the same sum that placement plans on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from app.domain.observed import ObservedNode
from app.domain.server import NO_FLAGS, ServerFlags, ServerId
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration
from app.placement import words
from app.placement.snapshot import ServerCapacity, Snapshot, take_snapshot
from app.reconcile.claims import Claims
from app.reconcile.clusters import Cluster
from app.reconcile.inventory import AgentInventory
from app.store.servers import ServerRecord

PoolOf = Callable[[ObservedNode], str]
Flags = Mapping[ServerId, ServerFlags]
NOTHING_FLAGGED: Flags = MappingProxyType({})


@dataclass(frozen=True)
class Board:
    clusters: Sequence[Cluster]
    claims: Claims
    tolerated: tuple[Toleration, ...] = DEFAULT_TOLERATIONS
    inventory: AgentInventory = field(default_factory=AgentInventory)

    @property
    def names_clusters(self) -> bool:
        """Whether there are several, so that people must be told which."""
        return len(self.clusters) > 1

    def snapshot(
        self, pool_of: PoolOf, others: Iterable[ServerCapacity] = (), flags: Flags = NOTHING_FLAGGED
    ) -> Callable[[], Snapshot]:
        """Copy the facts of the clusters that may be planned on; whoever calls the result makes the sum, on any thread.

        `others` are servers known from elsewhere. What `flags` say of a server wins over its node.
        """
        parts = [self._part(cluster, pool_of, flags) for cluster in self.clusters if cluster.is_current]
        return lambda: Snapshot.of([*others, *(server for part in parts for server in part().servers)])

    def _part(self, cluster: Cluster, pool_of: PoolOf, flags: Flags) -> Callable[[], Snapshot]:
        nodes, pods = tuple(cluster.projection.nodes.values()), tuple(cluster.projection.bound_pods())
        claims, name = self.claims.open(cluster.name), cluster.name
        reports = self.inventory.reports(name)

        def owner(node: ObservedNode) -> str:
            return flags.get(ServerId(node.name, name), NO_FLAGS).assigned_to or pool_of(node)

        flagged = ((node, flags.get(ServerId(node.name, name), NO_FLAGS).cordon) for node in nodes if flags)
        closed = {node.name: cordon.told_to(owner(node)).words for node, cordon in flagged if cordon}
        return lambda: take_snapshot(
            nodes, pods, claims, owner, cluster=name, tolerated=self.tolerated, closed=closed, reports=reports
        )

    def servers(self) -> dict[ServerId, ServerCapacity]:
        """Without our flags. A server that its cluster does not show now is missing, and so are all of a cluster that
        does not answer.
        """
        answering = [cluster for cluster in self.clusters if cluster.contact.lost is None]
        parts = [self._part(cluster, lambda node: node.pool, NOTHING_FLAGGED) for cluster in answering]
        return {server.id: server for part in parts for server in part().servers}

    def cuda_of(self, server: ServerId) -> str:
        """The highest CUDA version that the server's driver was made for, as its node says; empty where it doesn't."""
        found = (it.projection.nodes.get(server.name) for it in self.clusters if it.name == server.cluster)
        node = next(found, None)
        return node.cuda if node else ""

    def why_unusable(self, record: ServerRecord, seen: ServerCapacity | None) -> str:
        """Why nothing may be placed on a server on record; empty where it may. `seen` is what `servers` says of it."""
        if seen is None:
            return self.why_unseen(record.cluster)
        return record.cordon.words if record.cordon else seen.unusable

    def why_unseen(self, cluster: str) -> str:
        """Why a server on record in that cluster is not among `servers`."""
        found = next((it for it in self.clusters if it.name == cluster), None)
        if found is None:
            return words.not_in_settings(cluster)
        return words.NOT_SHOWN if found.contact.lost is None else self.no_answer(cluster)

    def no_answer(self, cluster: str) -> str:
        return words.no_answer(cluster if self.names_clusters else "")
