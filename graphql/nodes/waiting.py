"""What a workload waits for and waited for, where it stands, and what would let it start: as the API shows it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Self
from uuid import UUID

import strawberry

from app.domain import waits as domain
from app.domain.wording import waited_for
from app.domain.workload import Workload
from app.graphql.context import Info
from app.graphql.enums import Reason, SuggestedChange
from app.placement.relax import Relaxation
from app.reconcile.forecast import Standing


@strawberry.type(description="A time in which a workload waited for a server, or was suspended, for one reason.")
class Wait:
    reason: Reason = strawberry.field(description="Why.")
    message: str = strawberry.field(description="What was said of it when it began, with the numbers of then.")
    since: datetime = strawberry.field(description="When it began.")
    until: datetime | None = strawberry.field(description="When it was over; null: it is not.")
    seconds: int = strawberry.field(description="How long it lasted, or has lasted until now.")

    @classmethod
    def from_domain(cls, noun: domain.Wait, now: datetime) -> Self:
        seconds = int(noun.lasted(now).total_seconds())
        return cls(reason=noun.reason, message=noun.message, since=noun.since, until=noun.until, seconds=seconds)


@strawberry.type(description="All the times that a workload waited for one reason.")
class WaitTotal:
    reason: Reason = strawberry.field(description="Why.")
    words: str = strawberry.field(description="The reason as it reads behind a time: `for GPUs`.")
    seconds: int = strawberry.field(description="How long in all.")
    times: int = strawberry.field(description="How often it came to that reason.")

    @classmethod
    def from_domain(cls, noun: domain.WaitTotal) -> Self:
        seconds = int(noun.lasted.total_seconds())
        return cls(reason=noun.reason, words=waited_for(noun.reason), seconds=seconds, times=noun.times)


@strawberry.type(description="One change of a request with which it would start now.")
class Suggestion:
    change: SuggestedChange = strawberry.field(description="What is to be asked for otherwise.")
    value: str = strawberry.field(description="The most that may be asked for, as the request's field takes it.")
    server: str = strawberry.field(description="Where it would start.")
    cluster: str = strawberry.field(description="The cluster that the server is in.")
    message: str = strawberry.field(description="The same as a sentence: `fits now on gpu-3 with cpu <= 30`.")

    @classmethod
    def from_domain(cls, noun: Relaxation) -> Self:
        server, message = noun.server, noun.message
        return cls(change=noun.change, value=noun.value, server=server.name, cluster=server.cluster, message=message)


@strawberry.type(
    description="Where a waiting workload stands among those of its organization, as the planner would go on now."
)
class QueuePlace:
    organization_id: strawberry.Private[UUID]
    workload_id: strawberry.Private[UUID]
    relaxations: strawberry.Private[Sequence[Relaxation] | None]  # None: to be asked for
    position: int | None = strawberry.field(
        description="Counted from 1, the next one; null while it stands outside the line, for a pause after a lost try."
    )
    total: int = strawberry.field(description="How many stand in the line.")
    promised_start: datetime | None = strawberry.field(
        description="When it starts at the latest, unless something goes before it; null: nothing can be promised."
    )
    promised_server: str | None = strawberry.field(description="Where that is.")
    promised_cluster: str | None = strawberry.field(description="The cluster that the server is in.")

    @classmethod
    def from_domain(cls, standing: Standing, noun: Workload, relaxations: Sequence[Relaxation] | None = None) -> Self:
        promised = standing.promised
        return cls(
            organization_id=noun.organization_id,
            workload_id=noun.id,
            relaxations=relaxations,
            position=standing.position,
            total=standing.total,
            promised_start=promised.starts_by if promised else None,
            promised_server=promised.server.name if promised else None,
            promised_cluster=promised.server.cluster if promised else None,
        )

    @strawberry.field(description="With which one change it would start now, at most one of each kind. It weighs 1000.")
    async def could_start_now(self, info: Info) -> list[Suggestion]:
        found = self.relaxations
        if found is None:
            found = await info.context.services.forecaster.relaxations(self.organization_id, self.workload_id)
        return [Suggestion.from_domain(noun) for noun in found]


async def queue_place(info: Info, noun: Workload) -> QueuePlace | None:
    """Of a stored workload; None where it does not wait."""
    standing = await info.context.services.forecaster.standing(noun.organization_id, noun.id) if noun.waits else None
    return QueuePlace.from_domain(standing, noun) if standing else None
