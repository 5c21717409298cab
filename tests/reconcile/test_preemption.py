"""Making room, carried out: the stop, the return to the queue, and who gets the GPUs, whatever comes between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from app.bus import Bus
from app.domain.quota import Quota
from app.domain.server import ServerId
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Workload
from app.placement.plan import Preemption
from app.store import managing, people
from tests.clock import START
from tests.reconcile.builders import SERVER, World, name_of
from tests.reconcile.test_crash_points import Crash, CrashError, CrashingBus
from tests.reconcile.test_scheduler import gpus, tick
from tests.store.builders import loaded

HERE = ServerId(SERVER, "default")


async def with_guarantee(world: World, gpu_count: int) -> UUID:
    project = await people.add_project(world.organization.id, "vision", "Vision", START)
    await managing.set_quota(project.id, Quota(gpu_count), 1)
    return project.id


async def one_who_wants_room(world: World, victims: tuple[int, ...] = (8,)) -> tuple[Workload, list[Workload]]:
    """It is within its guarantee; the preemptible ones that hold so many GPUs run for no project."""
    project = await with_guarantee(world, 4)
    running = [await world.run(spec=gpus(count, preemptible=True)) for count in victims]
    world.clock.advance(60)
    return await world.submit(spec=gpus(4, project_id=project, name="train")), running


async def kubelet_stops(world: World, *workloads: Workload) -> None:
    for workload in workloads:
        await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    for workload in workloads:
        await world.settle(workload)


async def test_who_is_within_the_guarantee_gets_the_gpus_and_the_other_waits_again(world: World):
    wanted, [victim] = await one_who_wants_room(world)
    await tick(world)
    stopping, [attempt] = await loaded(victim), await world.attempts(victim)
    words = f"preempted to make room for train, {wanted.id}, which is within its project's guarantee"
    assert (stopping.status, stopping.phase, stopping.reason) == (Status.RUNNING, Phase.STOPPING, Reason.PREEMPTED)
    assert stopping.message == f"{words}; waiting until the cluster confirms that it has stopped"
    assert (attempt.stop_reason, attempt.stop_requested_at) == (Reason.PREEMPTED, world.clock.now())
    waiting = await loaded(wanted)
    assert (waiting.reason, waiting.nominated_server) == (Reason.MAKING_ROOM, str(HERE))
    await kubelet_stops(world, victim)
    back, [attempt] = await loaded(victim), await world.attempts(victim)
    assert (back.status, back.phase, back.reason) == (Status.PENDING, Phase.QUEUED, Reason.PREEMPTED)
    assert back.message.startswith(f"{words}; it waits for free GPUs again")
    assert (back.attempts_yielded, back.retries_used, back.avoid_servers, back.server) == (1, 0, (), "")
    assert (attempt.reason, attempt.message, attempt.exit_code) == (Reason.PREEMPTED, words, 137)
    await tick(world)
    placed = await loaded(wanted)
    assert (placed.phase, placed.server, placed.nominated_server) == (Phase.CREATING, SERVER, "")
    world.clock.advance(10)
    await tick(world)
    assert (await loaded(victim)).reason is Reason.WAITING_FOR_GPUS
    types = [event.type for event in await world.events(victim)]
    assert types[-3:] == [EventType.STOPPING, EventType.RETRYING, EventType.WAITING]


async def test_the_next_attempt_has_the_whole_run_limit_and_is_no_retry(world: World):
    wanted, [victim] = await one_who_wants_room(world)
    await tick(world)
    await kubelet_stops(world, victim)
    await world.cancel(wanted)
    world.clock.advance(10)
    await tick(world)
    again = await loaded(victim)
    assert (again.phase, again.attempt, again.retries_used, again.started_at) == (Phase.CREATING, 2, 0, None)
    await world.settle(victim)
    assert name_of(victim, 2) in world.cluster.created


async def test_while_it_is_stopped_nobody_else_is_and_nobody_else_gets_the_gpus(world: World):
    wanted, victims = await one_who_wants_room(world, (4, 4))
    other = await world.submit(spec=gpus(8))
    for _ in range(3):
        await tick(world)
    stopping = [it for it in victims if (await loaded(it)).phase is Phase.STOPPING]
    assert len(stopping) == 1
    await kubelet_stops(world, *stopping)
    await tick(world)
    assert ((await loaded(wanted)).phase, (await loaded(other)).phase) == (Phase.CREATING, Phase.QUEUED)


async def test_what_had_ended_by_itself_has_ended(world: World):
    wanted, [victim] = await one_who_wants_room(world)
    world.cluster.end_container(name_of(victim), world.clock.now(), 3)
    world.clock.advance(5)
    await tick(world)
    assert (await loaded(victim)).reason is Reason.PREEMPTED
    await world.settle(victim)
    ended = await loaded(victim)
    assert (ended.status, ended.reason, ended.exit_code) == (Status.COMPLETED, Reason.EXITED, 3)
    await tick(world)
    assert (await loaded(wanted)).phase is Phase.CREATING


async def test_what_is_cancelled_meanwhile_is_cancelled(world: World):
    _, [victim] = await one_who_wants_room(world)
    await tick(world)
    await world.cancel(victim)
    await kubelet_stops(world, victim)
    assert (await loaded(victim)).status is Status.CANCELLED


async def test_what_is_cancelled_when_it_has_stopped_already_is_cancelled(world: World):
    """Its end was not seen yet: it is no reason to begin anew."""
    _, [victim] = await one_who_wants_room(world)
    await tick(world)
    await world.settle(victim)
    world.cluster.stop_orphans(world.clock.now())
    world.clock.advance(5)
    await world.cancel(victim)
    await world.settle(victim)
    assert (await loaded(victim)).status is Status.CANCELLED


async def test_nobody_is_stopped_for_who_has_gone_meanwhile(world: World):
    wanted, [victim] = await one_who_wants_room(world)
    await world.cancel(wanted)
    await world.background._scheduler.rooms.make({wanted.id: Preemption(HERE, ((victim.id, 1),), by_right=True)})
    assert (await loaded(victim)).phase is Phase.RUNNING


async def test_all_are_stopped_or_none(world: World):
    wanted, [first, second] = await one_who_wants_room(world, (4, 4))
    await world.cancel(second)
    victims = ((first.id, 1), (second.id, 1))
    await world.background._scheduler.rooms.make({wanted.id: Preemption(HERE, victims, by_right=True)})
    assert ((await loaded(first)).phase, (await loaded(wanted)).nominated_server) == (Phase.RUNNING, "")


async def test_who_never_executed_goes_back_at_once(world: World):
    project = await with_guarantee(world, 8)
    victim = await world.place(spec=gpus(8, preemptible=True))
    wanted = await world.submit(spec=gpus(8, project_id=project))
    await tick(world)
    await world.settle(victim)
    assert ((await loaded(victim)).reason, world.cluster.created) == (Reason.PREEMPTED, [])
    await tick(world)
    assert (await loaded(wanted)).phase is Phase.CREATING


async def test_without_leave_nobody_is_preempted(world: World):
    project = await with_guarantee(world, 8)
    running = await world.run(spec=gpus(8))
    wanted = await world.submit(spec=gpus(4, project_id=project))
    await tick(world)
    assert ((await loaded(running)).phase, (await loaded(wanted)).reason) == (Phase.RUNNING, Reason.WAITING_FOR_GPUS)


async def test_a_death_at_any_boundary_changes_nothing(world: World):
    project = await with_guarantee(world, 4)
    for at in range(1, 60):
        crash = Crash(at)
        wanted, victim = await _story(world, project, crash)
        where = f"died at {crash.passed[at - 1 : at]}"
        back, placed = await loaded(victim), await loaded(wanted)
        assert (back.phase, back.attempt, back.attempts_yielded) == (Phase.QUEUED, 1, 1), where
        assert (placed.phase, placed.server, placed.attempt) == (Phase.CREATING, SERVER, 1), where
        assert [it.reason for it in await world.attempts(victim)] == [Reason.PREEMPTED], where
        for workload in (victim, wanted):
            await world.cancel(workload)
            await world.settle(workload)
        if len(crash.passed) < at:
            return
    raise AssertionError("the story has more boundaries than were tried")


async def _story(world: World, project: UUID, crash: Crash) -> tuple[Workload, Workload]:
    """One is preempted for the other, with one death and one new process in it."""
    world.cluster.boundary = lambda _: None
    victim = await world.run(spec=gpus(8, preemptible=True))
    wanted = await world.submit(spec=gpus(4, project_id=project))
    _begin(world, CrashingBus(crash))
    world.cluster.boundary = crash.reached

    async def plan() -> None:
        await tick(world)

    async def settle() -> None:
        await world.settle(victim)

    async def kubelet() -> None:
        world.cluster.stop_orphans(world.clock.now())

    for step in (plan, settle, kubelet, settle, plan):
        await _survive(world, step)
    world.cluster.boundary = lambda _: None
    _begin(world, Bus())
    return wanted, victim


async def _survive(world: World, step: Callable[[], Awaitable[None]]) -> None:
    try:
        await step()
    except CrashError:
        _begin(world, Bus())
        await step()


def _begin(world: World, bus: Bus) -> None:
    world.restart(bus)
    world.watch()
