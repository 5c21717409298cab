"""workloadEvents."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated
from uuid import UUID
from weakref import WeakKeyDictionary

import strawberry

from app.auth.trust import Trust
from app.domain.errors import ResyncRequiredError
from app.domain.event_filters import parse_event_conditions, passes
from app.domain.workload import Event
from app.graphql.context import Info
from app.graphql.cursors import parse_event_cursor
from app.graphql.nodes.workload import WorkloadEvent
from app.graphql.subscriptions.rights import open_organization
from app.graphql.subscriptions.tail import tail
from app.store import reads


async def workload_events(
    info: Info,
    organization: Annotated[str, strawberry.argument(description="Slug of the organization.")],
    after: Annotated[
        str | None, strawberry.argument(description="Cursor of the last event seen; without it, from now on.")
    ] = None,
    filter_by: Annotated[
        list[str] | None,
        strawberry.argument(
            description="Only events for which all of these hold, as in `workloads`: `type==ENDED`, `server=^gpu-`. "
            "Fields: workloadId, type, status, phase, reason, message, at, attempt, exitCode, server."
        ),
    ] = None,
) -> AsyncGenerator[WorkloadEvent, None]:
    conditions = parse_event_conditions(filter_by or ())
    found = await open_organization(info, organization)
    services = info.context.services
    last = await reads.last_event_sequence(found.id)
    sequence = last if after is None else _begin(found.id, after, last)
    trust = Trust(services.commands.clock, lambda: open_organization(info, organization))
    with services.feeds.following(found.id, last) as feed:
        async with aclosing(tail(feed, sequence, trust)) as batches:
            async for events in batches:
                for event in events:
                    await trust.renew()  # a reader that takes its time reads no batch for longer than it may
                    if passes(event, conditions):
                        yield _shown(event)


_SHOWN: WeakKeyDictionary[Event, WorkloadEvent] = WeakKeyDictionary()


def _shown(event: Event) -> WorkloadEvent:
    """One object for all who are told of the event at about the same time, so that they can share answers."""
    shown = _SHOWN.get(event)
    if shown is None:
        shown = _SHOWN[event] = WorkloadEvent.from_domain(event)
    return shown


def _begin(organization_id: UUID, after: str, last: int) -> int:
    """Raises InvalidInputError or ResyncRequiredError for a place that isn't one of these events."""
    sequence = parse_event_cursor(after, organization_id)
    if sequence > last:
        raise ResyncRequiredError(organization_id, last)
    return sequence
