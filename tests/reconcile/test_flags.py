"""Our own flags on servers, as placing follows them: at once, and never a moment too late."""

from __future__ import annotations

import asyncio
from uuid import UUID

from app.bus import Bus
from app.commands import administer
from app.commands.context import CommandContext
from app.commands.flag_server import cordon_server, uncordon_server
from app.domain.people import Principal, Role
from app.domain.states import Phase, Reason, Status
from app.domain.submission import Defaults
from app.store import servers
from tests.clock import START
from tests.placement.builders import node
from tests.reconcile.builders import SERVER, World
from tests.reconcile.test_scheduler import gpus, have, tick
from tests.reconcile.test_standby import first_look, look
from tests.store.builders import a_stored_workload, an_organization, loaded


def ada(world: World) -> Principal:
    return Principal("ada", {world.organization.id: Role.OWNER})


def context(world: World, bus: Bus | None = None) -> CommandContext:
    return CommandContext(world.clock, bus or world.bus, Defaults())


async def id_of(name: str = SERVER) -> UUID:
    [found] = [it.id for it in await servers.all_servers() if it.name == name]
    return found


async def cordon(world: World, name: str = SERVER, reason: str = "fans", bus: Bus | None = None) -> None:
    await cordon_server(context(world, bus), ada(world), await id_of(name), reason)


async def uncordon(world: World, name: str = SERVER) -> None:
    await uncordon_server(context(world), ada(world), await id_of(name))


async def test_a_cordoned_server_takes_nothing_new_and_those_who_wait_are_told(world: World):
    running = await world.run(spec=gpus(1))
    await cordon(world)
    waiting = await world.submit(spec=gpus(1))
    await tick(world)
    now = await loaded(waiting)
    assert (now.phase, now.reason) == (Phase.QUEUED, Reason.NO_USABLE_SERVER)
    assert now.message == "needs 1 GPU; the only server large enough, gpu-1, is cordoned by ada: fans"
    await world.settle(running)
    assert (await loaded(running)).status is Status.RUNNING
    await uncordon(world)
    await tick(world)
    assert (await loaded(waiting)).server == SERVER


async def test_where_others_are_merely_full_the_cordoned_one_is_named_too(world: World):
    have(world, node(SERVER, 8), node("gpu-2", 2))
    await cordon(world)
    await world.submit(spec=gpus(2))
    world.clock.advance(1)
    waiting = await world.submit(spec=gpus(2))
    await tick(world)
    assert (await loaded(waiting)).message == (
        "needs 2 GPUs on one server; none is free on a server that qualifies; "
        "it would fit on gpu-1, which is cordoned by ada: fans; "
        "it starts on gpu-2 by 2026-11-30 13:33 UTC at the latest, unless something goes before it"
    )


async def test_a_cordon_that_was_answered_is_followed_by_no_placement(world: World):
    """At whatever moment of the tick it comes, and although the plan had chosen the server before."""
    for turns in range(60):
        workload = await world.submit(spec=gpus(1))
        ticking = asyncio.ensure_future(tick(world))
        for _ in range(turns):
            await asyncio.sleep(0)
        await cordon(world)
        by_then = len(await world.attempts(workload))
        await ticking
        assert len(await world.attempts(workload)) == by_then
        await world.cancel(workload)
        if by_then:
            await world.settle(workload)
        await uncordon(world)


async def test_an_assigned_server_takes_its_new_organizations_work_only(world: World):
    other = await an_organization("other", is_default=False)
    running = await world.run(spec=gpus(1))
    await administer.assign_server(SERVER, "other", START)
    ours, theirs = await world.submit(spec=gpus(1)), await a_stored_workload(other, spec=gpus(1))
    await tick(world)
    assert ((await loaded(ours)).server, (await loaded(theirs)).server) == ("", SERVER)
    assert (await loaded(ours)).message == "needs 1 GPU; the pool has no server with GPUs"
    await world.settle(running)
    assert (await loaded(running)).status is Status.RUNNING
    await administer.assign_server(SERVER, "", START)
    await tick(world)
    assert (await loaded(ours)).server == SERVER


async def test_an_assignment_voids_what_was_planned_for_the_former_organization(world: World):
    await an_organization("other", is_default=False)
    for turns in range(30):
        workload = await world.submit(spec=gpus(1))
        ticking = asyncio.ensure_future(tick(world))
        for _ in range(turns):
            await asyncio.sleep(0)
        await administer.assign_server(SERVER, "other", START)
        by_then = len(await world.attempts(workload))
        await ticking
        assert len(await world.attempts(workload)) == by_then
        await administer.assign_server(SERVER, "", START)
        await world.cancel(workload)
        if by_then:
            await world.settle(workload)


async def test_the_next_organization_is_told_that_it_is_cordoned_but_not_by_whom(world: World):
    other = await an_organization("other", is_default=False)
    await cordon(world)
    await administer.assign_server(SERVER, "other", START)
    theirs = await a_stored_workload(other, spec=gpus(1))
    await tick(world)
    message = (await loaded(theirs)).message
    assert message.endswith("the only server large enough, gpu-1, is cordoned by its former organization")


async def test_a_flag_that_another_process_sets_wakes_the_queue(world: World):
    await first_look(world)
    await cordon(world, bus=Bus())
    await look(world)
    assert len(world.background.schedule.queue) == 1
    world.background.schedule.queue.clear()
    await look(world)
    assert len(world.background.schedule.queue) == 0


async def test_a_flag_wakes_the_queue_of_its_own_process(world: World):
    world.background.schedule.queue.clear()
    await cordon(world)
    assert len(world.background.schedule.queue) == 1
