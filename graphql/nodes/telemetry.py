"""Numbers of this moment about an organization, and its use of GPUs over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import strawberry

from app.domain.tallies import Group, TallyGroup, TallyType
from app.domain.usage import UsageGroup, periods, used
from app.graphql.context import Info
from app.graphql.enums import Period, TelemetryType
from app.graphql.scalars import Long
from app.reconcile.numbers import Numbers, window
from app.store import curves, tallies


@strawberry.type(description="What a number is about.")
class NumberGroup:
    key: str = strawberry.field(description="Name of the group, as it was asked for, in lower case.")
    value: str = strawberry.field(description="Empty where there is none, as for workloads without a project.")


@strawberry.type(description="One number.")
class TelemetryValue:
    value: float = strawberry.field(description="The number.")
    groups: list[NumberGroup] = strawberry.field(description="What it is about, in the order that was asked for.")


@strawberry.type(description="Numbers of one moment.")
class Telemetry:
    type: TelemetryType = strawberry.field(description="What they are.")
    timestamp: datetime = strawberry.field(description="The moment.")
    values: list[TelemetryValue] = strawberry.field(description="Sorted by group; without groups there is one.")


@strawberry.type(description="GPU-seconds: how long GPUs were allocated, from being placed to the attempt's end.")
class Usage:
    start: datetime = strawberry.field(description="Where the period begins.")
    end: datetime = strawberry.field(description="Where it ends; what is still to come of it counts nothing.")
    groups: list[NumberGroup] = strawberry.field(description="Whose, in the order that was asked for.")
    gpu_seconds: Long = strawberry.field(description="Seconds, each times the number of GPUs.")
    workloads: int = strawberry.field(description="Of how many workloads.")


async def telemetry_of(
    info: Info,
    organization: tuple[UUID, str],
    wanted: TallyType,
    by: Sequence[TallyGroup],
    cluster: str | None,
    window_seconds: int,
) -> Telemetry:
    """Of an organization by id and slug. Raises InvalidInputError."""
    services = info.context.services
    now = services.commands.clock.now()
    numbers = await Numbers(services.board, organization, now, cluster, window_seconds).tally(wanted, by)
    keys = ["waited"] if wanted is TallyType.PENDING_TIME else [it.value for it in by]
    values = [TelemetryValue(value=value, groups=_groups(keys, group)) for group, value in numbers.items()]
    return Telemetry(type=wanted, timestamp=now, values=values)


def _groups(keys: Sequence[str], values: Group) -> list[NumberGroup]:
    return [NumberGroup(key=key, value=value) for key, value in zip(keys, values, strict=True)]


async def idle_of(info: Info, workload_id: UUID, window_seconds: int) -> int | None:
    """How many of a workload's GPUs are known to be idle; None where it has none that is known."""
    idle_for = window(window_seconds)
    holdings = [it for it in await info.context.loaders.holdings.load(workload_id) if it.until is None]
    now = info.context.services.commands.clock.now()
    return len(await curves.idle_holdings(holdings, now, idle_for)) if holdings else None


async def usage_of(
    organization_id: UUID,
    start: datetime,
    end: datetime,
    period: Period | None,
    by: Sequence[UsageGroup],
    now: datetime,
) -> list[Usage]:
    """Raises InvalidInputError."""
    parts = periods(start, end, period)
    found = used(await tallies.stretches(organization_id, start, end), parts, by, now)
    keys = [it.value for it in by]
    return [
        Usage(
            start=it.start,
            end=it.end,
            groups=_groups(keys, it.group),
            gpu_seconds=Long(it.gpu_seconds),
            workloads=it.workloads,
        )
        for it in found
    ]
