"""What node agents say of their servers, read anew whenever something is planned or shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.report import DriverState
from app.clock import Clock, SystemClock
from app.domain.agents import AgentPolicy, Freshness, InventorySource
from app.domain.server import ServerId
from app.domain.wording import because
from app.placement.counting import AgentCount, Reports
from app.store import agents
from app.store.agents import AgentRecord


@dataclass
class AgentInventory:
    """`refresh` reads; everything else speaks of what was read last."""

    source: InventorySource = InventorySource.CLUSTER
    policy: AgentPolicy = field(default_factory=AgentPolicy)
    clock: Clock = field(default_factory=SystemClock)
    _agents: Mapping[ServerId, AgentRecord] = field(default_factory=dict)

    async def refresh(self) -> None:
        self._agents = await agents.all_agents()

    def agent_of(self, server: ServerId) -> AgentRecord | None:
        return self._agents.get(server)

    def counts(self, server: ServerId) -> bool:
        """Whether the server's count of healthy GPUs is more than the want of a report."""
        agent = self._agents.get(server)
        is_heard = agent is not None and agent.has_inventory and self.freshness(agent) is Freshness.FRESH
        return is_heard or self.source is InventorySource.CLUSTER

    def freshness(self, agent: AgentRecord) -> Freshness:
        return self.policy.freshness(agent.received_at, self.clock.now())

    def reports(self, cluster: str) -> Reports:
        """Of one cluster's nodes, as placement counts them."""
        told = ((it, agent) for it, agent in self._agents.items() if it.cluster == cluster and agent.has_inventory)
        counts = {it.name: self._count(agent) for it, agent in told}
        return Reports(counts, self.source is InventorySource.AGENT)

    def _count(self, agent: AgentRecord) -> AgentCount:
        why = (
            ""
            if agent.driver_state is DriverState.OK
            else f"without usable GPUs: {agent.driver_state.meaning}{because(agent.driver_message)}"
        )
        return AgentCount(agent.gpus_offered, self.freshness(agent) is Freshness.FRESH, why)
