"""Servers as the page shows them: what is on record, and what the cluster shows and leaves free now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.panel import urls
from app.placement import words
from app.placement.snapshot import ServerCapacity
from app.reconcile.board import Board
from app.store.servers import ServerRecord


@dataclass(frozen=True)
class ServerView:
    """`free` and what follows are None while the cluster does not show the server. `cluster` is empty if
    there is one only.
    """

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
    cluster: str = ""


@dataclass(frozen=True)
class ServersView:
    """`free` counts GPUs of usable servers only: what could be had now. `usable` and `with_gpus` count servers."""

    servers: tuple[ServerView, ...]
    free: int
    total: int
    usable: int
    with_gpus: int
    url: str


def servers_view(slug: str, records: Sequence[ServerRecord], board: Board) -> ServersView:
    seen = board.servers()
    views = tuple(_server_view(record, seen.get(record.server_id), board) for record in records)
    usable = [view for view in views if view.total and not view.problem]
    return ServersView(
        servers=views,
        free=sum(view.free or 0 for view in usable),
        total=sum(view.total for view in views),
        usable=len(usable),
        with_gpus=sum(1 for view in views if view.total),
        url=urls.servers(slug),
    )


def _server_view(record: ServerRecord, seen: ServerCapacity | None, board: Board) -> ServerView:
    return ServerView(
        name=record.name,
        product=record.product,
        gpu_memory=f"{record.gpu_memory_mib / 1024:.3g} GiB" if record.gpu_memory_mib else "",
        driver=record.driver,
        cuda=record.cuda,
        total=record.gpu_total,
        healthy=seen.gpus_healthy if seen else None,
        free=seen.gpus_free_now if seen else None,
        cpu_free=words.cpu(seen.cpu_free) if seen else "",
        memory_free=words.memory(seen.memory_free) if seen else "",
        problem=seen.unusable if seen else board.why_unseen(record.cluster),
        gone_at=record.gone_at,
        cluster=record.cluster if board.names_clusters else "",
    )
