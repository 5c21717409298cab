"""The loops over one cluster: its watches, the jobs placed there, its nodes, and what it lacks for work.

Each cluster has its own, made by `app.reconcile.background`, so that one that is down holds up no other. What they
share, `Shared`, is of the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.bus import Bus
from app.clock import Clock
from app.cluster.labels import workload_of
from app.cluster.port import ClusterError, ClusterPort, Kind
from app.cluster.projection import Change, Projection
from app.cluster.watches import run_watches
from app.domain.lifecycle import Policy
from app.domain.workload import Attempt
from app.reconcile.claims import Claims
from app.reconcile.jobs import JobReconciler
from app.reconcile.log_keeper import LogKeeper
from app.reconcile.log_rescue import AttemptKey, key_of
from app.reconcile.loop import KeyedLoop
from app.reconcile.nodes import NodeRecorder
from app.reconcile.orphans import Orphans
from app.reconcile.recent import Recent

_log = structlog.get_logger(__name__)

ONLY = "all"  # the key of loops that have one thing to look after
_CHECK_SECONDS = 15
_PROGRESS_PAUSE = 0.3  # seconds: on its way to its start a pod changes many times; only start and end are urgent
_LOGS_AT_ONCE = 8  # read at the same time when many end together: each may be a few mebibytes
_NODE_PAUSE = 0.2  # seconds: a start lists many nodes one by one

Loop = KeyedLoop[UUID] | KeyedLoop[AttemptKey] | KeyedLoop[str]


@dataclass(frozen=True)
class Cluster:
    """A cluster of the settings: what it is called there, the way to it, and the picture of it."""

    name: str
    port: ClusterPort
    projection: Projection


@dataclass(frozen=True)
class Shared:
    """What the loops of all clusters have in common. `look_again` asks for a full look at everything."""

    bus: Bus
    clock: Clock
    policy: Policy
    claims: Claims
    recent: Recent
    look_again: Callable[[], None]
    installation: str
    resync_seconds: int


@dataclass
class ClusterLoops:
    """`watch` and `work` end only by cancellation. `missing`: sentences on what the cluster lacks for work."""

    cluster: Cluster
    shared: Shared
    workers: int = 16
    jobs: KeyedLoop[UUID] = field(init=False)
    logs: KeyedLoop[AttemptKey] = field(init=False)
    nodes: KeyedLoop[str] = field(init=False)
    check: KeyedLoop[str] = field(init=False)
    orphans: Orphans = field(init=False)
    strays: KeyedLoop[str] = field(init=False)
    missing: tuple[str, ...] = field(init=False, default=())
    servers_recorded: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        it, clock = self.shared, self.shared.clock
        port = self.cluster.port
        self._keeper = LogKeeper(port, self.projection, it.bus, clock)
        self.logs = KeyedLoop("logs", clock, self._keeper.keep, _LOGS_AT_ONCE)
        jobs = JobReconciler(
            port,
            self.projection,
            it.bus,
            clock,
            it.policy,
            it.claims,
            self._keep_log,
            self._keeper.rescue.secure,
            it.recent,
            it.installation,
        )
        self.orphans = Orphans(port, self.projection, it.bus, clock, it.policy, it.claims, it.installation)
        self.strays = KeyedLoop("orphans", clock, self._look_for_orphans)
        self._recorder = NodeRecorder(self.projection, clock)
        self.jobs = KeyedLoop("jobs", clock, jobs.reconcile, self.workers)
        self.nodes = KeyedLoop("nodes", clock, self._record_nodes)
        self.check = KeyedLoop("check", clock, self._check)

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def projection(self) -> Projection:
        return self.cluster.projection

    @property
    def loops(self) -> tuple[Loop, ...]:
        return (self.check, *self.working_loops)

    @property
    def working_loops(self) -> tuple[Loop, ...]:
        """Those of the one process that works."""
        return (self.strays, self.logs, self.nodes, self.jobs)

    async def watch(self) -> None:
        """See what is there: what every process does, also one that only stands by."""
        self.check.queue.add(ONLY)
        clock = self.shared.clock
        async with asyncio.TaskGroup() as group:
            port, look_again = self.cluster.port, self.shared.look_again
            group.create_task(
                run_watches(port, self.projection, clock.monotonic, self._on_change, recovered=look_again)
            )
            group.create_task(self.check.run(), name=f"{self.check.name} of {self.name}")

    async def work(self) -> None:
        """Act on it: what one process at a time does."""
        self.strays.queue.add(ONLY)
        try:
            async with asyncio.TaskGroup() as group:
                for loop in self.working_loops:
                    if loop is self.jobs:  # nothing ends before it is known what the cluster has
                        await self.orphans.adopted.wait()
                    group.create_task(loop.run(), name=f"{loop.name} of {self.name}")
        finally:
            self._keeper.rescue.close()

    def begin_anew(self) -> None:
        """With nothing remembered: another process may have worked until now."""
        self._keeper.forget()
        self.orphans.forget()
        for loop in self.working_loops:
            loop.queue.clear()

    def _keep_log(self, attempt: Attempt) -> None:
        if self._keeper.begin(attempt):
            self.logs.queue.add(key_of(attempt))

    def wake_nodes(self) -> None:
        self.nodes.queue.add(ONLY, _NODE_PAUSE)

    async def _check(self, _: str) -> datetime | None:
        """What an operator has still to do, for the log and `/readyz`: looked at until nothing is missing.

        The loops try on regardless; when the last thing is mended, whatever was held up by it is looked at again.
        """
        try:
            missing = await self.cluster.port.check()
        except ClusterError as error:
            missing = (error.message,)
        for words in set(missing) - set(self.missing):
            _log.warning("the cluster is not set up for GPUYard", cluster=self.name, missing=words)
        if self.missing and not missing:
            self.shared.look_again()
        self.missing = missing
        return self.shared.clock.now() + timedelta(seconds=_CHECK_SECONDS) if missing else None

    def _on_change(self, change: Change) -> None:
        if change.workload_id is not None:
            self.jobs.queue.add(UUID(change.workload_id), self._pause_of(change))
        if change.affects_capacity:
            self.shared.bus.wake_queue()
        if change.kind is Kind.NODES:
            self.wake_nodes()

    def _pause_of(self, change: Change) -> float:
        if change.kind is not Kind.PODS:
            return _PROGRESS_PAUSE
        _, pod = self.projection.observe(change.name.rpartition("-")[0])  # a Job's pod is named after it
        is_urgent = pod is None or pod.is_over or pod.running_since is not None
        return 0.0 if is_urgent else _PROGRESS_PAUSE

    async def _look_for_orphans(self, _: str) -> datetime | None:
        now = self.shared.clock.now()
        if not self.projection.synced:
            return now + timedelta(seconds=0.1)
        await self.orphans.look()
        return now + timedelta(seconds=self.shared.resync_seconds)

    async def _record_nodes(self, _: str) -> datetime | None:
        """Record them, and let every workload that is on one see whether it still answers."""
        if await self._recorder.record():
            self.servers_recorded.set()
        for pod in self.projection.bound_pods():
            workload_id = workload_of(pod.job_name) if pod.namespace == self.projection.namespace else None
            if workload_id is not None:
                self.jobs.queue.add(UUID(workload_id))
        return None
