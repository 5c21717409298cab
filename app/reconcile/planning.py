"""What a plan is made from, read at one moment: for the scheduler, which acts on plans, and for who asks what if."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from uuid import UUID

from app.domain.cuda import CudaVersion
from app.domain.gpus import GpuRequirements
from app.domain.observed import ObservedNode
from app.domain.people import Organization
from app.domain.server import ServerId
from app.placement.plan import Outlook
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot, out_of_contact
from app.reconcile.board import Board, Flags
from app.reconcile.outlook import Outlooks
from app.store import people, servers
from app.store.reads import Waiting
from app.store.servers import ServerRecord


@dataclass(frozen=True)
class Facts:
    """`take` adds up what is free, on any thread. `slugs` are those of all organizations."""

    requests: Sequence[Request]
    take: Callable[[], Snapshot]
    outlook: Outlook
    slugs: Mapping[UUID, str]
    flags: Flags


async def gather(board: Board, outlooks: Outlooks, queue: Sequence[Waiting], also: Collection[UUID] = ()) -> Facts:
    """`also` names organizations of which nothing may wait, yet something is to be known."""
    organizations = await people.organizations()
    slugs = {o.id: o.slug for o in organizations}
    names = [cluster.name for cluster in board.clusters]
    flags = await servers.flagged()
    requests = [request_of(w, slugs[w.organization_id], names, outlooks.longest) for w in queue]
    await board.inventory.refresh()
    take = board.snapshot(pool_owner(organizations), await _out_of_contact(board), flags)
    outlook = await outlooks.look({it: slugs[it] for it in {*also, *(w.organization_id for w in queue)}})
    return Facts(requests, take, outlook, slugs, flags)


def may_plan(board: Board) -> bool:
    """Once every cluster was listed or is known to be slow or silent; where all are slow, not yet."""
    clusters = board.clusters
    return any(it.is_settled for it in clusters) and all(it.is_settled or it.contact.is_late for it in clusters)


async def _out_of_contact(board: Board) -> list[ServerCapacity]:
    """The servers of clusters that don't answer, as they are on record."""
    silent = [it.name for it in board.clusters if not it.is_current]
    return [_on_record(board, record) for record in await servers.servers_in(silent)] if silent else []


def _on_record(board: Board, record: ServerRecord) -> ServerCapacity:
    server, why = ServerId(record.name, record.cluster), board.no_answer(record.cluster)
    size = (record.gpus_total, record.cpu_millis, record.memory_bytes)
    return out_of_contact(server, record.organization_slug, *size, why, record.labels)


def pool_owner(organizations: Iterable[Organization]) -> Callable[[ObservedNode], str]:
    """Whose a node is: the slug that its pool label names, else that of the default organization, else nobody's."""
    default = next((o.slug for o in organizations if o.is_default), "")
    return lambda node: node.pool or default


def request_of(waiting: Waiting, slug: str, clusters: Sequence[str], longest: Callable[[int, int], float]) -> Request:
    """`clusters` are the names of all, for servers that were avoided before clusters had names."""
    return Request(
        workload_id=waiting.id,
        organization=slug,
        gpu_count=waiting.gpu_count,
        cpu_millis=waiting.cpu_millis,
        memory_bytes=waiting.memory_bytes,
        queued_at=waiting.queued_at,
        cuda=CudaVersion.parse(waiting.cuda) if waiting.cuda else None,
        priority=waiting.priority,
        project=waiting.project_id,
        run_seconds=waiting.timeout_seconds,
        hold_seconds=ceil(longest(waiting.start_timeout_seconds, waiting.timeout_seconds)),
        wanted=GpuRequirements.read(waiting.gpu_requirements or {}),
        preemptible=waiting.preemptible,
        nominated=ServerId.parse(waiting.nominated_server) if waiting.nominated_server else None,
        avoid=frozenset(avoided for text in waiting.avoid_servers for avoided in _avoided(text, clusters)),
    )


def _avoided(text: str, clusters: Sequence[str]) -> list[ServerId]:
    """A bare name is from before clusters had names."""
    server = ServerId.parse(text)
    return [server] if server.cluster else [ServerId(server.name, cluster) for cluster in clusters]
