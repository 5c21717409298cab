"""A cancel in each phase: said at once, confirmed by the cluster, and never overtaken or forgotten."""

from __future__ import annotations

from datetime import datetime

import pytest

from app.bus import Bus
from app.cluster.port import Kind, RefusedError, UnavailableError
from app.domain.observed import Terminated
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from app.store.writes import apply_changes
from tests.reconcile.builders import World, name_of
from tests.store.builders import loaded, placement


async def confirmed(world: World, workload: Workload) -> Workload:
    """The kubelets stop what is left, and it is seen."""
    await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    return await loaded(workload)


async def test_before_its_job_is_created_no_job_is_ever_created(world: World):
    workload = await world.place()
    await world.cancel(workload)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason, done.exit_code) == (Status.CANCELLED, Reason.CANCELLED_BY_USER, None)
    assert world.cluster.created == []
    assert len(await world.ends(workload)) == 1
    assert [a.cleaned_at for a in await world.attempts(workload)] == [world.clock.now()]


async def test_before_its_pod_exists(world: World):
    workload = await world.place()
    await world.settle(workload)
    await world.cancel(workload)
    done = await confirmed(world, workload)
    assert done.status is Status.CANCELLED
    assert world.cluster.jobs == {}


async def test_while_it_starts(world: World):
    workload = await world.place()
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    await world.settle(workload)
    await world.cancel(workload)
    await world.settle(workload)
    assert ((await loaded(workload)).status, (await loaded(workload)).phase) == (Status.PENDING, Phase.STOPPING)
    done = await confirmed(world, workload)
    assert (done.status, done.exit_code, done.started_at) == (Status.CANCELLED, None, None)


async def test_while_it_runs_it_is_running_until_the_cluster_confirms(world: World):
    workload = await world.run()
    world.clock.advance(30)
    await world.cancel(workload)
    await world.settle(workload)
    stopping = await loaded(workload)
    assert (stopping.status, stopping.phase) == (Status.RUNNING, Phase.STOPPING)
    assert world.cluster.jobs == {}
    done = await confirmed(world, workload)
    assert (done.status, done.exit_code) == (Status.CANCELLED, 137)
    assert len(await world.ends(workload)) == 1
    assert world.cluster.pods == {}


async def test_after_its_own_end_which_nobody_has_seen_yet_the_end_stands(world: World):
    workload = await world.run()
    world.clock.advance(30)
    world.cluster.end_container(name_of(workload), world.clock.now(), 0)
    world.clock.advance(5)
    await world.cancel(workload)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.exit_code) == (Status.COMPLETED, 0)
    assert len(await world.ends(workload)) == 1


async def test_of_a_cancel_and_an_end_at_the_same_time_one_is_told(world: World):
    """The container ends while the delete is under way: it had been asked to stop before."""
    workload = await world.run()
    world.clock.advance(30)
    await world.cancel(workload)
    world.cluster.change_pod(name_of(workload), deletion_requested_at=world.clock.now())
    world.clock.advance(1)
    world.cluster.end_container(name_of(workload), world.clock.now(), 0)
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.CANCELLED
    assert len(await world.ends(workload)) == 1


async def test_between_the_decision_to_create_and_the_create(world: World):
    """Both wrote: the Job comes to be, and is stopped."""
    workload = await world.place()
    await racing(world, workload)
    done = await confirmed(world, workload)
    assert done.status is Status.CANCELLED
    assert world.cluster.jobs == {}
    assert len(world.cluster.created) <= 1


async def test_while_the_job_is_refused_it_is_cancelled(world: World):
    workload = await world.place()
    world.cluster.fail("after create_job", RefusedError(422, "Invalid", "no"))
    await racing(world, workload)
    done = await confirmed(world, workload)
    assert done.status is Status.CANCELLED
    assert world.cluster.jobs == {}


async def racing(world: World, workload: Workload) -> None:
    """One reconciliation, with a cancel written by another process when the create is on its way."""
    world.cluster.meanwhile["create_job"] = lambda: world.cancel(workload)
    await world.step(workload)
    assert world.cluster.calls["create_job"] == 1


async def test_after_a_create_whose_answer_was_lost_it_is_not_said_to_be_over(world: World):
    """The Job exists, but neither the answer nor the watch has told of it: only the cluster can say that it is gone."""
    workload = await world.place()
    world.cluster.fail("after create_job", UnavailableError("timed out"))
    with pytest.raises(UnavailableError):
        await world.step(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.run_container(name_of(workload), world.clock.now())
    await world.cancel(workload)
    await world.step(workload)
    assert (await loaded(workload)).status is not Status.CANCELLED
    assert (await confirmed(world, workload)).status is Status.CANCELLED
    assert world.cluster.jobs == {}


async def test_a_cancel_that_comes_while_an_earlier_attempt_is_swept_is_not_forgotten(world: World):
    """The present attempt runs, so nothing else would be written that could lose to the cancel."""
    workload = await a_second_attempt(world)
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload, 2), world.clock.now())
    world.cluster.run_container(name_of(workload, 2), world.clock.now())
    await world.settle(workload)
    await gone(world, name_of(workload, 1))
    world.cluster.meanwhile["find"] = lambda: world.cancel(workload)
    await world.step(workload)
    assert not world.cluster.meanwhile
    assert (await confirmed(world, workload)).status is Status.CANCELLED
    assert world.cluster.jobs == {}


async def gone(world: World, job_name: str) -> None:
    """Nothing of it is left in the cluster; the watches have told so."""
    world.cluster.jobs.pop(job_name, None)
    world.cluster.pods = {uid: pod for uid, pod in world.cluster.pods.items() if pod.job_name != job_name}
    world.watch()


async def test_who_loses_the_write_does_nothing_to_the_cluster(world: World):
    """Decided to stop it for its run limit, while somebody cancelled."""
    workload = await world.run(spec={"timeout_seconds": 60})
    world.clock.advance(1000)
    world.restart(Bus())
    world.cluster.meanwhile["find"] = lambda: world.cancel(workload)
    assert await world.step(workload) == world.clock.now()
    assert not world.cluster.calls["delete_job"]
    assert (await confirmed(world, workload)).status is Status.CANCELLED


async def a_second_attempt(world: World) -> Workload:
    """Its first was evicted and is still in the cluster; its second is placed, and this process has all in mind."""
    workload = await world.place()
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    killed = Terminated(137, "Error", "", None, world.clock.now())
    world.cluster.change_pod(name_of(workload), phase="Failed", reason="Evicted", terminated=killed)
    await world.settle(workload)
    assert name_of(workload) in world.cluster.jobs  # kept for a while, as it left an exit code
    world.clock.advance(60)
    change = placement(await loaded(workload), world.clock.now())
    assert await apply_changes(workload.organization_id, [change], world.clock.now()) == [True]
    assert change.attempt is not None
    world.background._on_placed(change.stored, change.attempt)
    return await loaded(workload)


async def test_a_second_attempt_is_created_although_the_first_is_still_there(world: World):
    workload = await a_second_attempt(world)
    await world.step(workload)
    assert world.cluster.created == [name_of(workload, 1), name_of(workload, 2)]


async def test_asked_again_by_the_loop_until_the_cluster_confirms(world: World):
    workload = await world.run()
    await world.cancel(workload)
    world.watch()
    wake_at = await world.step(workload)
    assert isinstance(wake_at, datetime)
    assert wake_at > world.clock.now()
    world.watch(Kind.JOBS)
    assert await world.step(workload) is not None
