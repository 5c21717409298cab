"""Two processes on one database: the one that works learns what was asked of the other, and the other can follow it."""

from __future__ import annotations

from datetime import timedelta

from app.bus import Bus
from app.commands.cancel_workload import cancel_workload
from app.commands.context import CommandContext
from app.commands.prioritize_workload import prioritize_workload
from app.commands.resume_workload import resume_workload
from app.commands.suspend_workload import suspend_workload
from app.domain.people import Principal, Role
from app.domain.priority import Priority
from app.domain.states import Phase, Status
from app.domain.submission import Defaults
from app.domain.workload import Workload
from app.reconcile.wishes import LOOK_SECONDS
from tests.reconcile.builders import World, name_of
from tests.store.builders import loaded


async def cancel_elsewhere(world: World, workload: Workload) -> None:
    """In a process with a bus of its own."""
    principal = Principal("ada", {world.organization.id: Role.OWNER})
    await cancel_workload(CommandContext(world.clock, Bus(), Defaults()), principal, workload.id)


async def look(world: World) -> None:
    await world.background.wishes.reconcile("all")


async def first_look(world: World) -> None:
    await world.background.resync.reconcile("all")
    world.background.schedule.queue.clear()
    world.loops.jobs.queue.clear()


async def test_a_submission_to_another_process_wakes_the_queue(world: World):
    await first_look(world)
    await look(world)
    assert len(world.background.schedule.queue) == 0
    await world.submit()
    await look(world)
    assert len(world.background.schedule.queue) == 1


async def test_a_cancel_asked_of_another_process_is_seen_although_the_workload_is_remembered(world: World):
    workload = await world.run()
    await first_look(world)
    await cancel_elsewhere(world, workload)
    await look(world)
    assert len(world.loops.jobs.queue) == 1
    await world.step(workload)
    assert (await loaded(workload)).phase is Phase.STOPPING
    assert name_of(workload) not in world.cluster.jobs


async def test_a_suspend_asked_of_another_process_is_seen(world: World):
    workload = await world.run()
    await first_look(world)
    principal = Principal("ada", {world.organization.id: Role.OWNER})
    await suspend_workload(CommandContext(world.clock, Bus(), Defaults()), principal, workload.id)
    await look(world)
    assert len(world.loops.jobs.queue) == 1
    await world.step(workload)
    assert name_of(workload) not in world.cluster.jobs


async def test_a_priority_given_in_another_process_wakes_the_queue(world: World):
    workload = await world.submit()
    await first_look(world)
    principal = Principal("ada", {world.organization.id: Role.OWNER})
    await prioritize_workload(CommandContext(world.clock, Bus(), Defaults()), principal, workload.id, Priority.HIGH)
    await look(world)
    assert len(world.background.schedule.queue) == 1


async def test_a_resume_asked_of_another_process_wakes_the_queue(world: World):
    workload = await world.submit()
    principal = Principal("ada", {world.organization.id: Role.OWNER})
    elsewhere = CommandContext(world.clock, Bus(), Defaults())
    await suspend_workload(elsewhere, principal, workload.id)
    await first_look(world)
    await resume_workload(elsewhere, principal, workload.id)
    await look(world)
    assert len(world.background.schedule.queue) == 1


async def test_a_wish_wakes_once(world: World):
    workload = await world.run()
    await first_look(world)
    await cancel_elsewhere(world, workload)
    await look(world)
    world.loops.jobs.queue.clear()
    await look(world)
    assert len(world.loops.jobs.queue) == 0


async def test_nothing_is_looked_for_before_the_first_full_look(world: World):
    """That one finds whatever there is; until then a wake-up would only say it twice."""
    await world.submit()
    wake_at = await world.background.wishes.reconcile("all")
    assert wake_at == world.clock.now() + timedelta(seconds=LOOK_SECONDS)
    assert len(world.background.schedule.queue) == 0


async def test_who_follows_remembers_nothing_of_before(world: World):
    """The other process has placed and ended things since; what this one once knew of them is not used."""
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)
    stale = world.background
    world.restart(Bus())
    await world.settle(workload)  # by the other process
    assert (await loaded(workload)).status is Status.COMPLETED
    stale._begin_anew()
    known = await stale._recent.get(workload.id)
    assert known is not None
    assert known.workload.status is Status.COMPLETED
    assert stale._claims.open("default") == []
