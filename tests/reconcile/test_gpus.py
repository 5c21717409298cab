"""Which GPUs a workload has, and that they fail: by its pod's own status first, then by node agents."""

from __future__ import annotations

from datetime import timedelta

from agent.report import Report
from app.domain.workload import EventType, Workload
from app.store import reports, servers
from app.store.gpu_failures import tell_gpu_failures
from tests.placement.builders import node
from tests.reconcile.builders import SERVER, World, name_of
from tests.reports import a_holder, a_report, an_inventory
from tests.store.builders import loaded


async def told(world: World, workload: Workload) -> list[str]:
    return [it.message for it in await world.events(workload) if it.type is EventType.GPU_FAILED]


async def report(world: World, report: Report) -> None:
    await servers.record_nodes("default", [(node(SERVER, 8), "acme")], world.clock.now())
    server = await reports.find_server("default", SERVER)
    assert server is not None
    await reports.keep_report("default", server, report, world.clock.now(), 90)


async def starting(world: World) -> Workload:
    workload = await world.place()
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    await world.settle(workload)
    return workload


def held_by(world: World, workload: Workload) -> Report:
    """GPU 7, by the agent's word."""
    pod = world.cluster.pod_of(name_of(workload))
    assert pod is not None
    holder = a_holder(pod.name, 7, namespace=pod.namespace)
    return a_report(1, inventory=an_inventory(8), holders=(holder,))


async def test_a_workload_is_told_once_of_a_gpu_that_its_pod_calls_unhealthy(world: World):
    workload = await world.run()
    world.cluster.change_pod(name_of(workload), unhealthy_gpus=("GPU-1",))
    await world.settle(workload)
    await world.settle(workload)
    words = (
        f"its GPU GPU-1 on {SERVER} is reported as failed: the device plugin calls it unhealthy; nothing was stopped"
    )
    assert await told(world, workload) == [words]


async def test_what_the_agent_told_is_not_told_again(world: World):
    workload = await world.run()
    now = world.clock.now()
    assert await tell_gpu_failures(workload, {"GPU-1": "XID 79"}, now)
    world.cluster.change_pod(name_of(workload), unhealthy_gpus=("GPU-1", "GPU-11"))
    await world.settle(workload)
    first, second = await told(world, workload)
    assert ("GPU-1 " in first, "GPU-11 " in second) == (True, True)
    minutes = timedelta(minutes=5)
    assert not await tell_gpu_failures(workload, {"GPU-1": "XID 79"}, now + minutes / 2, minutes)
    assert await tell_gpu_failures(workload, {"GPU-1": "XID 79"}, now + 2 * minutes, minutes), "it was well in between"


async def test_the_pods_own_word_on_its_gpus_comes_first(world: World):
    workload = await starting(world)
    await report(world, held_by(world, workload))
    world.cluster.run_container(name_of(workload), world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).gpus == ("GPU-1",)


async def test_where_the_kubelet_names_no_gpus_the_agents_word_is_taken(world: World):
    workload = await starting(world)
    world.cluster.change_pod(name_of(workload), phase="Running", running_since=world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).gpus == ()
    await report(world, held_by(world, workload))
    await world.settle(workload)
    assert (await loaded(workload)).gpus == ("GPU-0007",)
    world.cluster.end_container(name_of(workload), world.clock.now())
    await world.settle(workload)
    [attempt] = await world.attempts(workload)
    assert attempt.gpus == ("GPU-0007",)
