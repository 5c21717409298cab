"""All loops of the process: those of each cluster, and the common ones: placing, full looks, wishes, purge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from app.bus import Bus, Listeners
from app.clock import Clock
from app.domain.agents import AgentPolicy, InventorySource, SamplePolicy
from app.domain.lifecycle import Policy
from app.domain.namespaces import Namespaces
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration
from app.domain.workload import Attempt, Workload
from app.reconcile.board import Board
from app.reconcile.claims import Claims
from app.reconcile.cluster_loops import ONLY, ClusterLoops, Pace, Shared
from app.reconcile.clusters import Cluster
from app.reconcile.forecast import Forecaster
from app.reconcile.inventory import AgentInventory
from app.reconcile.leadership import Leadership, OpenLock
from app.reconcile.loop import KeyedLoop
from app.reconcile.outlook import Outlooks
from app.reconcile.recent import Known, Recent
from app.reconcile.room import RoomMaker
from app.reconcile.sample_keeper import SampleKeeper
from app.reconcile.schedule import Scheduler
from app.reconcile.unnamed import UnnamedClusters
from app.reconcile.wishes import Wishes
from app.reconcile.writing import DecisionWriter
from app.store import clusters, logs, reads

_PURGED_AT_ONCE = 200
_PURGE_SECONDS = 3600
_AGENTS_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_QUEUE_PAUSE = 0.005  # seconds: submissions that come together are planned together


@dataclass
class Background:
    """The loops over all clusters of the settings, for the installation of that id. `run` ends only by cancellation."""

    clusters: Sequence[Cluster]
    bus: Bus
    clock: Clock
    policy: Policy
    pace: Pace = field(default_factory=Pace)
    tolerations: tuple[Toleration, ...] = DEFAULT_TOLERATIONS
    installation: str = ""
    setting: str = "the settings"  # what names the clusters, for people
    namespaces: Namespaces = field(default_factory=lambda: Namespaces("gpuyard"))
    inventory_source: InventorySource = InventorySource.CLUSTER
    agents: AgentPolicy = field(default_factory=AgentPolicy)
    samples_kept: SamplePolicy = field(default_factory=SamplePolicy)
    inventory: AgentInventory = field(init=False)
    board: Board = field(init=False)
    forecaster: Forecaster = field(init=False)
    per_cluster: dict[str, ClusterLoops] = field(init=False)
    schedule: KeyedLoop[str] = field(init=False)
    resync: KeyedLoop[str] = field(init=False)
    purge: KeyedLoop[str] = field(init=False)
    samples: KeyedLoop[str] = field(init=False)
    wishes: KeyedLoop[str] = field(init=False)
    leadership: Leadership = field(init=False)
    has_ended: bool = field(init=False, default=False)  # true outside a stop is a defect: nothing is followed any more
    _has_looked: bool = field(init=False, default=False)
    _looked_at: set[str] = field(init=False, default_factory=set)  # the clusters

    def __post_init__(self) -> None:
        self._claims = Claims({it.name: it.projection for it in self.clusters})
        self.inventory = AgentInventory(self.inventory_source, self.agents, self.clock)
        self.board = Board(self.clusters, self._claims, self.tolerations, self.inventory)
        self._recent = Recent()
        self.leadership = Leadership(self._work)
        self._wishes = Wishes(self.bus, self.clock)
        self.wishes = KeyedLoop("wishes", self.clock, lambda _: self._wishes.look())
        writer = DecisionWriter(self.bus, self._claims, self._recent)
        self._unnamed = UnnamedClusters(self.setting, self.clock, self._recent, writer)
        self.resync = KeyedLoop("resync", self.clock, self._look_at_everything)
        self.purge = KeyedLoop("purge", self.clock, self._purge_logs)
        keeper = SampleKeeper(self.clock, self.samples_kept)
        self.samples = KeyedLoop("samples", self.clock, lambda _: keeper.look())
        shared = Shared(
            self.bus, self.clock, self.policy, self.pace, self._recent, writer, self._look_again, self.installation
        )
        self.per_cluster = {it.name: ClusterLoops(it, shared) for it in self.clusters}
        going_by = (self.clock, self.pace.half_life, self.policy.termination_grace_seconds, self.pace.keep_after)
        outlooks = Outlooks(*going_by)
        self._scheduler = Scheduler(
            self.board,
            self._claims,
            self.bus,
            self.clock,
            self._on_placed,
            self.namespaces,
            outlooks,
            RoomMaker(self.bus, self.clock),
        )
        self.forecaster = Forecaster(self.board, self.clock, Outlooks(*going_by))
        self.schedule = KeyedLoop("schedule", self.clock, self._tick)
        self.bus.listen(
            Listeners(
                queue=lambda: self.schedule.queue.add(ONLY, _QUEUE_PAUSE),
                nodes=self._wake_nodes,
                workload=self._on_written,
            )
        )

    @property
    def loops(self) -> tuple[KeyedLoop[str], ...]:
        """Those that all clusters have in common."""
        return (self.schedule, self.resync, self.wishes, self.purge, self.samples)

    async def servers_recorded(self) -> None:
        """Wait until the servers of every cluster are on record, which is the other process's business if one works."""
        await self.leadership.is_settled.wait()
        if not self.leadership.is_leading:
            return
        for loops in self.per_cluster.values():
            await loops.servers_recorded.wait()

    async def agents_heard(self) -> None:
        """Wait until every server that counts by its agent's reports has one; not for ever, as an agent may be down."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_AGENTS_SECONDS):
                while not await self._hears_agents():  # noqa: ASYNC110 — other processes write to the database
                    await asyncio.sleep(_LOOK_SECONDS)

    async def _hears_agents(self) -> bool:
        await self.inventory.refresh()
        nodes = ((it.name, node) for it in self.clusters for node in it.projection.nodes.values() if node.is_ready)
        return not any(self.inventory.reports(cluster).why_nothing(node) for cluster, node in nodes)

    async def run(self, open_lock: OpenLock) -> None:
        """Watch the clusters, and work on them while the lock is ours."""
        try:
            async with asyncio.TaskGroup() as group:
                for of_cluster in self.per_cluster.values():
                    group.create_task(of_cluster.watch(), name=of_cluster.name)
                group.create_task(self.leadership.run(open_lock), name="leadership")
        finally:
            self.has_ended = True

    async def _work(self) -> None:
        self._begin_anew()
        async with asyncio.TaskGroup() as group:
            for of_cluster in self.per_cluster.values():
                group.create_task(of_cluster.work(), name=of_cluster.name)
            for loop in self.loops:
                group.create_task(loop.run(), name=loop.name)

    def _begin_anew(self) -> None:
        """With nothing remembered: another process may have worked until now."""
        self._recent.clear()
        self._claims.clear()
        self._wishes.forget()
        self._has_looked = False
        self._looked_at.clear()
        for of_cluster in self.per_cluster.values():
            of_cluster.begin_anew()
        for loop in self.loops:
            loop.queue.clear()
        self._look_again()
        self.wishes.queue.add(ONLY)
        self.purge.queue.add(ONLY)
        self.samples.queue.add(ONLY)

    async def _tick(self, _: str) -> datetime | None:
        """Nothing is placed before it is known what each cluster has: it may be there already."""
        seen = (it.orphans.adopted.is_set() for it in self.per_cluster.values() if it.projection.synced)
        return await self._scheduler.tick() if all(seen) else self.clock.now() + timedelta(seconds=0.1)

    def _look_again(self) -> None:
        self.resync.queue.add(ONLY)

    def _wake_nodes(self) -> None:
        for loops in self.per_cluster.values():
            loops.wake_nodes()

    def _on_written(self, workload_id: UUID) -> None:
        """Somebody else wrote the workload, or may have: read it again. Each loop takes what is in its cluster."""
        self._recent.forget(workload_id)
        for loops in self.per_cluster.values():
            loops.jobs.queue.add(workload_id)

    def _on_placed(self, workload: Workload, attempt: Attempt) -> None:
        if attempt.number == 1:
            self._recent.remember(Known(workload, (attempt,)))
        else:
            self._recent.forget(workload.id)  # what is remembered is from before this attempt
        self.per_cluster[attempt.cluster].begin(attempt)

    async def _look_at_everything(self, _: str) -> datetime | None:
        """What was missed is found here: by a lost signal, by another process, by a restart.

        The first look takes in the Jobs that are merely kept for a while, and so sets the time of their removal. A
        cluster of which nothing is known yet is left out, and asks for another look as soon as that has changed.
        """
        if not self._has_looked:
            await self._wishes.begin()
            await clusters.retire_servers(self.per_cluster, self.clock.now())
        settled = {it.name for it in self.clusters if it.is_settled}
        await self._claims.load()
        now = self.clock.now()
        kept_since = now - timedelta(seconds=self.policy.job_retention_seconds)
        for cluster, workload_id in await reads.attempts_to_reconcile(
            kept_since if settled <= self._looked_at else None
        ):
            if cluster in settled:
                self._recent.forget(workload_id)
                self.per_cluster[cluster].jobs.queue.add(workload_id)
            elif cluster not in self.per_cluster:
                await self._unnamed.tell(cluster, workload_id)
        self._has_looked = True
        self._looked_at |= settled
        self.bus.wake_queue()
        self.bus.wake_nodes()
        return now + timedelta(seconds=self.pace.resync)

    async def _purge_logs(self, _: str) -> datetime | None:
        """A batch of the logs whose time is over; the next one at once, with room for others between the two."""
        now = self.clock.now()
        before = now - timedelta(seconds=self.policy.log_retention_seconds)
        purged = await logs.purge_logs(before, _PURGED_AT_ONCE)
        return now if purged == _PURGED_AT_ONCE else now + timedelta(seconds=_PURGE_SECONDS)
