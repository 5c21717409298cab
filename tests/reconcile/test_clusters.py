"""Several clusters: each workload is followed where it runs, and a lost cluster's are unknown until it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from app.bus import Bus
from app.cluster.port import Kind
from app.cluster.projection import Projection
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Workload
from app.reconcile.background import Background
from app.reconcile.clusters import Cluster, Lost
from app.store import servers
from app.store.database import opened
from tests.clock import START, ManualClock
from tests.placement.builders import node
from tests.reconcile.builders import POLICY, World, a_world, name_of, seconds
from tests.reconcile.fake_port import FakeCluster
from tests.reconcile.test_scheduler import gpus, tick
from tests.store.builders import loaded

LOST = Lost(START, "connection refused")
WORDS = "the cluster default has not answered since 2026-11-30 12:00:00 UTC; what the workload does there is unknown"


@dataclass
class Worlds(World):
    """Beside the cluster `default` there is `munich`, whose server has the same name."""

    munich: FakeCluster = field(default_factory=FakeCluster)

    def restart(self, bus: Bus) -> None:
        self.bus = bus
        ports = {"default": self.cluster, "munich": self.munich}
        clusters = [Cluster(name, port, Projection("gpuyard")) for name, port in ports.items()]
        self.background = Background(clusters, bus, self.clock, POLICY)

    def watch(self, *kinds: Kind) -> None:
        super().watch(*kinds)
        projection = self.background.per_cluster["munich"].projection
        for kind in kinds or tuple(Kind):
            projection.replace(kind, self.munich.items(kind))
            projection.health[kind].synced = True

    def lose(self, name: str = "default") -> None:
        self.background.per_cluster[name].cluster.contact.lost = LOST

    def find(self, name: str = "default") -> None:
        self.background.per_cluster[name].cluster.contact.lost = None

    async def step_in(self, name: str, workload: Workload) -> None:
        await self.background.per_cluster[name].jobs.reconcile(workload.id)


@pytest.fixture
async def worlds(sqlite_url: str, clock: ManualClock) -> AsyncIterator[Worlds]:
    async with opened(sqlite_url):
        one = await a_world(clock)
        worlds = Worlds(one.organization, clock, one.cluster)
        worlds.munich.nodes["gpu-1"] = node("gpu-1", 2)
        await servers.record_nodes("munich", [(node("gpu-1", 2), "acme")], clock.now())
        worlds.watch()
        yield worlds


async def test_placing_sees_both_as_one_fleet(worlds: Worlds):
    small, large = await worlds.submit(spec=gpus(2)), await worlds.submit(spec=gpus(8))
    await tick(worlds)
    found = [((await loaded(it)).cluster, (await loaded(it)).server) for it in (small, large)]
    assert found == [("munich", "gpu-1"), ("default", "gpu-1")]
    [attempt] = await worlds.attempts(small)
    assert attempt.cluster == "munich"
    queues = {name: len(loops.jobs.queue) for name, loops in worlds.background.per_cluster.items()}
    assert queues == {"default": 1, "munich": 1}


async def test_a_job_is_made_in_its_own_cluster_alone(worlds: Worlds):
    workload = await worlds.submit(spec=gpus(2))
    await tick(worlds)
    await worlds.step_in("default", workload)
    assert (worlds.cluster.created, worlds.munich.created) == ([], [])
    await worlds.step_in("munich", workload)
    assert (worlds.cluster.created, worlds.munich.created) == ([], [name_of(workload)])


async def test_what_one_server_promised_is_not_taken_of_its_namesake(worlds: Worlds):
    await worlds.submit(spec=gpus(2))
    await tick(worlds)
    free = {id_.cluster: server.gpus_free_now for id_, server in worlds.background.board.servers().items()}
    assert free == {"default": 8, "munich": 0}


async def test_a_try_elsewhere_may_be_in_the_other_cluster(worlds: Worlds):
    workload = await worlds.submit(spec=gpus(2), avoid_servers=("munich/gpu-1",))
    await tick(worlds)
    assert (await loaded(workload)).cluster == "default"


@pytest.mark.parametrize("name", ["default", "munich"])
async def test_an_old_bare_name_is_avoided_everywhere(worlds: Worlds, name: str):
    worlds.munich.nodes["gpu-2"] = worlds.cluster.nodes["gpu-2"] = node("gpu-2", 4)
    worlds.watch()
    workload = await worlds.submit(spec=gpus(2), avoid_servers=("gpu-1",))
    await tick(worlds)
    assert (await loaded(workload)).server == "gpu-2"


async def test_a_lost_cluster_takes_nothing_and_people_are_told(worlds: Worlds):
    worlds.lose("default")
    small, large = await worlds.submit(spec=gpus(2)), await worlds.submit(spec=gpus(8))
    worlds.clock.advance(1)
    second = await worlds.submit(spec=gpus(2))
    await tick(worlds)
    assert (await loaded(small)).cluster == "munich"
    waits = await loaded(large)
    assert waits.reason is Reason.NO_USABLE_SERVER
    assert waits.message == (
        "needs 8 GPUs; the only server large enough, default/gpu-1, is in cluster default, which does not answer"
    )
    told = await loaded(second)
    assert told.reason is Reason.WAITING_FOR_GPUS
    assert "; 1 more server large enough is in cluster default, which does not answer; it starts on" in told.message


async def test_placing_waits_for_a_cluster_that_is_about_to_be_listed_and_not_for_a_late_one(worlds: Worlds):
    munich = worlds.background.per_cluster["munich"].cluster
    munich.projection.forget_health()
    workload = await worlds.submit(spec=gpus(2))
    await tick(worlds)
    assert (await loaded(workload)).waits
    munich.contact.is_late = True
    await tick(worlds)
    assert (await loaded(workload)).cluster == "default"


async def test_where_the_only_cluster_is_late_nothing_is_said_yet(world: World):
    workload = await world.submit(spec=gpus(1))
    cluster = world.background.clusters[0]
    cluster.projection.forget_health()
    cluster.contact.is_late = True
    await tick(world)
    assert (await loaded(workload)).reason is Reason.SUBMITTED
    cluster.contact.lost = LOST
    await tick(world)
    assert (await loaded(workload)).message == (
        "needs 1 GPU; the only server large enough, gpu-1, is in a cluster that does not answer"
    )


async def test_workloads_of_a_lost_cluster_are_unknown_and_it_is_not_asked(worlds: Worlds):
    workload = await worlds.run()
    worlds.lose()
    calls = worlds.cluster.calls.total()
    await worlds.step(workload)
    lost = await loaded(workload)
    assert (lost.status, lost.phase, lost.reason) == (Status.RUNNING, Phase.UNKNOWN, Reason.CLUSTER_UNREACHABLE)
    assert lost.message == WORDS
    assert worlds.cluster.calls.total() == calls
    await worlds.step(workload)
    assert await loaded(workload) == lost
    assert [e.type for e in await worlds.events(workload)][-1] is EventType.PROGRESSED
    worlds.find()
    await worlds.settle(workload)
    assert ((await loaded(workload)).phase, (await loaded(workload)).reason) == (Phase.RUNNING, Reason.EXECUTING)


async def test_an_end_during_the_silence_is_recorded_as_it_was(worlds: Worlds):
    workload = await worlds.run()
    worlds.lose()
    await worlds.step(workload)
    worlds.cluster.end_container(name_of(workload), worlds.clock.now() + seconds(5), 3)
    worlds.clock.advance(100 * 3600)  # the run limit is long over, which changes nothing
    worlds.find()
    await worlds.settle(workload)
    ended = await loaded(workload)
    assert (ended.status, ended.exit_code, ended.completed_at) == (Status.COMPLETED, 3, START + seconds(5))
    assert len(await worlds.attempts(workload)) == 1


async def test_a_run_limit_that_passed_is_enforced_afterwards(worlds: Worlds):
    workload = await worlds.run()
    worlds.lose()
    worlds.clock.advance(100 * 3600)
    await worlds.step(workload)
    assert (await worlds.attempts(workload))[0].stop_reason is None
    worlds.find()
    await worlds.settle(workload)
    assert name_of(workload) not in worlds.cluster.jobs
    worlds.cluster.stop_orphans(worlds.clock.now())
    await worlds.settle(workload)
    assert (await loaded(workload)).status is Status.TIMEOUT


async def test_a_cancel_is_kept_and_carried_out(worlds: Worlds):
    workload = await worlds.run()
    worlds.lose()
    await worlds.step(workload)
    await worlds.cancel(workload)
    await worlds.step(workload)
    asked = await loaded(workload)
    assert (asked.status, asked.phase, asked.reason) == (Status.RUNNING, Phase.STOPPING, Reason.CANCEL_REQUESTED)
    assert asked.message == f"it is to be stopped, but {WORDS}"
    assert name_of(workload) in worlds.cluster.jobs
    worlds.find()
    await worlds.settle(workload)
    worlds.cluster.stop_orphans(worlds.clock.now())
    await worlds.settle(workload)
    assert (await loaded(workload)).status is Status.CANCELLED


async def test_a_job_that_was_not_made_yet_is_made_afterwards(worlds: Worlds):
    workload = await worlds.place()
    worlds.lose()
    await worlds.step(workload)
    assert (await loaded(workload)).phase is Phase.UNKNOWN
    assert worlds.cluster.created == []
    worlds.find()
    await worlds.step(workload)
    again = await loaded(workload)
    assert (again.phase, again.reason, worlds.cluster.created) == (Phase.CREATING, Reason.PLACED, [name_of(workload)])
    types = [e.type for e in await worlds.events(workload)]
    assert types.count(EventType.PLACED) == 1


async def test_what_an_ended_attempt_left_is_cleaned_afterwards(worlds: Worlds):
    workload = await worlds.run()
    worlds.cluster.end_container(name_of(workload), worlds.clock.now())
    worlds.watch()
    await worlds.step(workload)
    worlds.lose()
    calls = worlds.cluster.calls.total()
    await worlds.step(workload)
    assert worlds.cluster.calls.total() == calls


async def test_a_cluster_that_left_the_settings(worlds: Worlds):
    workload = await worlds.run()
    worlds.background = replace_clusters(worlds, "munich")
    await worlds.background.resync.reconcile("all")
    lost = await loaded(workload)
    assert (lost.status, lost.phase, lost.reason) == (Status.RUNNING, Phase.UNKNOWN, Reason.CLUSTER_UNREACHABLE)
    assert lost.message == (
        "the settings name no cluster default, where it was placed; it is followed again once GPUYARD_CLUSTERS names it"
    )
    [gone, here] = await servers.servers_of("acme")
    assert (gone.cluster, gone.gone_at, here.gone_at) == ("default", worlds.clock.now(), None)
    await worlds.background.resync.reconcile("all")
    assert await loaded(workload) == lost


def replace_clusters(worlds: Worlds, *names: str) -> Background:
    kept = [cluster for cluster in worlds.background.clusters if cluster.name in names]
    return Background(kept, worlds.bus, worlds.clock, POLICY, setting="GPUYARD_CLUSTERS")


async def test_a_full_look_takes_each_workload_to_its_cluster_and_leaves_out_what_is_not_known_yet(worlds: Worlds):
    here, there = await worlds.run(), await worlds.submit(spec=gpus(2))
    await tick(worlds)
    assert (await loaded(there)).cluster == "munich"
    worlds.restart(Bus())
    worlds.background.per_cluster["munich"].projection.health.update(
        {kind: replace(health, synced=True) for kind, health in worlds.projection.health.items()}
    )
    await worlds.background.resync.reconcile("all")
    queues = {name: len(loops.jobs.queue) for name, loops in worlds.background.per_cluster.items()}
    assert queues == {"default": 0, "munich": 1}
    worlds.watch()
    await worlds.background.resync.reconcile("all")
    assert len(worlds.background.per_cluster["default"].jobs.queue) == 1
    assert (await loaded(here)).phase is Phase.RUNNING
