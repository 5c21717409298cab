"""A world to reconcile: a real store, a cluster in memory, and a projection that is as fresh as the test makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from app.bus import Bus
from app.cluster.port import Kind
from app.cluster.projection import Projection
from app.commands.cancel_workload import cancel_workload
from app.commands.context import CommandContext
from app.commands.resume_workload import resume_workload
from app.commands.suspend_workload import suspend_workload
from app.domain.lifecycle import Policy
from app.domain.people import Organization, Principal, Role
from app.domain.submission import Defaults
from app.domain.workload import Attempt, Event, EventType, Workload
from app.reconcile.background import Background
from app.reconcile.cluster_loops import ClusterLoops
from app.reconcile.clusters import Cluster
from app.store import reads, servers
from app.store.writes import apply_changes
from tests.clock import ManualClock
from tests.placement.builders import node
from tests.reconcile.fake_port import FakeCluster
from tests.store.builders import a_stored_workload, an_organization, events, loaded, placement

INSTALLATION = "00000000-0000-4000-8000-0000000000aa"
SERVER = "gpu-1"
POLICY = Policy(kubelet_slack_seconds=45, retry_base_seconds=10, job_retention_seconds=3600)
MOST_STEPS = 12


@dataclass
class World:
    """One process and its cluster. `restart` loses what the process had in memory, and nothing else."""

    organization: Organization
    clock: ManualClock
    cluster: FakeCluster = field(default_factory=FakeCluster)
    bus: Bus = field(default_factory=Bus)
    background: Background = field(init=False)

    def __post_init__(self) -> None:
        self.restart(Bus())

    def restart(self, bus: Bus) -> None:
        self.bus = bus
        clusters = [Cluster("default", self.cluster, Projection("gpuyard"))]
        self.background = Background(clusters, bus, self.clock, POLICY, installation=INSTALLATION)

    @property
    def loops(self) -> ClusterLoops:
        return self.background.per_cluster["default"]

    @property
    def projection(self) -> Projection:
        return self.loops.projection

    def watch(self, *kinds: Kind) -> None:
        """The watches catch up with the cluster: all of them, or only some."""
        for kind in kinds or tuple(Kind):
            self.projection.begin_list(kind)
            self.projection.replace(kind, self.cluster.items(kind))
            self.projection.health[kind].synced = True

    async def submit(self, **changes: Any) -> Workload:
        now = self.clock.now()
        return await a_stored_workload(self.organization, created_at=now, **{"queued_at": now, **changes})

    async def place(self, **changes: Any) -> Workload:
        """Submitted, and placed on the server; its Job doesn't exist yet."""
        workload = await self.submit(**changes)
        change = placement(workload, self.clock.now())
        assert await apply_changes(self.organization.id, [change], self.clock.now()) == [True]
        assert change.attempt is not None
        self.loops.begin(change.attempt)
        return await loaded(workload)

    async def run(self, **changes: Any) -> Workload:
        """Placed, created and executing, all of it seen."""
        workload = await self.place(**changes)
        await self.settle(workload)
        self.cluster.start_pod(name_of(workload), self.clock.now())
        await self.settle(workload)
        self.cluster.run_container(name_of(workload), self.clock.now())
        await self.settle(workload)
        return await loaded(workload)

    async def step(self, workload: Workload) -> datetime | None:
        """One reconciliation, of whatever the projection shows by now; and the logs that are due after it."""
        wake_at = await self.loops.jobs.reconcile(workload.id)
        await self.keep_logs()
        return wake_at

    async def keep_logs(self) -> None:
        """What the loop of logs does now, but that an error is the test's."""
        queue = self.loops.logs.queue
        while (wait := queue._until_next()) is not None and wait <= 0:
            key = await queue.get()
            try:
                wake_at = await self.loops.logs.reconcile(key)
            finally:
                queue.done(key)
            if wake_at is not None:
                queue.add(key, (wake_at - self.clock.now()).total_seconds())

    async def settle(self, workload: Workload) -> None:
        """Reconcile until nothing is left to do at this moment, the watches keeping up."""
        for _ in range(MOST_STEPS):
            self.watch()
            before = await self.facts(workload)
            await self.step(workload)
            if before == await self.facts(workload):
                return
        raise AssertionError("it never comes to rest")

    async def facts(self, workload: Workload) -> tuple[object, ...]:
        return await loaded(workload), await self.attempts(workload), dict(self.cluster.jobs), dict(self.cluster.pods)

    async def attempts(self, workload: Workload) -> list[Attempt]:
        return await reads.attempts_of([workload.id])

    async def cancel(self, workload: Workload) -> Workload:
        """As a person does it."""
        principal = Principal("ada", {self.organization.id: Role.OWNER})
        return await cancel_workload(CommandContext(self.clock, self.bus, Defaults()), principal, workload.id)

    async def suspend(self, workload: Workload) -> Workload:
        principal = Principal("ada", {self.organization.id: Role.OWNER})
        return await suspend_workload(CommandContext(self.clock, self.bus, Defaults()), principal, workload.id)

    async def resume(self, workload: Workload) -> Workload:
        principal = Principal("ada", {self.organization.id: Role.OWNER})
        return await resume_workload(CommandContext(self.clock, self.bus, Defaults()), principal, workload.id)

    async def ends(self, workload: Workload) -> list[Event]:
        return [e for e in await self.events(workload) if e.type is EventType.ENDED]

    async def events(self, workload: Workload) -> list[Event]:
        return [e for e in await events(self.organization) if e.workload_id == workload.id]


async def a_world(clock: ManualClock) -> World:
    """An organization with one server of 8 GPUs on record and in the cluster."""
    world = World(await an_organization(), clock)
    world.cluster.nodes[SERVER] = node(SERVER)
    await servers.record_nodes("default", [(node(SERVER), "acme")], clock.now())
    world.watch()
    return world


def name_of(workload: Workload | UUID, attempt: int = 1) -> str:
    id_ = workload if isinstance(workload, UUID) else workload.id
    return f"gw-{id_.hex}-{attempt}"


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)
