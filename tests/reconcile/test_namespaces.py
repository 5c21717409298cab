"""An organization's own namespace: written down with the attempt, followed there whatever the setting says later."""

from __future__ import annotations

import pytest

from app.cluster.port import NotSetUpError
from app.domain.states import Reason, Status
from app.domain.workload import Workload
from app.store.writes import apply_changes
from tests.reconcile.builders import World, name_of
from tests.store.builders import loaded, placement

OWN = "gpuyard-acme"
LACKS = NotSetUpError("the namespace gpuyard-acme of acme doesn't exist: kubectl create namespace gpuyard-acme")


async def placed_there(world: World) -> Workload:
    workload = await world.submit()
    change = placement(workload, world.clock.now(), OWN)
    assert await apply_changes(world.organization.id, [change], world.clock.now()) == [True]
    return await loaded(workload)


async def test_the_job_is_made_followed_and_removed_where_the_attempt_says(world: World):
    """The projection of this process looks into one namespace only: the setting was on when it was placed."""
    workload = await placed_there(world)
    await world.settle(workload)
    name = name_of(workload)
    assert world.cluster.specs[name].namespace == OWN
    world.cluster.start_pod(name, world.clock.now())
    world.cluster.run_container(name, world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.RUNNING
    await world.cancel(workload)
    await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.CANCELLED
    assert name not in world.cluster.jobs
    assert world.cluster.pod_of(name) is None
    [attempt] = await world.attempts(workload)
    assert (attempt.namespace, attempt.cleaned_at is not None) == (OWN, True)


async def test_a_missing_namespace_is_said_and_tried_again(world: World):
    workload = await placed_there(world)
    world.cluster.fail("create_job", LACKS, LACKS)
    for _ in range(2):
        with pytest.raises(NotSetUpError):
            await world.step(workload)
    waiting = await loaded(workload)
    assert (waiting.status, waiting.reason) == (Status.PENDING, Reason.JOB_NOT_CREATED)
    assert "kubectl create namespace gpuyard-acme" in waiting.message
    await world.settle(workload)
    assert world.cluster.created == [name_of(workload)]
