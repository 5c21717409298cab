"""What a plan goes by: what is usual, what projects have used, and when what runs ends."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.gpus import GpuRequirements
from app.domain.quota import Quota
from app.domain.server import ServerId
from app.domain.states import Phase, Reason
from app.domain.workload import Attempt, Workload
from app.placement.calendar import Hold
from app.placement.plan import Outlook
from app.placement.quotas import Budget
from app.reconcile.outlook import Outlooks
from app.store import managing, mapping, people
from app.store.models import AttemptRow
from tests.clock import START
from tests.placement.builders import GI, GPU, node
from tests.reconcile.builders import SERVER, World
from tests.reconcile.test_scheduler import gpus, have, placed, tick
from tests.store.builders import a_stored_workload, loaded

DAY = 24 * 3600


async def look(world: World, outlooks: Outlooks | None = None) -> Outlook:
    return await (outlooks or Outlooks(world.clock)).look({world.organization.id: "acme"})


async def ended(world: World, gpu_count: int, phase: Phase = Phase.QUEUED, **spec: object) -> Workload:
    """It ran from a day ago until half a day ago."""
    workload = await a_stored_workload(world.organization, spec=gpus(gpu_count, **spec), phase=phase)
    began, over = START - timedelta(days=1), START - timedelta(days=0.5)
    attempt = Attempt(workload.id, 1, SERVER, GPU, placed_at=began, started_at=began, ended_at=over, cleaned_at=over)
    await AttemptRow.create(**mapping.attempt_values(attempt))
    return workload


async def test_what_is_usual_is_what_was_submitted(world: World):
    for count in (1, 1, 4):
        await world.submit(spec=gpus(count))
    history = (await look(world)).histories["acme"]
    assert {(ask.gpus, ask.cpu, ask.memory): count for ask, count in history.items()} == {
        (1, 1000, GI): 2,
        (4, 4000, GI): 1,
    }


async def test_what_is_usual_is_read_anew_after_a_minute(world: World):
    outlooks = Outlooks(world.clock)
    await world.submit(spec=gpus(1))
    first = await look(world, outlooks)
    await world.submit(spec=gpus(2))
    assert (await look(world, outlooks)).histories == first.histories
    world.clock.advance(60)
    assert len((await look(world, outlooks)).histories["acme"]) == 2


async def test_a_placed_workload_is_gone_by_its_limits(world: World):
    workload = await world.place(spec=gpus(2))
    limits = workload.spec.start_timeout_seconds + workload.spec.timeout_seconds + 120
    assert (await look(world)).holds == {
        ServerId(SERVER, "default"): [Hold(START.timestamp() + limits, GPU, 2, 2000, GI)]
    }


async def test_use_of_runs_that_are_over_fades(world: World):
    await ended(world, 2)
    outlooks = Outlooks(world.clock, half_life=DAY)
    [now] = (await look(world, outlooks)).used["acme"].values()
    assert now == pytest.approx(2 * DAY / 2 * 2**-0.75, rel=0.01)
    world.clock.advance(DAY)
    [later] = (await look(world, outlooks)).used["acme"].values()
    [anew] = (await look(world, Outlooks(world.clock, half_life=DAY))).used["acme"].values()
    assert later == pytest.approx(now / 2)
    assert later == pytest.approx(anew)


async def test_without_a_half_life_use_is_not_looked_at(world: World):
    await ended(world, 2)
    assert (await look(world, Outlooks(world.clock, half_life=0))).used == {}


async def test_a_project_that_used_much_waits_for_one_that_did_not(world: World):
    have(world, node(SERVER, 1))
    greedy = await people.add_project(world.organization.id, "greedy", "Greedy", START)
    modest = await people.add_project(world.organization.id, "modest", "Modest", START)
    await ended(world, 8, Phase.COMPLETED, project_id=greedy.id)
    first = await world.submit(spec=gpus(1, project_id=greedy.id))
    world.clock.advance(1)
    second = await world.submit(spec=gpus(1, project_id=modest.id))
    await tick(world)
    assert [it.id for it in await placed(world)] == [second.id]
    assert (await loaded(first)).waits


async def test_a_projects_budget_counts_what_its_attempts_hold(world: World):
    """Until nothing of them runs; slices and shares are not counted, nor is what has no quota."""
    made = [await people.add_project(world.organization.id, slug, slug.title(), START) for slug in ("vision", "speech")]
    vision, speech = made
    assert (await look(world)).budgets == {}
    await managing.set_quota(vision.id, Quota(2, 8), 1)
    await world.place(spec=gpus(2, project_id=vision.id))
    await world.place(spec=gpus(1, project_id=vision.id, gpu_requirements=GpuRequirements(mig_profile="1g.10gb")))
    await world.place(spec=gpus(4, project_id=speech.id))
    stopping = await world.run(spec=gpus(1, project_id=vision.id))
    await world.cancel(stopping)
    await world.settle(stopping)
    assert (await look(world)).budgets == {"acme": {vision.id: Budget("Vision", Quota(2, 8), 3, 3)}}
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(stopping)
    assert (await look(world)).budgets["acme"][vision.id].used == 2


async def test_who_is_over_the_quota_is_told_and_placed_once_it_is_raised(world: World):
    project = await people.add_project(world.organization.id, "vision", "Vision", START)
    await managing.set_quota(project.id, Quota(None, 2), 1)
    workload = await world.submit(spec=gpus(4, project_id=project.id))
    await tick(world)
    waiting = await loaded(workload)
    assert (waiting.reason, waiting.message) == (
        Reason.OVER_QUOTA,
        "needs 4 GPUs; project Vision uses 0 of at most 2 GPUs",
    )
    await managing.set_quota(project.id, Quota(None, 4), 2)
    await tick(world)
    assert (await loaded(workload)).phase is Phase.CREATING
