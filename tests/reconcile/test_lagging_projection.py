"""The watches are behind, or not there yet: nothing ends on what they haven't told so far."""

from __future__ import annotations

import pytest

from app.bus import Bus
from app.cluster.port import Kind, UnavailableError
from app.domain.states import Phase, Reason, Status
from tests.reconcile.builders import World, name_of
from tests.store.builders import loaded


async def test_a_running_workload_outlives_an_empty_projection(world: World):
    workload = await world.run()
    world.restart(Bus())
    await world.step(workload)
    assert (await loaded(workload)).status is Status.RUNNING
    assert world.cluster.calls["find"]


async def test_an_end_is_taken_from_the_api_where_the_watch_has_nothing(world: World):
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now(), 4)
    world.restart(Bus())
    await world.step(workload)
    assert (await loaded(workload)).exit_code == 4


async def test_an_absence_that_can_not_be_confirmed_ends_nothing(world: World):
    workload = await world.run()
    world.restart(Bus())
    world.cluster.fail("find", UnavailableError("down"))
    before = await loaded(workload)
    with pytest.raises(UnavailableError):
        await world.step(workload)
    assert await loaded(workload) == before


async def test_a_job_that_is_really_gone_ends_it(world: World):
    workload = await world.run()
    world.cluster.jobs.clear()
    world.cluster.pods.clear()
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.JOB_DELETED)


@pytest.mark.parametrize(("code", "status"), [(0, Status.COMPLETED), (5, Status.COMPLETED)])
async def test_jobs_are_listed_before_pods_after_a_restart(world: World, code: int, status: Status):
    """It started and ended while we were away: the Job says that it is over, and its pod will say how."""
    workload = await world.place()
    await world.settle(workload)
    world.restart(Bus())
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.run_container(name_of(workload), world.clock.now())
    world.cluster.end_container(name_of(workload), world.clock.now(), code)
    world.watch(Kind.JOBS)
    await world.step(workload)
    done = await loaded(workload)
    assert (done.status, done.exit_code) == (status, code)


async def test_the_start_limit_passes_while_nothing_is_seen(world: World):
    """Created by an earlier life that could not write it down; it runs, and must not be called failed."""
    workload = await world.place(spec={"start_timeout_seconds": 60})
    world.cluster.fail("after create_job", UnavailableError("timed out"))
    with pytest.raises(UnavailableError):
        await world.step(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.run_container(name_of(workload), world.clock.now())
    world.restart(Bus())
    world.clock.advance(61)
    await world.step(workload)
    assert (await loaded(workload)).status is not Status.FAILED
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.RUNNING


async def test_a_created_job_is_remembered_until_the_watch_tells_of_it(world: World):
    workload = await world.place()
    await world.step(workload)
    await world.step(workload)
    assert (await loaded(workload)).phase is Phase.INITIALIZING
    assert world.cluster.calls["create_job"] == 1


async def test_the_cluster_is_not_asked_while_the_watches_tell_enough(world: World):
    workload = await world.run()
    for _ in range(3):
        await world.step(workload)
    assert not world.cluster.calls["find"]


async def test_an_unknown_workload_is_nobodys_business(world: World):
    workload = await world.run()
    stranger = workload.__class__(**{**vars(workload), "id": workload.organization_id})
    assert await world.step(stranger) is None
