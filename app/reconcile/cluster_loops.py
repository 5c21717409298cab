"""The loops over one cluster: its watches, the jobs placed there, its nodes, whether it answers, what it lacks.

Each cluster has its own, made by `app.reconcile.background`, so that one that is down holds up no other. What they
share, `Shared`, is of the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn
from uuid import UUID

import structlog

from app.bus import Bus
from app.clock import Clock
from app.cluster.labels import workload_of
from app.cluster.port import ClusterError, Kind
from app.cluster.projection import Change, Projection
from app.cluster.watches import run_watches
from app.domain.lifecycle import Policy
from app.domain.workload import Attempt
from app.reconcile.clusters import Cluster, Lost
from app.reconcile.contact import ASK_SECONDS, ContactKeeper
from app.reconcile.jobs import JobReconciler
from app.reconcile.log_keeper import LogKeeper
from app.reconcile.log_rescue import AttemptKey, key_of
from app.reconcile.loop import KeyedLoop
from app.reconcile.nodes import NodeRecorder
from app.reconcile.orphans import Orphans
from app.reconcile.recent import Recent
from app.reconcile.writing import DecisionWriter
from app.store import people

_log = structlog.get_logger(__name__)

ONLY = "all"  # the key of loops that have one thing to look after
_CHECK_SECONDS = 15
_PROGRESS_PAUSE = 0.3  # seconds: on its way to its start a pod changes many times; only start and end are urgent
_LOGS_AT_ONCE = 8  # read at the same time when many end together: each may be a few mebibytes
_LIST_PAUSE = 0.1  # seconds: between two looks whether the cluster has been listed
_NODE_PAUSE = 0.2  # seconds: a start lists many nodes one by one

Loop = KeyedLoop[UUID] | KeyedLoop[AttemptKey] | KeyedLoop[str]


@dataclass(frozen=True)
class Pace:
    """Seconds, but for `workers`: how many workloads of a cluster are reconciled at the same time."""

    resync: int = 60
    lost_after: float = 60.0
    workers: int = 16
    half_life: float = 7 * 24 * 3600.0  # of what projects have used; 0: it makes no difference
    keep_after: float = 6 * 3600.0  # of waiting for GPUs of pods of others; 0: no server is ever kept


@dataclass(frozen=True)
class Shared:
    """What the loops of all clusters have in common. `look_again` asks for a full look at everything."""

    bus: Bus
    clock: Clock
    policy: Policy
    pace: Pace
    recent: Recent
    writer: DecisionWriter
    look_again: Callable[[], None]
    installation: str


@dataclass
class ClusterLoops:
    """`watch` and `work` end only by cancellation. `missing`: sentences on what the cluster lacks for work."""

    cluster: Cluster
    shared: Shared
    jobs: KeyedLoop[UUID] = field(init=False)
    logs: KeyedLoop[AttemptKey] = field(init=False)
    nodes: KeyedLoop[str] = field(init=False)
    check: KeyedLoop[str] = field(init=False)
    orphans: Orphans = field(init=False)
    strays: KeyedLoop[str] = field(init=False)
    contact: KeyedLoop[str] = field(init=False)
    missing: tuple[str, ...] = field(init=False, default=())
    _began_blind: bool = field(init=False, default=False)  # jobs are followed before it was known what there is
    servers_recorded: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        it, clock = self.shared, self.shared.clock
        self._log_keeper = LogKeeper(self.cluster.port, self.projection, it.bus, clock)
        self.logs = KeyedLoop("logs", clock, self._log_keeper.keep, _LOGS_AT_ONCE)
        self._jobs = JobReconciler(
            self.cluster,
            clock,
            it.policy,
            it.recent,
            it.writer,
            self._keep_log,
            self._log_keeper.rescue.secure,
            it.installation,
            told_of_a_lack=lambda: self.check.queue.add(ONLY),
        )
        self.orphans = Orphans(self.cluster, it.bus, clock, it.policy, it.writer.claims, it.installation)
        self.strays = KeyedLoop("orphans", clock, self._look_for_orphans)
        self._recorder = NodeRecorder(self.cluster, clock)
        self._contact_keeper = ContactKeeper(self.cluster, clock, it.pace.lost_after)
        self._list_again, self._is_lost = asyncio.Event(), asyncio.Event()
        self.jobs = KeyedLoop("jobs", clock, self._reconcile, it.pace.workers)
        self.nodes = KeyedLoop("nodes", clock, self._record_nodes)
        self.check = KeyedLoop("check", clock, self._check)
        self.contact = KeyedLoop("contact", clock, self._keep_contact)

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def projection(self) -> Projection:
        return self.cluster.projection

    @property
    def loops(self) -> tuple[Loop, ...]:
        return (self.contact, self.check, *self.working_loops)

    @property
    def working_loops(self) -> tuple[Loop, ...]:
        """Those of the one process that works."""
        return (self.strays, self.logs, self.nodes, self.jobs)

    async def watch(self) -> None:
        """See what is there: what every process does, also one that only stands by."""
        self.contact.queue.add(ONLY)
        self.check.queue.add(ONLY)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(), name=f"watches of {self.name}")
            for loop in (self.contact, self.check):
                group.create_task(loop.run(), name=f"{loop.name} of {self.name}")

    async def work(self) -> None:
        """Act on it: what one process at a time does."""
        self.strays.queue.add(ONLY)
        try:
            async with asyncio.TaskGroup() as group:
                for loop in self.working_loops:
                    if loop is self.jobs:
                        await self._may_follow()
                    group.create_task(loop.run(), name=f"{loop.name} of {self.name}")
        finally:
            self._log_keeper.rescue.close()

    async def _may_follow(self) -> None:
        """Nothing ends before it is known what the cluster has. Where it does not answer, that much must be told."""
        waits = {asyncio.create_task(event.wait()) for event in (self.orphans.adopted, self._is_lost)}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._began_blind = not self.orphans.adopted.is_set()

    async def _reconcile(self, workload_id: UUID) -> datetime | None:
        if self._began_blind and self.cluster.contact.lost is None and not self.orphans.adopted.is_set():
            return self.shared.clock.now() + timedelta(seconds=_LIST_PAUSE)
        return await self._jobs.reconcile(workload_id)

    def begin(self, attempt: Attempt) -> None:
        """It was placed here just now."""
        self._jobs.expect(attempt)
        self.jobs.queue.add(attempt.workload_id)

    def begin_anew(self) -> None:
        """With nothing remembered: another process may have worked until now."""
        self._jobs.forget()
        self._log_keeper.forget()
        self.orphans.forget()
        for loop in self.working_loops:
            loop.queue.clear()

    def _keep_log(self, attempt: Attempt) -> None:
        if self._log_keeper.begin(attempt):
            self.logs.queue.add(key_of(attempt))

    async def _watch(self) -> NoReturn:
        """Watch; begin anew, with lists, whenever what was seen is taken for old."""
        port, look_again, ticks = self.cluster.port, self.shared.look_again, self.shared.clock.monotonic
        while True:
            self._list_again.clear()
            async with asyncio.TaskGroup() as group:
                watches = group.create_task(
                    run_watches(port, self.projection, ticks, self._on_change, recovered=look_again)
                )
                await self._list_again.wait()
                watches.cancel()

    def wake_nodes(self) -> None:
        self.nodes.queue.add(ONLY, _NODE_PAUSE)

    async def _keep_contact(self, _: str) -> datetime | None:
        """Look whether the cluster answers, and tell everybody when that has changed.

        When contact is lost, and again with the first answer after that, all is listed anew: only then it is known.
        """
        contact, keeper = self.cluster.contact, self._contact_keeper
        before, was_late, answered = contact.lost, contact.is_late, keeper.answers
        await keeper.look()
        lost, answers_again = contact.lost, keeper.answers and not answered
        if lost and (answers_again or (before is None and self.projection.synced)):
            self.projection.forget_health()
            self._list_again.set()
        if (lost is None) != (before is None):
            (self._is_lost.set if lost else self._is_lost.clear)()
            self._tell_contact(lost)
            self.shared.look_again()
        if contact.is_late != was_late:
            self.shared.bus.wake_queue()
        return self.shared.clock.now() + timedelta(seconds=ASK_SECONDS)

    def _tell_contact(self, lost: Lost | None) -> None:
        if lost:
            since = lost.since and lost.since.isoformat(timespec="seconds")
            _log.error("cluster.contact.lost", cluster=self.name, last_contact=since, error=lost.error)
        else:
            _log.info("cluster.contact.back", cluster=self.name)

    async def _check(self, _: str) -> datetime | None:
        """What an operator has still to do, for the log and `/readyz`: looked at until nothing is missing.

        The loops try on regardless; when the last thing is mended, whatever was held up by it is looked at again.
        """
        try:
            missing = await self.cluster.port.check(await self._slugs())
        except ClusterError as error:
            missing = (error.message,)
        for words in set(missing) - set(self.missing):
            _log.warning("the cluster is not set up for GPUYard", cluster=self.name, missing=words)
        if self.missing and not missing:
            self.shared.look_again()
        self.missing = missing
        return self.shared.clock.now() + timedelta(seconds=_CHECK_SECONDS) if missing else None

    async def _slugs(self) -> list[str]:
        return [organization.slug for organization in await people.organizations()]

    def _on_change(self, change: Change) -> None:
        if change.workload_id is not None:
            self.jobs.queue.add(UUID(change.workload_id), self._pause_of(change))
        if not change.name and self.projection.synced:  # it is all listed now
            self.contact.queue.add(ONLY)
            self.shared.look_again()
        if change.affects_capacity:
            self.shared.bus.wake_queue()
        if change.kind is Kind.NODES:
            self.wake_nodes()

    def _pause_of(self, change: Change) -> float:
        if change.kind is not Kind.PODS:
            return _PROGRESS_PAUSE
        _, pod = self.projection.observe(
            change.name.rpartition("-")[0], namespace=change.namespace
        )  # a Job's pod is named after it
        is_urgent = pod is None or pod.is_over or pod.running_since is not None
        return 0.0 if is_urgent else _PROGRESS_PAUSE

    async def _look_for_orphans(self, _: str) -> datetime | None:
        now = self.shared.clock.now()
        if not self.cluster.is_current:
            return now + timedelta(seconds=_LIST_PAUSE)
        await self.orphans.look()
        return now + timedelta(seconds=self.shared.pace.resync)

    async def _record_nodes(self, _: str) -> datetime | None:
        """Record them, and let every workload that is on one see whether it still answers."""
        if await self._recorder.record():
            self.servers_recorded.set()
        for pod in self.projection.bound_pods():
            if workload_id := workload_of(pod.job_name):
                self.jobs.queue.add(UUID(workload_id))
        return None
