"""What is placed hangs on what node agents report, as far as the settings ask for it."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from agent.report import DriverState, Report
from app.domain.agents import AgentPolicy, InventorySource, SamplePolicy
from app.domain.samples import OF_POD, PodReading
from app.domain.states import Phase, Reason
from app.domain.workload import Resources, Workload
from app.reconcile.sample_keeper import SampleKeeper
from app.store import reports, servers
from app.store.gpu_models import GpuHolderRow, GpuSampleRow, PodSampleRow
from tests.clock import START
from tests.placement.builders import node
from tests.reconcile.builders import SERVER, World
from tests.reports import XID_79, a_device, a_holder, a_report, a_sample, an_inventory
from tests.store.builders import loaded


@pytest.fixture
def needing_agents(world: World) -> World:
    inventory = world.background.inventory
    inventory.source, inventory.policy = InventorySource.AGENT, AgentPolicy()
    return world


async def report(world: World, report: Report) -> reports.Kept:
    await servers.record_nodes(world.background.clusters[0].name, [(node(SERVER, 8), "acme")], START)
    cluster = world.background.clusters[0].name
    server = await reports.find_server(cluster, SERVER)
    assert server is not None
    return await reports.keep_report(cluster, server, report, world.clock.now(), 90)


async def after_a_tick(world: World, workload: Workload) -> Workload:
    await world.background._scheduler.tick()
    return await loaded(workload)


async def submitted(world: World, gpus: int = 1) -> Workload:
    return await world.submit(spec={"resources": Resources(gpus, 1000, 2**30)})


async def test_without_a_report_nothing_is_placed_and_the_reason_is_told(needing_agents: World):
    waiting = await after_a_tick(needing_agents, await submitted(needing_agents))
    assert (waiting.phase, waiting.reason) == (Phase.QUEUED, Reason.NO_USABLE_SERVER)
    assert waiting.message.endswith(f"{SERVER}, is without a report of a node agent")


async def test_with_a_report_it_is_placed_until_the_agent_falls_silent(needing_agents: World):
    assert (await report(needing_agents, a_report(1, inventory=an_inventory(8)))).changed_devices
    first = await after_a_tick(needing_agents, await submitted(needing_agents))
    assert first.reason is Reason.PLACED
    needing_agents.clock.advance(91)
    second = await after_a_tick(needing_agents, await submitted(needing_agents))
    assert second.message.endswith("is without a fresh report of its node agent")
    assert (await report(needing_agents, a_report(2))).changed_devices, "who waits is looked at again"
    assert (await after_a_tick(needing_agents, second)).reason is Reason.PLACED


async def test_failed_gpus_are_not_offered_whichever_the_setting(world: World):
    devices = (a_device(0), *(a_device(n, health=XID_79) for n in range(1, 8)))
    await report(world, a_report(1, inventory=an_inventory(devices=devices)))
    waiting = await after_a_tick(world, await submitted(world, 2))
    assert (
        waiting.message
        == f"needs 2 GPUs on one server; the largest free block is 1, on {SERVER}, where 7 more are unhealthy"
    )


async def test_a_server_with_a_broken_driver_takes_nothing(world: World):
    broken = an_inventory(0, state=DriverState.MISMATCH, message="570 and 580")
    await report(world, a_report(1, inventory=broken))
    waiting = await after_a_tick(world, await submitted(world))
    assert "without usable GPUs: the driver was upgraded" in waiting.message
    assert waiting.message.endswith("still the old one: 570 and 580")


async def test_samples_and_history_grow_old(world: World):
    policy = SamplePolicy(2 * 86400, 3 * 86400, 4 * 86400, 5 * 86400)
    keeper = SampleKeeper(world.clock, policy)
    await report(world, a_report(1, inventory=an_inventory(1), samples=(a_sample(),), holders=(a_holder("p"),)))
    packed = OF_POD.pack(START, [PodReading(START, 1.0, 1.0)])
    await PodSampleRow.create(workload_id=uuid4(), attempt=1, begins=START, resolution=0, data=packed)
    await report(world, a_report(2, holders=()))

    async def left(days: int) -> tuple[list[int], int]:
        world.clock.moment = START + timedelta(days=days)
        while await keeper.look() == world.clock.now():
            pass
        resolutions = [row.resolution for row in await GpuSampleRow.all()]
        assert [row.resolution for row in await PodSampleRow.all()] == resolutions
        return resolutions, await GpuHolderRow.all().count()

    assert [await left(days) for days in (2, 3, 4, 5, 6)] == [([0], 1), ([60], 1), ([900], 1), ([], 1), ([], 0)]
