"""workloadLogs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated
from uuid import UUID

import strawberry

from app.auth.trust import Trust
from app.domain.log_walk import Place
from app.graphql.context import Info
from app.graphql.cursors import parse_log_cursor
from app.graphql.nodes.log import WorkloadLogChunk
from app.graphql.subscriptions.rights import open_own_workload
from app.reconcile.log_follower import follow


async def workload_logs(
    info: Info,
    id: Annotated[UUID, strawberry.argument(description="Which workload.")],  # noqa: A002 — the contract's name
    after: Annotated[
        str | None, strawberry.argument(description="Cursor of the last piece seen; without it, from the start.")
    ] = None,
) -> AsyncGenerator[WorkloadLogChunk, None]:
    workload = await open_own_workload(info, id)
    place = Place(0) if after is None else parse_log_cursor(after, id)
    commands, logs = info.context.services.commands, info.context.services.logs
    trust = Trust(commands.clock, lambda: open_own_workload(info, id))
    async with aclosing(follow(logs, commands.bus, workload, place)) as chunks:
        async for chunk in chunks:
            await trust.renew()
            if chunk is not None:
                yield WorkloadLogChunk.of(id, chunk)
