"""Subscription: an organization's events and a workload's log, replayed from a cursor and then live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated
from uuid import UUID

import strawberry

from app.auth import TRUSTED_SECONDS
from app.bus import LOOK_AGAIN_SECONDS
from app.commands.change_workload import open_workload, organization_of
from app.commands.context import open_gpu_workloads
from app.domain.log_walk import Place
from app.domain.people import Organization, Permission, unknown_workload
from app.domain.workload import Workload
from app.graphql.context import Info
from app.graphql.cursors import parse_event_cursor, parse_log_cursor
from app.graphql.nodes.log import WorkloadLogChunk
from app.graphql.nodes.workload import WorkloadEvent
from app.reconcile.log_follower import follow
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

    @strawberry.subscription(
        description="A workload's log from its beginning, or from a cursor: live, over all attempts, to its end."
    )
    async def workload_logs(
        self,
        info: Info,
        id: Annotated[UUID, strawberry.argument(description="Which workload.")],  # noqa: A002 — the contract's name
        after: Annotated[
            str | None, strawberry.argument(description="Cursor of the last piece seen; without it, from the start.")
        ] = None,
    ) -> AsyncGenerator[WorkloadLogChunk, None]:
        workload = await _open_workload(info, id)
        place = Place(0) if after is None else parse_log_cursor(after, id)
        commands, logs = info.context.services.commands, info.context.services.logs
        checked_at = commands.clock.monotonic()
        async with aclosing(follow(logs, commands.bus, workload, place)) as chunks:
            async for chunk in chunks:
                if commands.clock.monotonic() - checked_at >= TRUSTED_SECONDS:
                    await _open_workload(info, id)
                    checked_at = commands.clock.monotonic()
                if chunk is not None:
                    yield WorkloadLogChunk.of(id, chunk)


async def _open(info: Info, slug: str) -> Organization:
    """The organization, if the caller may still read its workloads."""
    return (await open_gpu_workloads(await info.context.caller(), slug, Permission.READ_WORKLOADS)).organization


async def _open_workload(info: Info, workload_id: UUID) -> Workload:
    """The workload, if the caller may still read those of its organization."""
    slug = await organization_of(workload_id)
    await open_workload(await info.context.caller(), slug, workload_id, Permission.READ_WORKLOADS)
    if (workload := await reads.load_workload(workload_id)) is None:
        raise unknown_workload(workload_id)
    return workload
