"""All loops of the process, and what wakes each: watches, placing, jobs, nodes, and a full look once in a while."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.bus import Bus, Listeners
from app.clock import Clock
from app.cluster.labels import workload_of
from app.cluster.port import ClusterError, ClusterPort, Kind
from app.cluster.projection import Change, Projection
from app.cluster.watches import run_watches
from app.domain.lifecycle import Policy
from app.domain.workload import Attempt, Workload
from app.reconcile.board import Board
from app.reconcile.claims import Claims
from app.reconcile.jobs import JobReconciler
from app.reconcile.loop import KeyedLoop
from app.reconcile.nodes import NodeRecorder
from app.reconcile.recent import Known, Recent
from app.reconcile.schedule import Scheduler
from app.store import reads

_log = structlog.get_logger(__name__)

_ONLY = "all"  # the key of loops that have one thing to look after
_CHECK_SECONDS = 15
_QUEUE_PAUSE = 0.005  # seconds: submissions that come together are planned together
_PROGRESS_PAUSE = 0.3  # seconds: on its way to its start a pod changes many times; only start and end are urgent
_NODE_PAUSE = 0.2  # seconds: a start lists many nodes one by one


@dataclass
class Background:
    """The loops over one cluster. `run` ends only by cancellation."""

    port: ClusterPort
    projection: Projection
    bus: Bus
    clock: Clock
    policy: Policy
    resync_seconds: int = 60
    workers: int = 16
    board: Board = field(init=False)
    jobs: KeyedLoop[UUID] = field(init=False)
    schedule: KeyedLoop[str] = field(init=False)
    nodes: KeyedLoop[str] = field(init=False)
    check: KeyedLoop[str] = field(init=False)
    resync: KeyedLoop[str] = field(init=False)
    has_ended: bool = field(init=False, default=False)  # true outside a stop is a defect: nothing is followed any more
    missing: tuple[str, ...] = field(init=False, default=())  # sentences on what the cluster lacks for work
    _has_looked: bool = field(init=False, default=False)
    servers_recorded: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._claims = Claims(self.projection)
        self.board = Board(self.projection, self._claims)
        self._recent = Recent()
        jobs = JobReconciler(self.port, self.projection, self.bus, self.clock, self.policy, self._claims, self._recent)
        self._scheduler = Scheduler(self.projection, self.board, self._claims, self.bus, self.clock, self._on_placed)
        self._recorder = NodeRecorder(self.projection, self.clock)
        self.jobs = KeyedLoop("jobs", self.clock, jobs.reconcile, self.workers)
        self.schedule = KeyedLoop("schedule", self.clock, lambda _: self._scheduler.tick())
        self.nodes = KeyedLoop("nodes", self.clock, self._record_nodes)
        self.check = KeyedLoop("check", self.clock, self._check)
        self.resync = KeyedLoop("resync", self.clock, self._look_at_everything)
        self.bus.listen(
            Listeners(
                queue=lambda: self.schedule.queue.add(_ONLY, _QUEUE_PAUSE),
                nodes=lambda: self.nodes.queue.add(_ONLY, _NODE_PAUSE),
                workload=self._on_written,
            )
        )

    @property
    def loops(self) -> tuple[KeyedLoop[UUID] | KeyedLoop[str], ...]:
        return (self.check, self.jobs, self.schedule, self.nodes, self.resync)

    async def run(self) -> None:
        self.check.queue.add(_ONLY)
        self.resync.queue.add(_ONLY)
        try:
            await self._run_loops()
        finally:
            self.has_ended = True

    async def _run_loops(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(run_watches(self.port, self.projection, self.clock.monotonic, self._on_change))
            for loop in self.loops:
                group.create_task(loop.run(), name=loop.name)

    async def _check(self, _: str) -> datetime | None:
        """What an operator has still to do, for the log and `/readyz`: looked at until nothing is missing.

        The loops try on regardless; when the last thing is mended, whatever was held up by it is looked at again.
        """
        try:
            missing = await self.port.check()
        except ClusterError as error:
            missing = (error.message,)
        for words in set(missing) - set(self.missing):
            _log.warning("the cluster is not set up for GPUYard", missing=words)
        if self.missing and not missing:
            self.resync.queue.add(_ONLY)
        self.missing = missing
        return self.clock.now() + timedelta(seconds=_CHECK_SECONDS) if missing else None

    def _on_written(self, workload_id: UUID) -> None:
        """Somebody else wrote the workload, or may have: read it again."""
        self._recent.forget(workload_id)
        self.jobs.queue.add(workload_id)

    def _on_placed(self, workload: Workload, attempt: Attempt) -> None:
        if attempt.number == 1:
            self._recent.remember(Known(workload, (attempt,)))
        else:
            self._recent.forget(workload.id)  # what is remembered is from before this attempt
        self.jobs.queue.add(workload.id)

    def _on_change(self, change: Change) -> None:
        if change.workload_id is not None:
            self.jobs.queue.add(UUID(change.workload_id), self._pause_of(change))
        if change.affects_capacity:
            self.bus.wake_queue()
        if change.kind is Kind.NODES:
            self.bus.wake_nodes()

    def _pause_of(self, change: Change) -> float:
        if change.kind is not Kind.PODS:
            return _PROGRESS_PAUSE
        _, pod = self.projection.observe(change.name.rpartition("-")[0])  # a Job's pod is named after it
        is_urgent = pod is None or pod.is_over or pod.running_since is not None
        return 0.0 if is_urgent else _PROGRESS_PAUSE

    async def _record_nodes(self, _: str) -> datetime | None:
        """Record them, and let every workload that is on one see whether it still answers."""
        if await self._recorder.record():
            self.servers_recorded.set()
        for pod in self.projection.bound_pods():
            workload_id = workload_of(pod.job_name) if pod.namespace == self.projection.namespace else None
            if workload_id is not None:
                self.jobs.queue.add(UUID(workload_id))
        return None

    async def _look_at_everything(self, _: str) -> datetime | None:
        """What was missed is found here: by a lost signal, by another process, by a restart.

        The first look takes in the Jobs that are merely kept for a while, and so sets the time of their removal.
        """
        if not self.projection.synced:
            return self.clock.now() + timedelta(seconds=0.1)
        await self._claims.load()
        now = self.clock.now()
        kept_since = now - timedelta(seconds=self.policy.job_retention_seconds) if self._has_looked else None
        for workload_id in await reads.workloads_to_reconcile(kept_since):
            self.bus.wake_workload(workload_id)
        self._has_looked = True
        self.bus.wake_queue()
        self.bus.wake_nodes()
        return self.clock.now() + timedelta(seconds=self.resync_seconds)
