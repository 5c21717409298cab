"""The page of one GPU: a total function from what is known of it to a frozen view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.gpu_map import GpuState
from app.domain.server import ServerId
from app.domain.workload import Event
from app.panel import map_views, urls
from app.panel.digests import digest_of
from app.panel.fleet import Naming, Standing, User
from app.panel.list_views import PageLinks
from app.store.gpus import GpuRecord, Holding


@dataclass(frozen=True)
class InstanceView:
    """A MIG instance."""

    uuid: str
    profile: str
    memory: str
    state: GpuState
    users: tuple[User, ...]


@dataclass(frozen=True)
class PeerView:
    """A GPU that this one is linked with. `url` is empty where it isn't on record."""

    name: str
    url: str


@dataclass(frozen=True)
class HoldingView:
    """Who has or had it. `part` names the MIG instance's profile, or says that it was a share; `told`: the workload was
    told that this GPU had failed.
    """

    words: str
    url: str
    attempt: int | None
    part: str
    since: datetime
    until: datetime | None
    told: tuple[str, ...]


@dataclass(frozen=True)
class HistoryView:
    """A page of it, the latest first."""

    holdings: tuple[HoldingView, ...]
    links: PageLinks


@dataclass(frozen=True)
class GpuView:
    """`health` and its reason are as the agent last told them, since `health_since` by its server's clock; where it is
    silent or the GPU gone, that may be old. `problem`: why its server takes no work.
    """

    id: UUID
    uuid: str
    index: int
    server: str
    server_url: str
    state: GpuState
    health: str
    reason: str
    message: str
    health_since: datetime | None
    xid: int | None
    problem: str
    silence: str
    silent_since: datetime | None
    gone_at: datetime | None
    first_seen_at: datetime
    facts: tuple[tuple[str, str], ...]
    users: tuple[User, ...]
    instances: tuple[InstanceView, ...]
    peers: tuple[PeerView, ...]
    history: HistoryView
    url: str

    @property
    def digest(self) -> str:
        return digest_of(self)

    @property
    def follow_url(self) -> str:
        """Where the page asks for itself again, with what it shows already."""
        return urls.with_have(self.url, self.digest)


@dataclass(frozen=True)
class Known:
    """What is on record of a GPU, read at one moment. `siblings` are the GPUs of its server, itself too; `history` is
    one page of it, `failures` what the workloads there were told of failed GPUs.
    """

    gpu: GpuRecord
    standing: Standing
    siblings: Sequence[GpuRecord]
    holders: Sequence[Holding]
    history: Sequence[Holding]
    links: PageLinks
    failures: Sequence[Event]


def gpu_view(known: Known, naming: Naming, url: str, *, names_clusters: bool) -> GpuView:
    """`url` is the page's own."""
    gpu, standing, record = known.gpu, known.standing, known.standing.record
    users = [naming.user(it) for it in known.holders]
    silence, silent_since = standing.silence
    return GpuView(
        id=gpu.id,
        uuid=gpu.uuid,
        index=gpu.index,
        server=str(ServerId(record.name, record.cluster if names_clusters else "")),
        server_url=urls.servers(naming.slug, q=record.name),
        state=GpuState.UNKNOWN if gpu.gone_at else standing.state(gpu.health, {it.whose for it in users}),
        health=gpu.health,
        reason=gpu.health_reason.meaning if gpu.health_reason else "",
        message=gpu.health_message,
        health_since=gpu.health_since,
        xid=gpu.xid,
        problem=standing.why_closed,
        silence=silence,
        silent_since=silent_since,
        gone_at=gpu.gone_at,
        first_seen_at=gpu.first_seen_at,
        facts=tuple(_facts(known)),
        users=tuple(users),
        instances=tuple(_instances(gpu, standing, users)),
        peers=tuple(_peers(naming.slug, gpu, known.siblings)),
        history=HistoryView(tuple(_holding(it, known, naming) for it in known.history), known.links),
        url=url,
    )


def _facts(known: Known) -> Iterator[tuple[str, str]]:
    """Name and value of each."""
    gpu, told, agent = known.gpu, known.gpu.facts, known.standing.agent
    found = {
        "UUID": gpu.uuid,
        "PCI bus": told.get("pci_bus_id"),
        "Product": gpu.product,
        "Memory": _memory(gpu.memory_mib),
        "Architecture": told.get("architecture"),
        "Compute capability": told.get("compute_capability"),
        "Serial number": told.get("serial"),
        "MIG mode": _switch(told.get("mig_enabled")),
        "Shares": "" if told.get("mig_enabled") else str(_shares(known) or ""),
        "Persistence mode": _switch(told.get("persistence_mode")),
        "Compute mode": told.get("compute_mode"),
        "Driver": agent.driver_version if agent else "",
        "CUDA at most": agent.cuda_version if agent else "",
    }
    return ((name, value) for name, value in found.items() if value)


def _shares(known: Known) -> int:
    return map_views.shares_each(known.standing, [it for it in known.siblings if it.gone_at is None])


def _memory(mib: int | None) -> str:
    return f"{mib / 1024:.3g} GiB" if mib else ""


def _switch(is_on: bool | None) -> str:
    return "" if is_on is None else "on" if is_on else "off"


def _instances(gpu: GpuRecord, standing: Standing, users: Sequence[User]) -> Iterator[InstanceView]:
    slices = map_views.slice_views(standing, gpu, users)
    for told, it in zip(gpu.facts.get("mig_instances", ()), slices, strict=True):
        named = tuple(user for user in users if user.instance == told["uuid"])
        yield InstanceView(told["uuid"], told["profile"], _memory(told["memory_mib"]), it.state, named)


def _peers(slug: str, gpu: GpuRecord, siblings: Sequence[GpuRecord]) -> Iterator[PeerView]:
    known = {it.uuid: it for it in siblings}
    for uuid in gpu.facts.get("nvlink_peers", ()):
        peer = known.get(uuid)
        yield PeerView(f"GPU {peer.index}", urls.gpu(slug, peer.id)) if peer else PeerView(uuid, "")


def _holding(it: Holding, known: Known, naming: Naming) -> HoldingView:
    user = naming.user(it)
    return HoldingView(
        words=user.words,
        url=user.url,
        attempt=it.attempt if user.url else None,
        part=_part(it, known.gpu),
        since=it.since,
        until=it.until,
        told=tuple(_told(it, known)) if user.url else (),
    )


def _told(it: Holding, known: Known) -> Iterator[str]:
    """What the workload was told of this GPU, or of the slice that it had."""
    names = [name for name in (known.gpu.uuid, it.instance) if name]
    for event in known.failures:
        is_its = (event.workload_id, event.attempt) == (it.workload_id, it.attempt)
        if is_its and any(f" {name} " in event.message for name in names):
            yield event.message


def _part(it: Holding, gpu: GpuRecord) -> str:
    return gpu.mig_profiles.get(it.instance, it.instance) or ("share" if it.is_shared else "")
