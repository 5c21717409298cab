"""What the cluster has and the database does not expect: a restored backup, Jobs of others, Jobs made by hand."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from app.bus import Bus
from app.cluster.port import UnavailableError
from app.domain.observed import ObservedJob, ObservedPod
from app.domain.orphans import SURE_SECONDS, OrphanKind
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload, job_name
from app.store.models import AttemptRow, AuditRow, EventRow, WorkloadRow
from tests.reconcile.builders import INSTALLATION, POLICY, SERVER, World, name_of
from tests.store.builders import loaded

GRACE = POLICY.orphan_grace_seconds


async def look(world: World) -> dict[str, OrphanKind]:
    """By Job name, what is called an orphan now."""
    world.watch()
    await world.loops.orphans.look()
    return {it.find.name: it.kind for it in world.loops.orphans.found.values()}


async def restore_as_submitted(world: World, workload: Workload) -> None:
    """The database of before it was placed; another process begins with it."""
    await AttemptRow.filter(workload_id=workload.id).delete()
    await EventRow.filter(workload_id=workload.id).exclude(type="submitted").delete()
    waiting = {"status": "pending", "phase": "queued", "reason": "submitted", "attempt": 0, "server": "", "gpus": []}
    ends = {"started_at": None, "completed_at": None, "exit_code": None, "cancel_requested_at": None}
    await WorkloadRow.filter(id=workload.id).update(**waiting, **ends, version=1)
    world.restart(Bus())
    world.watch()


async def forget(workload: Workload) -> None:
    """A database of before it was submitted."""
    await AttemptRow.filter(workload_id=workload.id).delete()
    await EventRow.filter(workload_id=workload.id).delete()
    await WorkloadRow.filter(id=workload.id).delete()


def a_job(world: World, name: str, **changes: Any) -> ObservedJob:
    job = ObservedJob(f"uid-{name}", name, "", 0, installation=INSTALLATION)
    world.cluster.jobs[name] = replace(job, **changes)
    return world.cluster.jobs[name]


async def noted() -> list[tuple[str, str]]:
    return [(row.action, row.target.split()[0]) for row in await AuditRow.all().order_by("id")]


async def test_what_is_in_order_is_no_orphan_and_is_read_once(world: World):
    workload = await world.run()
    assert await look(world) == {}
    assert world.loops.orphans._in_order == {world.cluster.jobs[name_of(workload)].uid}
    assert await noted() == []


async def test_a_running_workload_is_adopted_where_it_runs_and_not_started_twice(world: World):
    """Its backup says that it waits; there is no room for it but where it runs itself."""
    workload = await world.run()
    world.cluster.jobs[name_of(workload)] = replace(world.cluster.jobs[name_of(workload)], server="gpu-7")
    await restore_as_submitted(world, workload)
    assert await look(world) == {}
    adopted = await loaded(workload)
    assert (adopted.phase, adopted.attempt, adopted.server) == (Phase.CREATING, 1, "gpu-7")
    assert "followed from here" in adopted.message
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.RUNNING
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.exit_code, done.server) == (Status.COMPLETED, 3, "gpu-7")
    assert world.cluster.created == [name_of(workload)]


async def test_an_ended_job_whose_pod_is_held_is_adopted_with_its_end(world: World):
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now(), 4)
    await restore_as_submitted(world, workload)
    await look(world)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.exit_code) == (Status.COMPLETED, 4)
    assert world.cluster.created == [name_of(workload)]


async def test_a_held_pod_whose_job_is_gone_is_adopted_too(world: World):
    """Cancelled after the backup, the app killed before it had recorded that: it must not run again."""
    workload = await world.run()
    del world.cluster.jobs[name_of(workload)]
    world.cluster.stop_orphans(world.clock.now())
    await restore_as_submitted(world, workload)
    await look(world)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason, done.exit_code) == (Status.FAILED, Reason.JOB_DELETED, 137)
    assert world.cluster.created == [name_of(workload)]
    assert not any(pod.is_held for pod in world.cluster.pods.values())


async def test_a_later_attempt_is_adopted_by_a_workload_whose_attempt_is_gone(world: World):
    workload = await world.run()
    first = world.cluster.jobs.pop(name_of(workload))
    world.cluster.lose_pod(name_of(workload))
    name = name_of(workload, 2)
    world.cluster.jobs[name] = replace(first, uid="job-second", name=name, attempt=2, server="gpu-2")
    world.cluster.specs[name] = replace(world.cluster.specs[name_of(workload)], server="gpu-2")
    world.restart(Bus())
    assert await look(world) == {}
    await world.settle(workload)
    now = await loaded(workload)
    assert (now.attempt, now.phase, now.server) == (2, Phase.INITIALIZING, "gpu-2")
    one, two = await world.attempts(workload)
    assert (one.reason, two.job_uid) == (Reason.JOB_DELETED, "job-second")
    assert world.cluster.created == [name_of(workload)]
    assert await world.ends(workload) == []


async def test_of_two_unknown_attempts_the_later_one_is_adopted(world: World):
    workload = await world.submit()
    for number in (1, 2):
        a_job(world, name_of(workload, number), workload_id=str(workload.id), attempt=number, server=SERVER)
    assert await look(world) == {name_of(workload, 1): OrphanKind.UNKNOWN_ATTEMPT}
    assert (await loaded(workload)).attempt == 2


async def test_a_create_that_meets_its_own_job_elsewhere_follows_it_there(world: World):
    """The scheduler was quicker than the look, and chose another server."""
    workload = await world.place()
    name = name_of(workload)
    a_job(world, name, workload_id=str(workload.id), attempt=1, server="gpu-7", gpu_resource="nvidia.com/gpu")
    await world.settle(workload)
    [attempt] = await world.attempts(workload)
    assert (attempt.server, attempt.job_uid) == ("gpu-7", f"uid-{name}")
    assert (await loaded(workload)).server == "gpu-7"
    assert world.cluster.created == []


async def test_a_live_attempt_whose_job_was_cleaned_away_ends_and_is_not_run_again(world: World):
    workload = await world.run()
    world.cluster.jobs.clear()
    world.cluster.pods.clear()
    world.restart(Bus())
    await look(world)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.JOB_DELETED)
    assert "deleted by somebody" in done.message
    assert world.cluster.created == [name_of(workload)]


async def test_a_job_without_a_row_is_noted_once_and_removed_after_the_grace(
    world: World, logged: list[MutableMapping[str, Any]]
):
    workload = await world.run()
    await forget(workload)
    world.restart(Bus())
    name = name_of(workload)
    for _ in range(3):
        assert await look(world) == {name: OrphanKind.UNKNOWN_WORKLOAD}
        world.clock.advance(GRACE / 3 - 1)
    assert await noted() == [("orphan_found", name)]
    assert len([line for line in logged if "nobody expects" in line["event"]]) == 1
    world.restart(Bus())  # the grace goes on where it was
    world.clock.advance(3)
    await look(world)
    assert name not in world.cluster.jobs
    assert not any(pod.is_held for pod in world.cluster.pods.values())
    assert await noted() == [("orphan_found", name), ("orphan_removed", name)]
    assert await look(world) == {}


async def test_a_held_pod_that_nobody_knows_is_let_go_after_the_grace(world: World):
    workload = await world.run()
    await forget(workload)
    del world.cluster.jobs[name_of(workload)]
    world.cluster.stop_orphans(world.clock.now())
    world.cluster.change_pod(name_of(workload), installation=INSTALLATION)
    world.restart(Bus())
    assert await look(world) == {name_of(workload): OrphanKind.UNKNOWN_WORKLOAD}
    world.clock.advance(GRACE)
    await look(world)
    assert world.cluster.pods == {}


@pytest.mark.parametrize("installation", ["", "another"])
async def test_what_another_installation_made_is_never_removed(world: World, installation: str):
    name = job_name(uuid4(), 1)
    a_job(world, name, installation=installation)
    assert await look(world) == {name: OrphanKind.FOREIGN}
    world.clock.advance(100 * GRACE)
    await look(world)
    assert name in world.cluster.jobs
    assert world.cluster.calls["delete_job"] == 0


async def test_with_a_grace_of_nothing_orphans_are_only_reported(world: World):
    world.loops.orphans.policy = replace(POLICY, orphan_grace_seconds=0)
    name = a_job(world, job_name(uuid4(), 1)).name
    for _ in range(2):
        assert await look(world) == {name: OrphanKind.UNKNOWN_WORKLOAD}
        world.clock.advance(100 * GRACE)
    assert name in world.cluster.jobs


async def test_another_job_under_the_name_of_ours_ends_the_attempt_and_is_not_followed(world: World):
    """Deleted and made again by somebody, label for label: what runs there now is not what we started."""
    workload = await world.run()
    name = name_of(workload)
    world.cluster.change_pod(name, job_uid=world.cluster.jobs[name].uid)
    copy = replace(world.cluster.jobs.pop(name), uid="a-copy")
    world.cluster.stop_orphans(world.clock.now())
    world.cluster.jobs[name] = copy
    pod = ObservedPod("pod-of-copy", f"{name}-zzzzz", "gpuyard", name, SERVER, "Running", job_uid="a-copy")
    world.cluster.pods[pod.uid] = replace(pod, running_since=world.clock.now())
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason, done.exit_code) == (Status.FAILED, Reason.JOB_DELETED, 137)
    assert await look(world) == {name: OrphanKind.LEFT_OVER}
    assert world.cluster.jobs[name] == copy
    world.clock.advance(SURE_SECONDS)
    await look(world)
    assert name not in world.cluster.jobs


async def test_what_a_late_create_of_another_process_left_is_removed_soon(world: World):
    """It was suspended right before its create, and replaced; the attempt has ended and was cleaned meanwhile."""
    workload = await world.place()
    name = name_of(workload)
    await world.settle(workload)
    await world.cancel(workload)
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.CANCELLED
    a_job(world, name, workload_id=str(workload.id), attempt=1, uid="late")
    assert await look(world) == {name: OrphanKind.LEFT_OVER}
    world.clock.advance(SURE_SECONDS)
    await look(world)
    assert name not in world.cluster.jobs


async def test_a_projection_that_is_behind_makes_no_orphan(world: World):
    """The Job is gone and its attempt clean; the watch has not said so yet."""
    workload = await world.run()
    await world.cancel(workload)
    world.watch()
    job = world.cluster.jobs[name_of(workload)]
    await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    world.projection.put(job)
    await world.loops.orphans.look()
    assert world.loops.orphans.found == {}
    assert await noted() == []


async def test_an_api_that_does_not_answer_makes_no_orphan_and_hinders_no_adoption(world: World):
    waiting, name = await world.submit(), job_name(uuid4(), 1)
    a_job(world, name)
    a_job(world, name_of(waiting), workload_id=str(waiting.id), attempt=1, server=SERVER)
    world.cluster.fail("find", UnavailableError("down"))
    with pytest.raises(UnavailableError):
        await look(world)
    assert world.loops.orphans.adopted.is_set()
    assert (await loaded(waiting)).attempt == 1
    assert await look(world) == {name: OrphanKind.UNKNOWN_WORKLOAD}


async def test_nothing_is_placed_before_it_is_known_what_the_cluster_has(world: World):
    workload = await world.submit()
    a_job(world, name_of(workload, 3), workload_id=str(workload.id), attempt=3, server=SERVER)
    world.watch()
    await world.background.schedule.reconcile("all")
    assert (await loaded(workload)).waits
    await look(world)
    await world.background.schedule.reconcile("all")
    assert (await loaded(workload)).attempt == 3


async def test_whoever_makes_jobs_in_another_namespace_does_not_speak_for_a_workload(world: World):
    """With namespaces of organizations Jobs are listed in all: one that looks like a later attempt is not adopted."""
    world.cluster.everywhere = world.projection.everywhere = True
    workload = await world.submit()
    name = name_of(workload)
    theirs = a_job(world, name, workload_id=str(workload.id), attempt=1, installation="", namespace="theirs")
    assert await look(world) == {name: OrphanKind.FOREIGN}
    assert (await loaded(workload)).phase is Phase.QUEUED
    world.cluster.jobs[name] = replace(theirs, namespace="gpuyard-acme")
    assert await look(world) == {}
    adopted = await loaded(workload)
    [attempt] = await world.attempts(workload)
    assert (adopted.phase, attempt.namespace) == (Phase.CREATING, "gpuyard-acme")
