"""workloadStatus."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated
from uuid import UUID

import strawberry

from app.bus import LOOK_AGAIN_SECONDS
from app.graphql.context import Info
from app.graphql.nodes.workload import Workload
from app.graphql.subscriptions.rights import Trust, open_own_workload
from app.store import reads

_BATCH = 200


async def workload_status(
    info: Info,
    id: Annotated[UUID, strawberry.argument(description="Which workload.")],  # noqa: A002 — the contract's name
) -> AsyncGenerator[Workload, None]:
    commands = info.context.services.commands
    organization_id = (await open_own_workload(info, id)).organization_id
    trust = Trust(commands.clock, lambda: open_own_workload(info, id))
    with commands.bus.following(organization_id) as signal:
        sequence = await reads.last_event_sequence(organization_id)
        while noun := await reads.load_workload(id):  # as it is at that number, or later
            yield Workload.from_domain(noun)
            if noun.status.is_terminal:
                return
            is_news = False
            while not is_news:
                await trust.renew()
                events = await reads.events_after(organization_id, sequence, _BATCH)
                sequence = events[-1].sequence if events else sequence
                is_news = any(event.workload_id == id for event in events)
                if not is_news and len(events) < _BATCH:
                    await signal.wait(LOOK_AGAIN_SECONDS)
