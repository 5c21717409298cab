"""What one cluster has under our names and the database does not expect: load → judge → adopt, report, remove.

Runs before anything is placed or ended, and then once in a while. What was judged to be in order is not read again:
a Job's uid belongs to one attempt, and that leaves nothing behind without looking.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

import structlog

from app.bus import Bus
from app.clock import Clock
from app.cluster.port import ClusterPort, ConflictError
from app.domain.lifecycle import Policy
from app.domain.namespaces import Namespaces
from app.domain.orphans import Find, Orphan, OrphanKind, adopt, is_adoptable, judge, orphan, out_of_place, supersede
from app.domain.workload import Attempt, Workload
from app.reconcile.claims import Claims
from app.reconcile.clusters import Cluster
from app.store import audit, people, reads
from app.store.writes import Change, apply_changes

_log = structlog.get_logger(__name__)

_ACTOR, _FOUND, _REMOVED = "gpuyard", "orphan_found", "orphan_removed"
_READ_AT_ONCE = 200


@dataclass
class Orphans:
    """`found` are those of the last look, by uid. `adopted` is set once it is known what the cluster has."""

    cluster: Cluster
    bus: Bus
    clock: Clock
    policy: Policy
    claims: Claims
    installation: str
    found: dict[str, Orphan] = field(default_factory=dict)
    adopted: asyncio.Event = field(default_factory=asyncio.Event)
    _in_order: set[str] = field(default_factory=set)  # uids

    @property
    def port(self) -> ClusterPort:
        return self.cluster.port

    def forget(self) -> None:
        """Another process may have worked since."""
        self.found.clear()
        self._in_order.clear()
        self.adopted.clear()

    async def look(self) -> None:
        finds = list(self._finds())
        self._in_order &= {find.uid for find in finds}
        unknown = iter([find for find in finds if find.uid not in self._in_order])
        unexpected: list[tuple[Find, OrphanKind]] = []
        while some := list(islice(unknown, _READ_AT_ONCE)):
            unexpected += await self._judge(some)
        self.adopted.set()
        self.found = {it.find.uid: it for it in await self._report(unexpected)}
        for it in self.found.values():
            if it.removed_at is not None and it.removed_at <= self.clock.now():
                await self._remove(it.find)

    def _finds(self) -> Iterator[Find]:
        """Of two attempts of a workload the later one first: that is where the workload stands."""
        places = self.cluster.projection.job_places()
        for namespace, name in sorted(places, key=lambda place: (len(place[1]), place[1], place[0]), reverse=True):
            job, pod = self.cluster.projection.observe(name, namespace=namespace)
            if (job is not None and not job.is_deleting) or (pod is not None and pod.is_held):
                yield Find(name, job, pod, namespace)

    async def _judge(self, finds: Sequence[Find]) -> list[tuple[Find, OrphanKind]]:
        ids = list({named[0] for find in finds if (named := find.attempt)})
        workloads = await reads.workloads_by_id(ids)
        attempts = {(a.workload_id, a.number): a for a in await reads.attempts_of(ids)}
        slugs = {organization.id: organization.slug for organization in await people.organizations()}
        unexpected = []
        for find in finds:
            workload, attempt = _of(find, workloads, attempts)
            if workload is not None and find.namespace not in self._places(attempt, slugs[workload.organization_id]):
                unexpected.append((find, out_of_place(find, self.installation)))
            elif workload is not None and is_adoptable(find, workload, attempt, self.installation):
                last = attempts.get((workload.id, workload.attempt))
                workloads[workload.id] = await self._adopt(workload, last, find)
            elif kind := judge(find, workload, attempt, self.installation):
                unexpected.append((find, kind))
            elif find.job is not None:
                self._in_order.add(find.uid)
        return unexpected

    def _places(self, attempt: Attempt | None, slug: str) -> set[str]:
        """Where a Job of the organization may be: whoever may make one elsewhere is not to speak for it."""
        base = self.cluster.projection.namespace
        if attempt is not None:
            return {attempt.namespace or base}
        return {base, Namespaces(base, per_organization=True).of(slug)}

    async def _adopt(self, workload: Workload, last: Attempt | None, find: Find) -> Workload:
        """The workload as it is then. An attempt under way of which something is left is seen to its end first."""
        now, changes = self.clock.now(), []
        if last is not None and not workload.waits:
            is_here = last.cluster == self.cluster.name
            if not is_here or await self.port.find(last.job_name, namespace=last.namespace) != (None, None):
                return workload
            closed = supersede(workload, last, find, now)
            changes.append(Change(workload, closed.workload, last, closed.attempt))
            workload = changes[0].stored
        decision = adopt(workload, find, now, self.cluster.name)
        changes.append(Change(workload, decision.workload, None, decision.attempt))
        won = await apply_changes(workload.organization_id, changes, now)
        if all(won):
            _log.warning("adopted a Job that the database did not know", job=find.name, uid=find.uid)
            if decision.attempt is not None:
                self.claims.add(decision.attempt, decision.workload)
            self.bus.wake_workload(workload.id)
            self.bus.wake_events(workload.organization_id)
        return changes[-1].stored if all(won) else workload

    async def _report(self, unexpected: Sequence[tuple[Find, OrphanKind]]) -> list[Orphan]:
        """Each is noted once, when the cluster has confirmed that it is there: from then on its grace counts."""
        new = [find for find, _ in unexpected if find.uid not in self.found]
        noted = await audit.first_noted(_FOUND, [_target(find) for find in new]) if new else {}
        orphans = []
        for find, kind in unexpected:
            known = self.found.get(find.uid)
            since = known.since if known else noted.get(_target(find))
            if since is None:
                if not await self._is_there(find):
                    continue
                since = self.clock.now()
                _log.warning("nobody expects this Job", job=find.name, uid=find.uid, kind=kind, meaning=kind.meaning)
                await self._note(find, _FOUND, f"{kind}: {kind.meaning}")
            orphans.append(orphan(find, kind, since, self.installation, self.policy))
        return orphans

    async def _is_there(self, find: Find) -> bool:
        """The projection may be behind."""
        job, pod = await self.port.find(find.name, namespace=find.namespace)
        if find.job is not None:
            return job is not None and job.uid == find.job.uid
        return job is None and pod is not None and pod.is_held

    async def _remove(self, find: Find) -> None:
        """By uid, with all that runs of it; and the pod is let go, as nobody will ever record it."""
        job, pod = await self.port.find(find.name, namespace=find.namespace)
        try:
            if job is not None and find.job is not None:
                await self.port.delete_job(find.name, find.job.uid, find.namespace)
            if pod is not None and pod.is_held and (find.job is None or pod.job_uid in ("", find.job.uid)):
                await self.port.release_pod(pod)
        except ConflictError:
            _log.info("what was to be removed is another one by now", job=find.name, uid=find.uid)
            return
        _log.warning("removed a Job that nobody expected", job=find.name, uid=find.uid)
        await self._note(find, _REMOVED, "")

    async def _note(self, find: Find, action: str, detail: str) -> None:
        await audit.record(
            at=self.clock.now(),
            actor=_ACTOR,
            action=action,
            organization="",
            outcome="done",
            target=_target(find),
            detail=detail,
        )


def _of(
    find: Find, workloads: dict[UUID, Workload], attempts: dict[tuple[UUID, int], Attempt]
) -> tuple[Workload | None, Attempt | None]:
    named = find.attempt
    return (workloads.get(named[0]), attempts.get(named)) if named else (None, None)


def _target(find: Find) -> str:
    return f"{find.name} {find.uid}"[:80]
