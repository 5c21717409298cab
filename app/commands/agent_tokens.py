"""What an operator does about the tokens of node agents, at the machine. Secrets come in hashed."""

from __future__ import annotations

import re
from datetime import datetime
from uuid import UUID

from app.commands.administer import note
from app.domain.agents import AgentBinding, AgentToken
from app.domain.dns_names import DNS_LABEL, DNS_NAME, LONGEST_DNS_NAME
from app.domain.errors import InvalidInputError, NotFoundError
from app.store import agent_tokens


async def create_agent_token(binding: AgentBinding, secret_hash: str, at: datetime) -> UUID:
    """A token that can do nothing but report for that node, or with an empty node for any node of the cluster."""
    if not re.fullmatch(DNS_LABEL, binding.cluster):
        raise InvalidInputError.of("cluster", f"{binding.cluster[:80]!r} is no name of a cluster")
    if binding.node and (len(binding.node) > LONGEST_DNS_NAME or not re.fullmatch(DNS_NAME, binding.node)):
        raise InvalidInputError.of("node", f"{binding.node[:80]!r} is no name of a node")
    token = await agent_tokens.add_agent_token(secret_hash, whose(binding), binding, at)
    await note(at, "create_agent_token", detail=whose(binding), target=str(token))
    return token


def whose(binding: AgentBinding) -> str:
    return f"{binding.cluster}/{binding.node or '*'}"


async def list_agent_tokens() -> list[AgentToken]:
    return await agent_tokens.agent_tokens()


async def revoke_agent_token(token_id: UUID, at: datetime) -> None:
    """Its reports are refused from now on. Asking again changes nothing."""
    if not await agent_tokens.revoke_agent_token(token_id, at):
        raise NotFoundError(f"there is no agent token {token_id}; 'gpuyard admin list-agent-tokens' shows them")
    await note(at, "revoke_agent_token", target=str(token_id))
