"""Numbers of this moment about an organization, and its use of GPUs over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import strawberry

from app.domain.errors import InvalidInputError
from app.domain.tallies import Group, ServerFact, TallyGroup, TallyType, check_groups, pending_times, tally
from app.domain.usage import UsageGroup, periods, used
from app.graphql.context import Info
from app.graphql.enums import Period, TelemetryType
from app.graphql.scalars import Long
from app.placement.snapshot import ServerCapacity
from app.store import curves, gpus, servers, tallies
from app.store.gpus import Holding
from app.store.samples import Device
from app.store.servers import ServerRecord

DEFAULT_WINDOW = 900
_SHORTEST, _LONGEST = 60, 86_400
_IDLE = frozenset({TallyType.IDLE_ALLOCATED_GPUS, TallyType.IDLE_ALLOCATED_SERVERS})


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
    window: int,
) -> Telemetry:
    """Of an organization by id and slug. Raises InvalidInputError."""
    check_groups(wanted, by)
    now = info.context.services.commands.clock.now()
    if wanted is TallyType.PENDING_TIME:
        numbers = pending_times(await tallies.queued_since(organization[0]), now)
        return _telemetry(wanted, ["waited"], numbers, now)
    needs_workloads = TallyGroup.STATUS in wanted.groups
    workloads = await tallies.workload_facts(organization[0], by, cluster) if needs_workloads else []
    facts = await _server_facts(info, organization[1], cluster, window if wanted in _IDLE else None)
    return _telemetry(wanted, [it.value for it in by], tally(wanted, by, workloads, facts), now)


def _telemetry(wanted: TallyType, keys: Sequence[str], numbers: dict[Group, float], now: datetime) -> Telemetry:
    values = [TelemetryValue(value=value, groups=_groups(keys, group)) for group, value in numbers.items()]
    return Telemetry(type=wanted, timestamp=now, values=values)


def _groups(keys: Sequence[str], values: Group) -> list[NumberGroup]:
    return [NumberGroup(key=key, value=value) for key, value in zip(keys, values, strict=True)]


async def _server_facts(info: Info, slug: str, cluster: str | None, window: int | None) -> list[ServerFact]:
    """Of servers that are still there. With a window in seconds, also which GPUs were idle for so long."""
    records = [it for it in await servers.servers_of(slug) if it.gone_at is None and cluster in (None, it.cluster)]
    board = info.context.services.board
    await board.inventory.refresh()
    seen = board.servers()
    held, idle = await _holdings(info, records, window) if window is not None else ({}, set())
    return [
        _fact(it, seen.get(it.server_id), board.why_unusable(it, seen.get(it.server_id)), held.get(it.id, ()), idle)
        for it in records
    ]


def _fact(
    record: ServerRecord,
    seen: ServerCapacity | None,
    why_unusable: str,
    held: Sequence[Holding],
    idle: set[Device],
) -> ServerFact:
    is_usable = not why_unusable
    gpus_of = seen.gpus_allocatable if seen else {}
    allocated = sum(max(0, count - (seen.gpus_free.get(name, 0) if seen else 0)) for name, count in gpus_of.items())
    devices = {Device(it.gpu_id, it.instance) for it in held}
    return ServerFact(
        server=record.name,
        cluster=record.cluster,
        product=record.product,
        total=record.gpu_total,
        ready=seen.gpus_healthy if seen and is_usable else 0,
        free=seen.gpus_free_now if seen and is_usable else 0,
        allocated=allocated,
        is_usable=is_usable,
        held=len(devices),
        idle=len(devices & idle),
    )


async def _holdings(
    info: Info, records: Sequence[ServerRecord], window: int
) -> tuple[dict[UUID, list[Holding]], set[Device]]:
    """Who has the GPUs of each server now, and which of them were idle."""
    idle_for = _window(window)
    on = {it.id: record.id for record in records for it in await info.context.loaders.gpus.load(record.id)}
    holdings = await gpus.holders_of(list(on))
    held: dict[UUID, list[Holding]] = {}
    for it in holdings:
        held.setdefault(on[it.gpu_id], []).append(it)
    now = info.context.services.commands.clock.now()
    return held, await curves.idle_holdings(holdings, now, idle_for)


async def idle_of(info: Info, workload_id: UUID, window: int) -> int | None:
    """How many of a workload's GPUs are known to be idle; None where it has none that is known."""
    idle_for = _window(window)
    holdings = [it for it in await info.context.loaders.holdings.load(workload_id) if it.until is None]
    now = info.context.services.commands.clock.now()
    return len(await curves.idle_holdings(holdings, now, idle_for)) if holdings else None


def _window(seconds: int) -> timedelta:
    """Raises InvalidInputError."""
    if not _SHORTEST <= seconds <= _LONGEST:
        raise InvalidInputError.of("windowSeconds", f"must be between {_SHORTEST} and {_LONGEST}; it is {seconds}")
    return timedelta(seconds=seconds)


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
