"""workloadStatus."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated
from uuid import UUID

import strawberry

from app.auth.trust import Trust
from app.domain.workload import Event
from app.graphql.context import Info
from app.graphql.nodes.workload import Workload
from app.graphql.subscriptions.rights import open_own_workload
from app.graphql.subscriptions.tail import tail
from app.store import reads


async def workload_status(
    info: Info,
    id: Annotated[UUID, strawberry.argument(description="Which workload.")],  # noqa: A002 — the contract's name
) -> AsyncGenerator[Workload, None]:
    services = info.context.services
    organization_id = (await open_own_workload(info, id)).organization_id
    trust = Trust(services.commands.clock, lambda: open_own_workload(info, id))
    last = await reads.last_event_sequence(organization_id)
    with services.feeds.following(organization_id, last) as feed:
        async with aclosing(tail(feed, last, trust)) as batches:
            while noun := await reads.load_workload(id):  # as it is at that number, or later
                yield Workload.from_domain(noun)
                if noun.status.is_terminal:
                    return
                await _news_of(id, batches)


async def _news_of(workload_id: UUID, batches: AsyncGenerator[Sequence[Event], None]) -> None:
    """Return once there is an event of this workload."""
    async for events in batches:
        if any(event.workload_id == workload_id for event in events):
            return
