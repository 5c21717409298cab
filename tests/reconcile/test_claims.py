"""What our attempts will take, in memory: as fresh as the store, and never longer than the attempt."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from app.cluster.projection import Projection
from app.reconcile.claims import Claims
from app.store.writes import Change, apply_changes
from tests.reconcile.builders import World, name_of


async def test_what_is_stored_is_loaded(world: World):
    workload = await world.place()
    claims = Claims({"default": Projection("gpuyard")})
    await claims.load()
    [claim] = claims.open("default")
    resources = workload.spec.resources
    assert (claim.server, claim.gpu_resource, claim.gpu_count) == (workload.server, "nvidia.com/gpu", 1)
    assert (claim.cpu_millis, claim.memory_bytes) == (resources.cpu_millis, resources.memory_bytes)


async def test_a_claim_goes_once_its_pod_is_bound(world: World):
    workload = await world.place()
    claims = Claims({"default": world.projection})
    await claims.load()
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.change_pod(name_of(workload), node="")
    world.watch()
    assert len(claims.open("default")) == 1
    world.cluster.change_pod(name_of(workload), node="gpu-1")
    world.watch()
    assert claims.open("default") == []


async def test_a_full_look_drops_what_ended_elsewhere(world: World):
    workload = await world.place()
    claims = Claims({"default": world.projection})
    await claims.load()
    [attempt] = await world.attempts(workload)
    over = Change(workload, workload, attempt, replace(attempt, ended_at=world.clock.now()))
    assert await apply_changes(workload.organization_id, [over], world.clock.now()) == [True]
    await claims.load()
    assert claims.open("default") == []


async def test_what_is_placed_during_a_full_look_stays(world: World):
    claims = Claims({"default": world.projection})
    await claims.load()
    loading = asyncio.ensure_future(claims.load())
    await asyncio.sleep(0)
    workload = await world.place()
    [attempt] = await world.attempts(workload)
    claims.add(attempt, workload)
    await loading
    assert len(claims.open("default")) == 1


async def test_what_ends_during_a_full_look_stays_away(world: World):
    """It was still unstarted when the store was read; its GPUs are free all the same."""
    claims = Claims({"default": world.projection})
    workload = await world.place()
    [attempt] = await world.attempts(workload)
    loading = asyncio.ensure_future(claims.load())
    await asyncio.sleep(0)
    claims.drop(attempt)
    await loading
    assert claims.open("default") == []
