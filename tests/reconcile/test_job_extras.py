"""What a submitter asks for beyond the image: labels, mounts, shared memory and retries, on the way to the Job."""

from __future__ import annotations

import pytest

from app.cluster.port import UnavailableError, VolumeMount
from app.domain.states import Phase, Reason, Status
from app.domain.volumes import Mount, Volume, VolumeKind
from app.domain.workload import Workload
from app.store import volumes
from app.store.writes import apply_changes
from tests.reconcile.builders import World, name_of, seconds
from tests.store.builders import loaded, placement

MOUNTS = (Mount("data", "/data", read_only=True), Mount("models", "/models"))
SPEC = {"mounts": MOUNTS, "labels": (("team", "vision"),), "shared_memory_bytes": 2**30}


async def with_volumes(world: World) -> dict[str, Volume]:
    made = {name: Volume(world.organization.id, name, VolumeKind.PVC, f"{name}-claim") for name in ("data", "models")}
    for volume in made.values():
        await volumes.add_volume(volume, world.clock.now())
    return made


async def test_labels_mounts_and_shared_memory_reach_the_job(world: World):
    made = await with_volumes(world)
    workload = await world.run(spec=SPEC)
    spec = world.cluster.specs[name_of(workload)]
    assert spec.mounts == (
        VolumeMount(made["data"], "/data", read_only=True),
        VolumeMount(made["models"], "/models"),
    )
    assert (spec.labels, spec.shared_memory_bytes) == ((("team", "vision"),), 2**30)


async def test_a_volume_removed_meanwhile_fails_the_workload_and_is_named(world: World):
    await with_volumes(world)
    workload = await world.place(spec=SPEC)
    await volumes.remove_volume(world.organization.id, "models")
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason, done.exit_code) == (Status.FAILED, Reason.VOLUME_REMOVED, None)
    assert done.message == "volume models is no longer there: removed by an operator before the workload could start"
    assert world.cluster.created == []
    assert len(await world.ends(workload)) == 1
    [attempt] = await world.attempts(workload)
    assert (attempt.reason, attempt.ended_at is not None) == (Reason.VOLUME_REMOVED, True)


async def test_a_volume_of_another_kind_by_now_is_mounted_as_it_is_now(world: World):
    await with_volumes(world)
    workload = await world.place(spec={"mounts": MOUNTS[1:]})
    await volumes.remove_volume(world.organization.id, "models")
    newer = Volume(world.organization.id, "models", VolumeKind.NFS, "files:/models", read_only=True)
    await volumes.add_volume(newer, world.clock.now())
    await world.settle(workload)
    assert world.cluster.specs[name_of(workload)].mounts == (VolumeMount(newer, "/models"),)


async def test_a_cancel_is_a_cancel_although_a_volume_is_gone(world: World):
    await with_volumes(world)
    workload = await world.place(spec=SPEC)
    await volumes.remove_volume(world.organization.id, "data")
    await world.cancel(workload)
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.CANCELLED


async def test_a_job_that_exists_is_followed_although_its_volume_is_gone_and_its_creation_was_not_heard_of(
    world: World,
):
    """The answer to the create was lost, the process restarted, and its first view is from before the Job."""
    await with_volumes(world)
    workload = await world.place(spec=SPEC)
    world.cluster.fail("after create_job", UnavailableError("the answer was lost"))
    with pytest.raises(UnavailableError):
        await world.step(workload)
    await volumes.remove_volume(world.organization.id, "data")
    await world.step(workload)
    assert (await loaded(workload)).status is Status.PENDING
    await world.settle(workload)
    assert (await loaded(workload)).phase is Phase.INITIALIZING
    assert world.cluster.created == [name_of(workload)]


async def evicted(world: World, workload: Workload, attempt: int) -> Workload:
    """Executing, then put out by its server."""
    name = name_of(workload, attempt)
    world.cluster.start_pod(name, world.clock.now())
    await world.settle(workload)
    world.cluster.run_container(name, world.clock.now())
    await world.settle(workload)
    world.cluster.end_container(name, world.clock.now(), 137)
    world.cluster.change_pod(name, reason="Evicted", disruption="TerminationByKubelet")
    await world.settle(workload)
    return await loaded(workload)


@pytest.mark.parametrize("allowed", [0, 1, 2])
async def test_what_executed_is_run_again_as_often_as_its_submitter_allowed(world: World, allowed: int):
    workload = await world.place(spec={"max_retries": allowed})
    await world.settle(workload)
    for number in range(1, allowed + 1):
        waiting = await evicted(world, workload, number)
        assert (waiting.status, waiting.phase, waiting.retries_used) == (Status.PENDING, Phase.QUEUED, number)
        world.clock.advance(seconds(3600).total_seconds())
        await apply_changes(world.organization.id, [placement(waiting, world.clock.now())], world.clock.now())
        await world.settle(workload)
    done = await evicted(world, workload, allowed + 1)
    assert (done.status, done.reason, done.attempt) == (Status.FAILED, Reason.EVICTED, allowed + 1)
    assert len(world.cluster.created) == allowed + 1
    assert len(await world.ends(workload)) == 1


async def test_its_own_end_is_never_run_again(world: World):
    workload = await world.run(spec={"max_retries": 10})
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.exit_code, done.retries_used) == (Status.COMPLETED, 3, 0)
