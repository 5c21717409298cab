"""What an ended attempt leaves in the cluster: the pod is released at once, the Job goes after its time."""

from __future__ import annotations

import pytest

from app.bus import Bus
from app.cluster.port import UnavailableError
from app.domain.observed import ObservedJob
from app.domain.workload import Workload
from app.store import reads
from tests.reconcile.builders import POLICY, World, name_of, seconds


async def ended(world: World) -> Workload:
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now())
    await world.settle(workload)
    return workload


async def test_the_pod_is_released_and_the_job_stays_for_a_while(world: World):
    workload = await ended(world)
    pod = world.cluster.pod_of(name_of(workload))
    assert pod is not None
    assert not pod.is_held
    assert name_of(workload) in world.cluster.jobs
    assert await world.step(workload) == world.clock.now() + seconds(POLICY.job_retention_seconds)
    assert [a.cleaned_at for a in await world.attempts(workload)] == [None]


async def test_after_its_time_nothing_is_left(world: World):
    workload = await ended(world)
    world.clock.advance(POLICY.job_retention_seconds)
    await world.settle(workload)
    world.cluster.collect()
    await world.settle(workload)
    assert (world.cluster.jobs, world.cluster.pods) == ({}, {})
    assert [a.cleaned_at for a in await world.attempts(workload)] == [world.clock.now()]
    assert await reads.attempts_to_reconcile() == []


async def test_what_is_merely_kept_is_not_looked_at_again_and_again(world: World):
    """There may be thousands of them: the first look sets their time, later ones leave them out until it has come."""
    workload = await ended(world)
    retention = seconds(POLICY.job_retention_seconds)
    assert await reads.attempts_to_reconcile() == [("default", workload.id)]
    assert await reads.attempts_to_reconcile(world.clock.now() - retention) == []
    world.clock.advance(POLICY.job_retention_seconds)
    assert await reads.attempts_to_reconcile(world.clock.now() - retention) == [("default", workload.id)]


async def test_what_was_stopped_goes_at_once(world: World):
    workload = await world.run()
    await world.cancel(workload)
    await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    assert (world.cluster.jobs, world.cluster.pods) == ({}, {})
    assert await reads.attempts_to_reconcile() == []


async def test_it_goes_on_after_a_restart(world: World):
    workload = await ended(world)
    world.clock.advance(POLICY.job_retention_seconds)
    world.restart(Bus())
    assert await reads.attempts_to_reconcile() == [("default", workload.id)]
    await world.settle(workload)
    assert world.cluster.jobs == {}


async def test_a_job_that_somebody_deleted_meanwhile_is_as_good(world: World):
    workload = await ended(world)
    world.cluster.jobs.clear()
    world.cluster.collect()
    await world.settle(workload)
    assert [a.cleaned_at for a in await world.attempts(workload)] == [world.clock.now()]


async def test_another_job_of_that_name_is_left_alone(world: World):
    workload = await ended(world)
    name = name_of(workload)
    world.cluster.jobs[name] = ObservedJob("other", name, "another workload", 1)
    world.clock.advance(POLICY.job_retention_seconds)
    await world.settle(workload)
    assert world.cluster.jobs[name].uid == "other"


async def test_a_cluster_that_does_not_answer_is_asked_again(world: World):
    workload = await ended(world)
    world.clock.advance(POLICY.job_retention_seconds)
    world.cluster.fail("delete_job", UnavailableError("down"))
    with pytest.raises(UnavailableError):
        await world.step(workload)
    assert [a.cleaned_at for a in await world.attempts(workload)] == [None]
    await world.settle(workload)
    assert world.cluster.jobs == {}


async def test_a_pod_is_not_called_gone_while_we_hold_it(world: World):
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now())
    world.cluster.fail("release_pod", *[UnavailableError("down")] * 2)
    for _ in range(2):  # its end is recorded, its log is stored
        world.watch()
        await world.step(workload)
    world.cluster.jobs.clear()
    for _ in range(2):
        world.watch()
        with pytest.raises(UnavailableError):
            await world.step(workload)
    assert [a.cleaned_at for a in await world.attempts(workload)] == [None]
    await world.settle(workload)
    assert world.cluster.pods == {}
