"""Where those who wait stand, and what would become of a request: in the process that places and in any other."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from app.bus import Bus
from app.domain.errors import ConflictError
from app.domain.requests import accept
from app.domain.states import Reason
from app.domain.workload import Resources, Workload
from app.placement.plan import Place, Waits
from app.reconcile.forecast import Standing, Trial
from app.store import reads
from tests.domain.builders import a_submission
from tests.placement.builders import node, pod
from tests.reconcile.builders import SERVER, World
from tests.reconcile.test_scheduler import gpus, have, tick
from tests.store.builders import loaded


async def standing(world: World, workload: Workload) -> Standing | None:
    return await world.background.forecaster.standing(world.organization.id, workload.id)


async def positions(world: World, *workloads: Workload) -> list[int | None]:
    found = [await standing(world, it) for it in workloads]
    assert all(it is not None and it.total == len(workloads) for it in found)
    return [it.position for it in found if it]


async def tried(world: World, count: int, **spec: object) -> Trial:
    wanted = a_submission(resources=Resources(count, 1000 * count, 2**30), **spec)
    noun = accept(uuid4(), world.organization.id, wanted, "ada", world.clock.now())
    return await world.background.forecaster.try_out(noun)


def another_process(world: World) -> None:
    """It sees the cluster and never leads: it has no claims of its own."""
    world.restart(Bus())
    world.watch()


async def test_the_position_is_the_planners_order(world: World):
    have(world, node(SERVER, 1))
    world.cluster.pods["u"] = pod(SERVER, gpus=1)
    world.watch()
    large, small, middle = [await world.submit(spec=gpus(1, timeout_seconds=hours * 3600)) for hours in (8, 1, 4)]
    await tick(world)
    assert await positions(world, large, small, middle) == [3, 1, 2]
    another_process(world)
    assert await positions(world, large, small, middle) == [3, 1, 2]


async def test_a_promise_is_that_of_the_message_in_any_process(world: World):
    have(world, node(SERVER, 4))
    await world.submit(spec=gpus(3))
    await tick(world)
    waits = await world.submit(spec=gpus(2))
    await tick(world)
    message = (await loaded(waits)).message
    for _ in range(2):
        found = await standing(world, waits)
        assert found is not None
        assert found.promised is not None
        assert found.promised.server.name == SERVER
        assert f"by {found.promised.starts_by + timedelta(seconds=59):%Y-%m-%d %H:%M} UTC" in message
        another_process(world)


async def test_what_came_after_the_last_look_is_looked_for(world: World):
    have(world, node(SERVER, 1, is_cordoned=True))
    first = await world.submit(spec=gpus(1))
    assert await positions(world, first) == [1]
    world.clock.advance(0.1)
    second = await world.submit(spec=gpus(1))
    assert await positions(world, second, first) == [2, 1]


async def test_who_was_placed_stands_nowhere(world: World):
    workload = await world.submit(spec=gpus(1))
    await tick(world)
    assert await standing(world, workload) is None


async def test_who_backs_off_stands_outside_the_line(world: World):
    have(world, node(SERVER, 1, is_cordoned=True))
    later = world.clock.now() + timedelta(minutes=1)
    aside, waits = await world.submit(spec=gpus(1), not_before=later), await world.submit(spec=gpus(1))
    assert await standing(world, aside) == Standing(None, 1)
    assert await standing(world, waits) == Standing(1, 1)
    assert await world.background.forecaster.relaxations(world.organization.id, aside.id) == []


async def test_what_would_let_it_start(world: World):
    have(world, node(SERVER, 4))
    workload = await world.submit(spec=gpus(6))
    [found] = await world.background.forecaster.relaxations(world.organization.id, workload.id)
    assert found.message == f"fits now on {SERVER} with 4 GPUs"


async def test_a_request_that_fits_would_start_and_nothing_of_it_is_stored(world: World):
    have(world, node(SERVER, 4))
    trial = await tried(world, 4)
    assert (trial.answer, trial.standing) == (Place(SERVER, "nvidia.com/gpu", "default"), Standing(1, 1))
    assert await reads.waiting_workloads() == []


async def test_a_request_that_does_not_fit_would_wait_with_the_reason_of_a_real_one(world: World):
    have(world, node(SERVER, 4))
    await world.submit(spec=gpus(3))
    await tick(world)
    another_process(world)
    trial = await tried(world, 2)
    waits = await world.submit(spec=gpus(2))
    await tick(world)
    real = await loaded(waits)
    assert trial.answer == Waits(real.reason, real.message)
    assert real.reason is Reason.WAITING_FOR_GPUS
    assert [it.message for it in trial.relaxations] == [f"fits now on {SERVER} with 1 GPU"]
    assert trial.standing.position == 1


async def test_those_who_wait_stand_as_before_after_a_trial(world: World):
    have(world, node(SERVER, 4))
    large = await world.submit(spec=gpus(8, timeout_seconds=36_000))
    assert await positions(world, large) == [1]
    assert (await tried(world, 5)).standing.position == 1
    assert await positions(world, large) == [1]
    [found] = await world.background.forecaster.relaxations(world.organization.id, large.id)
    assert found.value == "4"


async def test_nothing_is_foretold_before_it_is_known_what_the_cluster_has(world: World):
    workload = await world.submit(spec=gpus(1))
    world.restart(Bus())
    assert await standing(world, workload) is None
    with pytest.raises(ConflictError, match="not known yet"):
        await tried(world, 1)
