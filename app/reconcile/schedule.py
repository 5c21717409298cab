"""Placing what waits: load the queue and a snapshot → plan (off the event loop) → apply.

One tick at a time. A tick runs when something was submitted, ended or changed in the cluster, when a back-off or a
queue limit passes, and once a minute anyway.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil
from uuid import UUID

from app.bus import Bus
from app.clock import Clock
from app.domain import wording
from app.domain.cuda import CudaVersion, is_newer_minor
from app.domain.gpus import GpuRequirements
from app.domain.lifecycle import Decision, decide_waiting, place
from app.domain.namespaces import Namespaces
from app.domain.observed import ObservedNode
from app.domain.people import Organization
from app.domain.server import NO_FLAGS, ServerId
from app.domain.states import Reason
from app.domain.workload import Attempt, Workload, queue_deadline
from app.placement.plan import Answer, Outlook, Place, Plan, Planner
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot, out_of_contact
from app.reconcile.board import NOTHING_FLAGGED, Board, Flags
from app.reconcile.claims import Claims
from app.reconcile.outlook import Outlooks
from app.reconcile.room import RoomMaker
from app.store import people, reads, servers
from app.store.reads import Waiting
from app.store.servers import ServerRecord
from app.store.writes import Change, apply_changes, explain_waiting


@dataclass(frozen=True)
class Scheduler:
    board: Board
    claims: Claims
    bus: Bus
    clock: Clock
    placed: Callable[[Workload, Attempt], None]  # told of every new attempt once it is stored
    namespaces: Namespaces
    outlooks: Outlooks
    rooms: RoomMaker
    _planner: Planner = field(default_factory=Planner)

    async def tick(self) -> datetime | None:
        """Place what can be placed, word why the rest waits; returns when a waiting workload's time comes."""
        if not self._may_plan():
            return None
        await self.claims.ensure_loaded()
        now = self.clock.now()
        queue = await reads.waiting_workloads()
        overdue = {w.id for w in queue if (deadline := _deadline(w)) is not None and deadline <= now}
        await self._decide(list(overdue), lambda workload: decide_waiting(workload, now))
        eligible = [w for w in queue if w.id not in overdue and (w.not_before is None or w.not_before <= now)]
        if eligible:
            await self._plan(eligible)
        return _next_moment(queue, now)

    def _may_plan(self) -> bool:
        """Once every cluster was listed or is known to be slow or silent; where all are slow, not yet."""
        clusters = self.board.clusters
        return any(it.is_settled for it in clusters) and all(it.is_settled or it.contact.is_late for it in clusters)

    async def _out_of_contact(self) -> list[ServerCapacity]:
        """The servers of clusters that don't answer, as they are on record."""
        silent = [it.name for it in self.board.clusters if not it.is_current]
        return [self._on_record(record) for record in await servers.servers_in(silent)] if silent else []

    def _on_record(self, record: ServerRecord) -> ServerCapacity:
        server, why = ServerId(record.name, record.cluster), self.board.no_answer(record.cluster)
        size = (record.gpus_total, record.cpu_millis, record.memory_bytes)
        return out_of_contact(server, record.organization_slug, *size, why, record.labels)

    async def _plan(self, queue: Sequence[Waiting]) -> None:
        organizations = await people.organizations()
        slugs = {o.id: o.slug for o in organizations}
        names = [cluster.name for cluster in self.board.clusters]
        flags = await servers.flagged()
        requests = [_request(w, slugs[w.organization_id], names, self.outlooks.longest) for w in queue]
        await self.board.inventory.refresh()
        take = self.board.snapshot(pool_owner(organizations), await self._out_of_contact(), flags)
        outlook = await self.outlooks.look({w.organization_id: slugs[w.organization_id] for w in queue})
        found = await asyncio.to_thread(_plan, self._planner, requests, take, outlook)
        await self._place(found.placements, slugs, flags)
        await self.rooms.make(found.preemptions)
        await self._explain(queue, found.answers)

    async def _place(self, placements: Mapping[UUID, Place], slugs: Mapping[UUID, str], flags: Flags) -> None:
        """Void where a server's flags are no longer those that were planned with: what is lost is planned again."""
        now = self.clock.now()

        def give(workload: Workload) -> Decision:
            answer = placements[workload.id]
            note = self._note(workload, ServerId(answer.server, answer.cluster))
            decision = place(workload, answer.server, answer.gpu_resource, now, answer.cluster, note)
            namespace = self.namespaces.of(slugs[workload.organization_id])
            attempt = replace(decision.attempt, namespace=namespace) if decision.attempt else None
            return replace(decision, attempt=attempt)

        for change in await self._decide(list(placements), give, flags):
            if change.attempt is not None:
                self.claims.add(change.attempt, change.after)
                self.placed(change.stored, change.attempt)

    def _note(self, workload: Workload, server: ServerId) -> str:
        """What is worth a warning about the server that was chosen."""
        cuda = CudaVersion.parse(workload.spec.cuda) if workload.spec.cuda else None
        supported = self.board.cuda_of(server)
        return wording.newer_toolkit(str(cuda), supported) if is_newer_minor(cuda, supported) else ""

    async def _decide(
        self, ids: Sequence[UUID], decide: Callable[[Workload], Decision], flags: Flags = NOTHING_FLAGGED
    ) -> list[Change]:
        """Load those that still wait, decide, write; returns the changes that won. A lost one is planned again."""
        if not ids:
            return []
        waiting = [w for w in (await reads.workloads_by_id(ids)).values() if w.waits]
        changes: dict[UUID, list[Change]] = defaultdict(list)
        for workload in waiting:
            decision = decide(workload)
            if decision.workload != workload:
                version = flags.get(decision.attempt.server_id, NO_FLAGS).version if decision.attempt else None
                change = Change(workload, decision.workload, None, decision.attempt, version)
                changes[workload.organization_id].append(change)
        won: list[Change] = []
        for organization_id, group in changes.items():
            results = await apply_changes(organization_id, group, self.clock.now())
            won += [change for change, did_win in zip(group, results, strict=True) if did_win]
            self.bus.wake_events(organization_id)
            if not all(results):
                self.bus.wake_queue()
        return won

    async def _explain(self, queue: Sequence[Waiting], answers: Mapping[UUID, Answer]) -> None:
        """Store why the rest waits, a statement for each group that shares its words."""
        groups: dict[tuple[UUID, Reason, str], list[UUID]] = defaultdict(list)
        for waiting in queue:
            answer = answers[waiting.id]
            if not isinstance(answer, Place) and (waiting.reason, waiting.message) != (answer.reason, answer.message):
                groups[waiting.organization_id, answer.reason, answer.message].append(waiting.id)
        for (organization_id, reason, message), ids in groups.items():
            await explain_waiting(organization_id, ids, reason, message, self.clock.now())
            self.bus.wake_events(organization_id)


def _plan(
    planner: Planner, requests: Sequence[Request], take_snapshot: Callable[[], Snapshot], outlook: Outlook
) -> Plan:
    return planner.plan(requests, take_snapshot(), outlook)


def pool_owner(organizations: Iterable[Organization]) -> Callable[[ObservedNode], str]:
    """Whose a node is: the slug that its pool label names, else that of the default organization, else nobody's."""
    default = next((o.slug for o in organizations if o.is_default), "")
    return lambda node: node.pool or default


def _request(waiting: Waiting, slug: str, clusters: Sequence[str], longest: Callable[[int, int], float]) -> Request:
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


def _deadline(waiting: Waiting) -> datetime | None:
    return queue_deadline(waiting.queued_at, waiting.queue_timeout_seconds)


def _next_moment(queue: Iterable[Waiting], now: datetime) -> datetime | None:
    moments = (m for w in queue for m in (w.not_before, _deadline(w)) if m is not None and m > now)
    return min(moments, default=None)
