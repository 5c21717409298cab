"""Node agents: what an agent's token is bound to, and what its silence means. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True)
class AgentBinding:
    """What an agent's token may report for: one node of a cluster, or with an empty `node` any node of it."""

    cluster: str
    node: str = ""

    def covers(self, node: str) -> bool:
        return self.node in ("", node)


@dataclass(frozen=True)
class AgentToken:
    """A node agent's credential, without its secret."""

    id: UUID
    name: str
    binding: AgentBinding
    created_at: datetime
    revoked_at: datetime | None


class Freshness(StrEnum):
    """How long ago a server's agent was last heard."""

    FRESH = "fresh"
    STALE = "stale"
    LOST = "lost"

    @property
    def meaning(self) -> str:
        return _FRESHNESS_MEANINGS[self]


_FRESHNESS_MEANINGS = {
    Freshness.FRESH: "the agent reports as it should",
    Freshness.STALE: "no report came for longer than the setting allows; nothing new is placed on the server",
    Freshness.LOST: "no report came for so long that nobody should wait for one",
}


class InventorySource(StrEnum):
    """Whose count of GPUs is needed before anything is placed on a server."""

    AGENT = "agent"  # a server without a fresh report of its agent offers nothing
    CLUSTER = "cluster"  # the cluster's count stands where no agent runs


@dataclass(frozen=True)
class AgentPolicy:
    """Settings about reports, in seconds: how often agents shall report, and when silence makes them stale or lost."""

    interval: float = 15.0
    stale_after: float = 90.0
    lost_after: float = 900.0

    def freshness(self, last_report_at: datetime, now: datetime) -> Freshness:
        silent = (now - last_report_at).total_seconds()
        if silent > self.lost_after:
            return Freshness.LOST
        return Freshness.STALE if silent > self.stale_after else Freshness.FRESH


@dataclass(frozen=True)
class Heard:
    """Which report of a server was the last that counted: of which process of the agent, and its number there."""

    agent_id: str
    started_at: datetime
    sequence: int
    received_at: datetime

    def is_late(self, other: Heard, stale_after: float) -> bool:
        """Whether `other`, which comes now, is older than this one and must not overwrite it.

        The start of another process is believed to be older only while this one is heard from: a clock that was set
        back between two starts must not silence a server for good.
        """
        if other.agent_id == self.agent_id:
            return other.sequence <= self.sequence
        is_heard = other.received_at - self.received_at <= timedelta(seconds=stale_after)
        return is_heard and other.started_at < self.started_at


@dataclass(frozen=True)
class SamplePolicy:
    """Settings of retention, in seconds: of samples as they came, of one a minute, of any, and of who had which GPU."""

    full_for: float = 2 * 86400
    by_minute_for: float = 30 * 86400
    kept_for: float = 365 * 86400
    history_kept_for: float = 365 * 86400
