"""The tokens of node agents, made, listed and revoked by an operator."""

from __future__ import annotations

from uuid import uuid4

import pytest

from app.commands import agent_tokens
from app.domain.agents import AgentBinding
from app.domain.errors import InvalidInputError, NotFoundError
from app.domain.people import Scope
from app.store import people
from app.store.database import Database
from tests.clock import START

SECRET = "5" * 64


async def test_a_token_stands_for_its_node_and_nothing_else(database: Database):
    await agent_tokens.create_agent_token(AgentBinding("default", "gpu-1"), SECRET, START)
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert (principal.roles, principal.scopes) == ({}, frozenset({Scope.AGENT_REPORT}))
    assert principal.agent == AgentBinding("default", "gpu-1")


async def test_tokens_are_listed_and_revoked(database: Database):
    for number, node in enumerate(("gpu-2", "gpu-1", "")):
        await agent_tokens.create_agent_token(AgentBinding("default", node), str(number) * 64, START)
    listed = await agent_tokens.list_agent_tokens()
    assert [agent_tokens.whose(it.binding) for it in listed] == ["default/*", "default/gpu-1", "default/gpu-2"]
    await agent_tokens.revoke_agent_token(listed[0].id, START)
    await agent_tokens.revoke_agent_token(listed[0].id, START)
    assert [it.revoked_at for it in await agent_tokens.list_agent_tokens()] == [START, None, None]
    assert await people.principal_of_token("2" * 64, START) is None


async def test_only_agents_tokens_are_revoked_so(database: Database):
    with pytest.raises(NotFoundError, match="list-agent-tokens"):
        await agent_tokens.revoke_agent_token(uuid4(), START)


@pytest.mark.parametrize(("cluster", "node"), [("", "gpu-1"), ("De", "gpu-1"), ("default", "gpu_1"), ("default", "*")])
async def test_a_name_that_is_none_is_refused(database: Database, cluster: str, node: str):
    with pytest.raises(InvalidInputError, match="is no name of a"):
        await agent_tokens.create_agent_token(AgentBinding(cluster, node), SECRET, START)
