"""Servers as the page shows them: what is on record, and what the cluster shows and leaves free now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.gpus import WHOLE
from app.domain.wording import kinds
from app.panel import urls
from app.placement import words
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.store.servers import ServerRecord


@dataclass(frozen=True)
class PartsView:
    """Slices or shares of one resource name. `free` and `unhealthy` are None while the cluster does not show them."""

    words: str
    total: int
    free: int | None
    unhealthy: int | None


@dataclass(frozen=True)
class ServerView:
    """`total`, `healthy` and `free` count whole GPUs. `free` and what follows are None while the cluster does not show
    the server. `cluster` is empty if there is one only. `cordon` says that one of ours closed it, `problem` what else
    is in the way.
    """

    id: UUID
    name: str
    product: str
    gpu_memory: str
    driver: str
    cuda: str
    total: int
    healthy: int | None
    free: int | None
    cpu_free: str
    memory_free: str
    problem: str
    gone_at: datetime | None
    version: int
    flag_url: str
    cluster: str = ""
    cordon: str = ""
    cordoned_at: datetime | None = None
    parts: tuple[PartsView, ...] = ()

    @property
    def has_gpus(self) -> bool:
        return bool(self.total or self.parts)

    @property
    def takes_work(self) -> bool:
        return not (self.problem or self.cordon)


@dataclass(frozen=True)
class ServersView:
    """`free` counts whole GPUs of usable servers only: what could be had now. `usable` and `with_gpus` count servers.

    `may_flag`: whether the person may cordon them.
    """

    servers: tuple[ServerView, ...]
    free: int
    total: int
    usable: int
    with_gpus: int
    url: str
    may_flag: bool


def servers_view(slug: str, records: Sequence[ServerRecord], board: Board, *, may_flag: bool) -> ServersView:
    seen = board.servers()
    views = tuple(_server_view(slug, record, seen.get(record.server_id), board) for record in records)
    usable = [view for view in views if view.has_gpus and view.takes_work]
    return ServersView(
        servers=views,
        free=sum(view.free or 0 for view in usable),
        total=sum(view.total for view in views),
        usable=len(usable),
        with_gpus=sum(1 for view in views if view.has_gpus),
        url=urls.servers(slug),
        may_flag=may_flag,
    )


def _server_view(slug: str, record: ServerRecord, seen: ServerCapacity | None, board: Board) -> ServerView:
    cordon = record.cordon
    return ServerView(
        id=record.id,
        name=record.name,
        product=record.product,
        gpu_memory=f"{record.gpu_memory_mib / 1024:.3g} GiB" if record.gpu_memory_mib else "",
        driver=record.driver,
        cuda=record.cuda,
        total=record.gpu_count,
        healthy=seen.gpus_healthy if seen else None,
        free=seen.gpus_free_now if seen else None,
        cpu_free=words.cpu(seen.cpu_free) if seen else "",
        memory_free=words.memory(seen.memory_free) if seen else "",
        problem=seen.unusable if seen else board.why_unseen(record.cluster),
        gone_at=record.gone_at,
        version=record.flags.version,
        flag_url=(urls.uncordon if cordon else urls.cordon)(slug, record.id),
        cluster=record.cluster if board.names_clusters else "",
        cordon=cordon.words if cordon else "",
        cordoned_at=cordon.at if cordon else None,
        parts=tuple(_parts(record, seen)),
    )


def _parts(record: ServerRecord, seen: ServerCapacity | None) -> Iterator[PartsView]:
    for name, total in sorted(record.gpus_total.items()):
        kind = record.device(name).kind
        if total and kind != WHOLE:
            free = max(0, seen.gpus_free.get(name, 0)) if seen else None
            unhealthy = total - seen.gpus_allocatable.get(name, 0) if seen else None
            yield PartsView(kinds(kind), total, free, unhealthy)
