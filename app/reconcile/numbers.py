"""Numbers of this moment about an organization: the facts that `app.domain.tallies` counts, put together once for
whoever shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.domain.errors import InvalidInputError
from app.domain.tallies import Group, ServerFact, TallyGroup, TallyType, check_groups, pending_times, tally
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.store import curves, gpus, servers, tallies
from app.store.gpus import Holding
from app.store.samples import Device
from app.store.servers import ServerRecord

DEFAULT_WINDOW = 900
_SHORTEST, _LONGEST = 60, 86_400
_IDLE = frozenset({TallyType.IDLE_ALLOCATED_GPUS, TallyType.IDLE_ALLOCATED_SERVERS})


@dataclass(frozen=True)
class Numbers:
    """Of an organization by id and slug, with the servers of one cluster where it is named, at `now`. `window_seconds`
    is for how long a GPU must have done nothing to be idle.
    """

    board: Board
    organization: tuple[UUID, str]
    now: datetime
    cluster: str | None = None
    window_seconds: int = DEFAULT_WINDOW

    async def tally(self, wanted: TallyType, by: Sequence[TallyGroup] = ()) -> dict[Group, float]:
        """The number of each group. Raises InvalidInputError for groups and windows that there are not."""
        check_groups(wanted, by)
        if wanted is TallyType.PENDING_TIME:
            return pending_times(await tallies.queued_since(self.organization[0]), self.now)
        needs_workloads = TallyGroup.STATUS in wanted.groups
        workloads = await tallies.workload_facts(self.organization[0], by, self.cluster) if needs_workloads else []
        return tally(wanted, by, workloads, await self._server_facts(with_idle=wanted in _IDLE))

    async def of_servers(
        self, wanted: Sequence[TallyType], by: Sequence[TallyGroup] = ()
    ) -> dict[TallyType, dict[Group, float]]:
        """Several numbers about servers at the price of one. Raises as `tally` does."""
        for it in wanted:
            check_groups(it, by)
        facts = await self._server_facts(with_idle=not _IDLE.isdisjoint(wanted))
        return {it: tally(it, by, (), facts) for it in wanted}

    async def _server_facts(self, *, with_idle: bool) -> list[ServerFact]:
        """Of servers that are still there."""
        found = await servers.servers_of(self.organization[1])
        records = [it for it in found if it.gone_at is None and self.cluster in (None, it.cluster)]
        await self.board.inventory.refresh()
        seen = self.board.servers()
        held, idle = await self._holdings(records) if with_idle else ({}, set())
        return [
            _fact(it, capacity, self.board.why_unusable(it, capacity), held.get(it.id, ()), idle)
            for it, capacity in ((it, seen.get(it.server_id)) for it in records)
        ]

    async def _holdings(self, records: Sequence[ServerRecord]) -> tuple[dict[UUID, list[Holding]], set[Device]]:
        """Who has the GPUs of each server now, and which of them were idle."""
        idle_for = window(self.window_seconds)
        on = {it.id: it.server_id for it in await gpus.gpus_of([record.id for record in records])}
        holdings = await gpus.holders_of(list(on))
        held: dict[UUID, list[Holding]] = {}
        for it in holdings:
            held.setdefault(on[it.gpu_id], []).append(it)
        return held, await curves.idle_holdings(holdings, self.now, idle_for)


def window(seconds: int) -> timedelta:
    """Raises InvalidInputError."""
    if not _SHORTEST <= seconds <= _LONGEST:
        raise InvalidInputError.of("windowSeconds", f"must be between {_SHORTEST} and {_LONGEST}; it is {seconds}")
    return timedelta(seconds=seconds)


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
