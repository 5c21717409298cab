"""Servers as the page shows them: what is on record, and what the cluster shows and leaves free now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from app.domain.gpu_map import GpuState
from app.domain.gpus import WHOLE
from app.domain.wording import kinds
from app.panel import map_views, urls
from app.panel.digests import digest_of
from app.panel.fleet import Census, Standing, Users
from app.panel.list_views import PageLinks
from app.panel.map_views import CellView, LegendView, UseView
from app.panel.server_listing import ServerListing
from app.placement import words
from app.reconcile.board import Board
from app.store.gpus import GpuRecord
from app.store.servers import ServerRecord

_FEW = 12


@dataclass(frozen=True)
class PartsView:
    """Slices or shares of one resource name. `free` and `unhealthy` are None while they are not known."""

    words: str
    total: int
    free: int | None
    unhealthy: int | None


@dataclass(frozen=True)
class ServerView:
    """`total`, `healthy` and `free` count whole GPUs. `free` and what follows are None while the cluster does not show
    the server, `healthy` also while its agent is silent whose word is needed. `cluster` is empty if there is one only.
    `cordon` says that one of ours closed it, `problem` what else is in the way, `note` where cluster and agent differ;
    `silence` since when its agent is, and in a word how long that is: stale, lost. `asked`: pods that wait to start.
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
    note: str = ""
    silence: str = ""
    silent_since: datetime | None = None
    cells: tuple[CellView, ...] = ()
    uses: tuple[UseView, ...] = ()
    asked: str = ""

    @property
    def has_gpus(self) -> bool:
        return bool(self.total or self.parts)

    @property
    def takes_work(self) -> bool:
        return not (self.problem or self.cordon)


@dataclass(frozen=True)
class ServersView:
    """A page of servers. `free` counts whole GPUs of usable servers only: what could be had now. `usable` and
    `with_gpus` count servers. These and the legend are of all servers, whatever the page shows; `found` says how many
    match. `may_flag`: whether the person may cordon them. `digest` names all that is shown.
    """

    servers: tuple[ServerView, ...]
    free: int
    total: int
    usable: int
    with_gpus: int
    url: str
    may_flag: bool
    legend: tuple[LegendView, ...]
    links: PageLinks
    listing: ServerListing
    found: int
    on_record: int
    all_url: str

    @property
    def digest(self) -> str:
        return digest_of(self)

    @property
    def has_search(self) -> bool:
        """Few servers are found by looking."""
        return self.on_record > _FEW or bool(self.listing.typed)

    @property
    def follow_url(self) -> str:
        """Where the page asks for itself again, with what it shows already."""
        return urls.with_have(self.url, self.digest)


@dataclass(frozen=True)
class Pool:
    """All servers of an organization, and what their GPUs are, by server."""

    slug: str
    listing: ServerListing
    standings: Sequence[Standing]
    states: Mapping[UUID, Sequence[GpuState]]

    @classmethod
    def of(
        cls, slug: str, listing: ServerListing, records: Sequence[ServerRecord], board: Board, census: Census
    ) -> Pool:
        seen = board.servers()
        standings = [Standing.of(it, seen.get(it.server_id), board) for it in records]
        states = {it.record.id: census.states(it) or map_views.counted_states(it) for it in standings}
        return cls(slug, listing, standings, states)

    def found(self) -> list[Standing]:
        """Those that the page's filters leave."""
        show = self.listing.show
        return [
            it
            for it in self.standings
            if self.listing.finds(it.record.name, it.record.cluster, it.record.product)
            and (show is None or show in self.states[it.record.id])
        ]

    def shown(self) -> Sequence[Standing]:
        """Those that are on the page."""
        return self.listing.of(self.found())


def servers_view(
    pool: Pool, gpus: Sequence[GpuRecord], users: Users, *, names_clusters: bool, may_flag: bool
) -> ServersView:
    """`gpus` are those of the servers that are shown."""
    slug, listing, found = pool.slug, pool.listing, pool.found()
    with_gpus = [it for it in pool.standings if any(it.record.gpus_total.values())]
    usable = [it for it in with_gpus if it.takes_work]
    counts = Counter(state for states in pool.states.values() for state in states)
    views = _server_views(slug, listing, listing.of(found), gpus, users)
    return ServersView(
        servers=tuple(views if names_clusters else (replace(view, cluster="") for view in views)),
        free=sum(it.seen.gpus_free_now for it in usable if it.seen),
        total=sum(it.record.gpu_count for it in with_gpus),
        usable=len(usable),
        with_gpus=len(with_gpus),
        url=listing.url(slug),
        may_flag=may_flag,
        legend=tuple(map_views.legend(slug, listing, counts)),
        links=listing.links(slug, len(found)),
        listing=listing,
        found=len(found),
        on_record=len(pool.standings),
        all_url=urls.servers(slug),
    )


def _server_views(
    slug: str, listing: ServerListing, standings: Sequence[Standing], gpus: Sequence[GpuRecord], users: Users
) -> Iterator[ServerView]:
    present: defaultdict[UUID, list[GpuRecord]] = defaultdict(list)
    for gpu in gpus:
        if gpu.gone_at is None:
            present[gpu.server_id].append(gpu)
    for it in standings:
        there = present[it.record.id]
        yield replace(
            _server_view(slug, listing, it),
            cells=map_views.cells(slug, it, there, users) or map_views.counted_cells(it),
            uses=map_views.uses(there, users),
            asked=map_views.asked_for(it, there, users),
        )


def _server_view(slug: str, listing: ServerListing, standing: Standing) -> ServerView:
    record, seen, cordon = standing.record, standing.seen, standing.record.cordon
    silence, silent_since = standing.silence
    return ServerView(
        id=record.id,
        name=record.name,
        product=record.product,
        gpu_memory=f"{record.gpu_memory_mib / 1024:.3g} GiB" if record.gpu_memory_mib else "",
        driver=record.driver,
        cuda=record.cuda,
        total=record.gpu_count,
        healthy=seen.gpus_healthy if seen and standing.is_counted else None,
        free=seen.gpus_free_now if seen else None,
        cpu_free=words.cpu(seen.cpu_free) if seen else "",
        memory_free=words.memory(seen.memory_free) if seen else "",
        problem=standing.problem,
        gone_at=record.gone_at,
        version=record.flags.version,
        flag_url=(urls.uncordon if cordon else urls.cordon)(slug, record.id, **listing.query()),
        cluster=record.cluster,
        cordon=cordon.words if cordon else "",
        cordoned_at=cordon.at if cordon else None,
        parts=tuple(_parts(standing)),
        note=seen.gpu_note if seen else "",
        silence=silence,
        silent_since=silent_since,
    )


def _parts(standing: Standing) -> Iterator[PartsView]:
    record, seen = standing.record, standing.seen
    for name, total in sorted(record.gpus_total.items()):
        kind = record.device(name).kind
        if total and kind != WHOLE:
            free = max(0, seen.gpus_free.get(name, 0)) if seen else None
            unhealthy = total - seen.gpus_allocatable.get(name, 0) if seen and standing.is_counted else None
            yield PartsView(kinds(kind), total, free, unhealthy)
