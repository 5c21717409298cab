"""servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

import strawberry

from app.auth.trust import Trust
from app.graphql.context import Info
from app.graphql.nodes.server import Server, servers_of
from app.graphql.subscriptions.rights import open_organization

_PAUSE = 1.0  # seconds between two looks: what is free changes with every pod of the cluster


async def servers(
    info: Info,
    organization: Annotated[str, strawberry.argument(description="Slug of the organization.")],
) -> AsyncGenerator[list[Server], None]:
    await open_organization(info, organization)
    trust = Trust(info.context.services.commands.clock, lambda: open_organization(info, organization))
    told: list[Server] | None = None
    while True:
        await trust.renew()
        now = await servers_of(info, organization)
        if now != told:
            yield now
            told = now
        await asyncio.sleep(_PAUSE)
