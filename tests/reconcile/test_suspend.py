"""A suspend of what runs, and its resume, with a process that dies at every boundary in turn.

Whoever dies when: one Job is created for each attempt, nothing of a suspended one is left in the cluster, and what is
resumed comes to its one end.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Resources, Workload
from app.store import reads
from app.store.writes import apply_changes
from tests.placement.builders import node
from tests.reconcile.builders import SERVER, World, name_of
from tests.reconcile.test_crash_points import (
    MOST_BOUNDARIES,
    RUNS,
    Crash,
    CrashingBus,
    an_hour_passes,
    container_exits,
    go_through,
    kubelets_stop_it,
    survive,
)
from tests.reconcile.test_scheduler import have, tick
from tests.store.builders import loaded, placement


async def somebody_suspends(world: World, workload: Workload) -> None:
    await world.suspend(workload)


async def somebody_resumes(world: World, workload: Workload) -> None:
    assert (await loaded(workload)).phase is Phase.SUSPENDED
    await world.resume(workload)


async def it_is_placed_again(world: World, workload: Workload) -> None:
    change = placement(await loaded(workload), world.clock.now())
    assert await apply_changes(world.organization.id, [change], world.clock.now()) == [True]
    world.bus.wake_workload(workload.id)


async def it_runs_again(world: World, workload: Workload) -> None:
    world.cluster.start_pod(name_of(workload, 2), world.clock.now())
    world.cluster.run_container(name_of(workload, 2), world.clock.now())


async def it_ends(world: World, workload: Workload) -> None:
    world.cluster.end_container(name_of(workload, 2), world.clock.now(), 0)


SUSPENDED = (*RUNS, somebody_suspends, kubelets_stop_it, an_hour_passes)
AGAIN = (*SUSPENDED, somebody_resumes, it_is_placed_again, it_runs_again, it_ends, an_hour_passes)
EARLY = (somebody_suspends, kubelets_stop_it, an_hour_passes)
OWN_END = (*RUNS, container_exits, an_hour_passes)


async def live(world: World, steps: tuple[object, ...], crash: Crash) -> Workload:
    workload = await world.place()
    world.restart(CrashingBus(crash))
    world.cluster.boundary = crash.reached
    await survive(world, workload)
    return await go_through(world, workload, steps)


STORIES = {
    "while it runs": (SUSPENDED, 1, (Phase.SUSPENDED, Reason.HELD)),
    "before it has a pod": (EARLY, 1, (Phase.SUSPENDED, Reason.HELD)),
    "and resumed": (AGAIN, 2, (Phase.COMPLETED, Reason.EXITED)),
}


@pytest.mark.parametrize("name", STORIES)
async def test_a_death_at_any_boundary_changes_nothing(world: World, name: str):
    steps, attempts, end = STORIES[name]
    for at in range(1, 2 * MOST_BOUNDARIES):
        crash = Crash(at)
        world.cluster.created.clear()
        done = await live(world, steps, crash)
        where = f"died at {crash.passed[at - 1 : at]}"
        assert (done.phase, done.reason) == end, where
        assert world.cluster.created == [name_of(done, number + 1) for number in range(attempts)], where
        assert (world.cluster.jobs, world.cluster.pods) == ({}, {}), where
        kept = await world.attempts(done)
        assert [attempt.reason for attempt in kept][:1] == [Reason.SUSPENDED], where
        assert all(attempt.cleaned_at for attempt in kept), where
        types = [event.type for event in await world.events(done)]
        assert types.count(EventType.SUSPEND_REQUESTED) == types.count(EventType.HELD) == 1, where
        assert types.count(EventType.ENDED) == done.status.is_terminal, where
        if len(crash.passed) < at:
            return
    raise AssertionError("the story has more boundaries than were tried")


async def test_its_gpus_are_another_ones_once_it_has_stopped_and_not_before(world: World):
    have(world, node(SERVER, 1))
    size = {"resources": Resources(1, 1000, 2**30)}
    first = await world.submit(spec=size)
    await tick(world)
    await world.settle(first)
    world.cluster.start_pod(name_of(first), world.clock.now())
    await world.settle(first)
    other = await world.submit(spec=size)
    await world.suspend(first)
    await world.settle(first)
    await tick(world)
    assert ((await loaded(first)).phase, (await loaded(other)).waits) == (Phase.STOPPING, True)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(first)
    await tick(world)
    assert ((await loaded(first)).phase, (await loaded(other)).phase) == (Phase.SUSPENDED, Phase.CREATING)
    assert [waiting.id for waiting in await reads.waiting_workloads()] == []


async def test_what_ends_by_itself_first_has_ended(world: World):
    workload = await world.run()
    world.clock.advance(30)
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)
    world.clock.advance(5)
    await world.suspend(workload)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.exit_code) == (Status.COMPLETED, 3)
    assert [event.type for event in await world.ends(workload)] == [EventType.ENDED]


async def test_on_a_silent_server_it_is_stopping_until_the_server_is_back(world: World):
    workload = await world.run()
    world.cluster.nodes[SERVER] = replace(world.cluster.nodes[SERVER], is_ready=False)
    await world.suspend(workload)
    await world.settle(workload)
    assert (await loaded(workload)).phase is Phase.STOPPING
    world.cluster.nodes[SERVER] = replace(world.cluster.nodes[SERVER], is_ready=True)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).phase is Phase.SUSPENDED


async def test_a_suspend_in_the_middle_of_a_create_stops_what_was_created(world: World):
    workload = await world.place()
    world.cluster.meanwhile["create_job"] = lambda: world.suspend(workload)
    await world.step(workload)
    assert world.cluster.calls["create_job"] == 1
    await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).phase is Phase.SUSPENDED
    assert world.cluster.jobs == {}
