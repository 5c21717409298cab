"""Subscription: an organization's events, replayed from a cursor and then live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

import strawberry

from app.commands.context import open_gpu_workloads
from app.domain.people import Permission
from app.graphql.context import Info
from app.graphql.cursors import parse_event_cursor
from app.graphql.nodes.workload import WorkloadEvent
from app.store import reads

_BATCH = 200
_LOOK_AGAIN_SECONDS = 2.0  # another process may have written; a lost wake-up costs no more than this


@strawberry.type
class Subscription:
    @strawberry.subscription(description="Events of all workloads of an organization, each once, in order.")
    async def workload_events(
        self,
        info: Info,
        organization: Annotated[str, strawberry.argument(description="Slug of the organization.")],
        after: Annotated[
            str | None, strawberry.argument(description="Cursor of the last event seen; without it, from now on.")
        ] = None,
    ) -> AsyncGenerator[WorkloadEvent, None]:
        principal = info.context.require_principal()
        access = await open_gpu_workloads(principal, organization, Permission.READ_WORKLOADS)
        organization_id, bus = access.organization.id, info.context.services.commands.bus
        sequence = parse_event_cursor(after) if after else await reads.last_event_sequence(organization_id)
        signal = bus.follow_events(organization_id)
        try:
            while True:
                events = await reads.events_after(organization_id, sequence, _BATCH)
                for event in events:
                    sequence = event.sequence
                    yield WorkloadEvent.from_domain(event)
                if len(events) < _BATCH:
                    await signal.wait(_LOOK_AGAIN_SECONDS)
        finally:
            bus.unfollow_events(organization_id, signal)
