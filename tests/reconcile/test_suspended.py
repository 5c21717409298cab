"""The machine slept, or somebody set its clock: nothing is forgotten, and nobody is stopped by a wrong clock."""

from __future__ import annotations

from datetime import timedelta

from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from tests.reconcile.builders import World
from tests.store.builders import loaded

TWO_HOURS = 7200.0  # twice the run limit


async def phase_after_a_full_look(world: World, workload: Workload) -> Phase:
    await world.background.resync.reconcile("all")
    assert len(world.loops.jobs.queue) == 1
    await world.step(workload)
    return (await loaded(workload)).phase


async def test_what_was_due_while_the_machine_slept_is_found_at_the_next_full_look(world: World):
    """Pauses are measured by a clock that stands still in sleep: the wake-up itself would come two hours late."""
    workload = await world.run()
    wake_at = await world.step(workload)
    assert wake_at is not None
    world.loops.jobs.queue.clear()
    world.loops.jobs.queue.add(workload.id, (wake_at - world.clock.now()).total_seconds())
    world.clock.set_by(TWO_HOURS)
    not_due = world.loops.jobs.queue._until_next()
    assert not_due is not None
    assert not_due > 0
    assert await phase_after_a_full_look(world, workload) is Phase.STOPPING
    assert (await loaded(workload)).reason is Reason.RUN_TIMEOUT


async def test_a_limit_is_not_passed_by_a_clock_that_was_set_forward(world: World):
    """The cluster is asked before anything is stopped, and its answer tells that only our clock has moved."""
    workload = await world.run()
    world.clock.set_by(TWO_HOURS)

    async def answers_with_its_date() -> None:
        world.cluster.clock.ahead = timedelta(seconds=-TWO_HOURS)

    world.cluster.meanwhile["find"] = answers_with_its_date
    assert await phase_after_a_full_look(world, workload) is Phase.RUNNING
    assert world.cluster.calls["delete_job"] == 0


async def test_a_clock_that_was_set_back_stops_nobody_and_forgets_nobody(world: World):
    workload = await world.run()
    world.clock.set_by(-TWO_HOURS)
    assert await phase_after_a_full_look(world, workload) is Phase.RUNNING
    world.cluster.clock.ahead = timedelta(seconds=TWO_HOURS)
    world.clock.advance(3600 + 60)
    assert await phase_after_a_full_look(world, workload) is Phase.STOPPING


async def test_a_queue_limit_that_passed_in_sleep_ends_it_at_the_next_tick(world: World):
    workload = await world.submit(spec={"queue_timeout_seconds": 600})
    world.cluster.nodes.clear()
    world.watch()
    world.clock.set_by(TWO_HOURS)
    await world.background._scheduler.tick()
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.QUEUE_TIMEOUT)
