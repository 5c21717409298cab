"""What the numbers about workloads and their use of GPUs are made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from tortoise.expressions import Q
from tortoise.functions import Count, Sum

from app.domain.metrics import Span
from app.domain.states import TERMINAL_STATUSES, Status
from app.domain.tallies import TallyGroup, WorkloadFact
from app.domain.usage import Stretch
from app.store import mapping
from app.store.models import AttemptRow, ClusterServerRow, WorkloadRow

_TERMINAL = frozenset(status.value for status in TERMINAL_STATUSES)
_COLUMNS = {
    TallyGroup.PROJECT: ("project__slug",),
    TallyGroup.STATUS: (),
    TallyGroup.PHASE: ("phase",),
    TallyGroup.SUBMITTER: ("submitted_by",),
    TallyGroup.SERVER: ("server",),
    TallyGroup.CLUSTER: ("cluster",),
    TallyGroup.PRODUCT: ("server", "cluster"),
}
_NAMES = {"project__slug": "project", "submitted_by": "submitter"}


async def workload_facts(organization_id: UUID, by: Sequence[TallyGroup], cluster: str | None) -> list[WorkloadFact]:
    """The organization's workloads, alike ones counted together by the database."""
    rows = WorkloadRow.filter(organization_id=organization_id, deleted_at=None)
    rows = rows if cluster is None else rows.filter(cluster=cluster)
    held = await _facts(rows.exclude(server="").exclude(status__in=list(_TERMINAL)), by, holds_gpus=True)
    return [*held, *await _facts(rows.filter(Q(server="") | Q(status__in=list(_TERMINAL))), by, holds_gpus=False)]


async def _facts(rows: Any, by: Sequence[TallyGroup], *, holds_gpus: bool) -> list[WorkloadFact]:
    columns = list(dict.fromkeys(("status", *(name for group in by for name in _COLUMNS[group]))))
    found = await rows.annotate(n=Count("id"), g=Sum("gpu_count")).group_by(*columns).values(*columns, "n", "g")
    products = await _products() if TallyGroup.PRODUCT in by else {}
    return [_fact(row, products, holds_gpus=holds_gpus) for row in found]


def _fact(row: dict[str, Any], products: dict[tuple[str, str], str], *, holds_gpus: bool) -> WorkloadFact:
    values = {_NAMES.get(name, name): value or "" for name, value in row.items() if name not in ("n", "g")}
    product = products.get((row.get("server", ""), row.get("cluster", "")), "")
    return WorkloadFact(count=row["n"], gpus=int(row["g"] or 0), holds_gpus=holds_gpus, product=product, **values)


async def _products() -> dict[tuple[str, str], str]:
    rows = await ClusterServerRow.all().values_list("name", "cluster", "product")
    return {(str(row[0]), str(row[1])): str(row[2]) for row in rows}


async def queued_since(organization_id: UUID) -> list[datetime]:
    """Since when each of the organization's workloads waits for a server."""
    waiting = WorkloadRow.filter(status=Status.PENDING.value, phase__in=mapping.WAITING, deleted_at=None)
    return [row[0] for row in await waiting.filter(organization_id=organization_id).values_list("queued_at")]


async def stretches(organization_id: UUID, start: datetime, end: datetime) -> list[Stretch]:
    """The organization's attempts that had GPUs at some time between."""
    rows = AttemptRow.filter(workload__organization_id=organization_id, placed_at__lt=end)
    rows = rows.filter(Q(ended_at=None) | Q(ended_at__gt=start))
    columns = ("workload_id", "placed_at", "ended_at", "workload__gpu_count", "workload__project__slug")
    found = await rows.values_list(*columns, "workload__submitted_by", "server", "cluster")
    products = await _products()
    return [
        Stretch(id_, Span(placed, ended, gpus), project or "", submitter, products.get((at, of), ""), at, of)
        for id_, placed, ended, gpus, project, submitter, at, of in found
    ]
