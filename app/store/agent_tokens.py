"""The tokens of node agents. They lie among the other tokens, bound to a cluster and, but for shared ones, a node."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from app.domain.agents import AgentBinding, AgentToken
from app.domain.people import Scope
from app.store.models import TokenRow


async def add_agent_token(secret_hash: str, name: str, binding: AgentBinding, at: datetime) -> UUID:
    row = await TokenRow.create(
        secret_hash=secret_hash,
        name=name,
        scopes=[Scope.AGENT_REPORT.value],
        created_at=at,
        agent_cluster=binding.cluster,
        agent_node=binding.node,
    )
    return row.id


async def agent_tokens() -> list[AgentToken]:
    """All of them, revoked ones too, by cluster and node, the newest first."""
    rows = await TokenRow.exclude(agent_cluster="").order_by("agent_cluster", "agent_node", "-created_at")
    return [
        AgentToken(row.id, row.name, AgentBinding(row.agent_cluster, row.agent_node), row.created_at, row.revoked_at)
        for row in rows
    ]


async def revoke_agent_token(token_id: UUID, at: datetime) -> bool:
    """Whether there is such a token of an agent; one that was revoked before stays as it was."""
    token = TokenRow.filter(id=token_id).exclude(agent_cluster="")
    await token.filter(revoked_at=None).update(revoked_at=at)
    return await token.exists()
