"""Subscription: an organization's events, replayed from a cursor and then live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

import strawberry

from app.auth import TRUSTED_SECONDS
from app.bus import LOOK_AGAIN_SECONDS
from app.commands.context import open_gpu_workloads
from app.domain.people import Organization, Permission
from app.graphql.context import Info
from app.graphql.cursors import parse_event_cursor
from app.graphql.nodes.workload import WorkloadEvent
from app.store import reads

_BATCH = 200


@strawberry.type(description="What can be followed, over graphql-transport-ws.")
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
        found = await _open(info, organization)
        sequence = await reads.last_event_sequence(found.id) if after is None else parse_event_cursor(after)
        bus, clock = info.context.services.commands.bus, info.context.services.commands.clock
        checked_at = clock.monotonic()
        with bus.following(found.id) as signal:
            while True:
                if clock.monotonic() - checked_at >= TRUSTED_SECONDS:
                    await _open(info, organization)
                    checked_at = clock.monotonic()
                events = await reads.events_after(found.id, sequence, _BATCH)
                for event in events:
                    sequence = event.sequence
                    yield WorkloadEvent.from_domain(event)
                if len(events) < _BATCH:
                    await signal.wait(LOOK_AGAIN_SECONDS)


async def _open(info: Info, slug: str) -> Organization:
    """The organization, if the caller may still read its workloads."""
    return (await open_gpu_workloads(await info.context.caller(), slug, Permission.READ_WORKLOADS)).organization
