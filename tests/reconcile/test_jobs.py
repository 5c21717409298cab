"""From a placement to the end of its Job: created once, followed, recorded, and what the cluster refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.bus import Bus
from app.cluster.brake import HeldBackError
from app.cluster.port import ConflictError, Kind, RefusedError, UnavailableError
from app.domain.lifecycle import POD_RECHECK_SECONDS
from app.domain.observed import ObservedJob
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Workload
from app.store import people
from tests.clock import START
from tests.reconcile.builders import SERVER, World, name_of, seconds
from tests.store.builders import loaded

REFUSED = RefusedError(422, "Invalid", "images must come from registry.example.com")
UNAVAILABLE = UnavailableError("no route to host", retry_after=7.0)


async def test_the_job_is_created_once_under_its_name(world: World):
    workload = await world.place()
    await world.step(workload)
    await world.step(workload)  # the watches have told nothing yet
    await world.settle(workload)
    assert world.cluster.created == [name_of(workload)]
    assert world.cluster.calls["create_job"] == 1
    assert [a.job_uid for a in await world.attempts(workload)] == ["job-1"]


async def test_the_job_is_what_was_asked_for(world: World):
    project = await people.add_project(world.organization.id, "vision", "Vision", START)
    asked = {"image": "a:1", "env_vars": (("A", "$B"),), "command": ("x",), "args": ("y",), "project_id": project.id}
    workload = await world.place(spec=asked)
    await world.step(workload)
    spec = world.cluster.specs[name_of(workload)]
    assert (spec.workload_id, spec.attempt, spec.organization, spec.project) == (workload.id, 1, "acme", "vision")
    assert (spec.image, spec.command, spec.args, spec.env_vars) == ("a:1", ("x",), ("y",), (("A", "$B"),))
    assert (spec.server, spec.gpu_resource, spec.gpu_count) == (SERVER, "nvidia.com/gpu", 1)
    assert (spec.run_limit_seconds, spec.start_limit_seconds) == (3600, 1800)


async def test_what_waits_for_a_server_touches_no_cluster(world: World):
    workload = await world.submit()
    assert await world.step(workload) is None
    assert not world.cluster.calls


async def test_a_run_is_followed_to_its_end(world: World):
    workload = await world.run()
    assert (workload.status, workload.phase, workload.started_at) == (Status.RUNNING, Phase.RUNNING, START)
    assert (workload.server, workload.gpus) == (SERVER, ("GPU-1",))
    world.clock.advance(60)
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason, done.exit_code, done.succeeded) == (Status.COMPLETED, Reason.EXITED, 3, False)
    assert (done.completed_at, done.gpus, done.server) == (world.clock.now(), ("GPU-1",), SERVER)
    [event] = await world.ends(workload)
    assert (event.exit_code, event.server, event.attempt) == (3, SERVER, 1)


async def test_each_state_is_told_once_and_in_order(world: World):
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now())
    await world.settle(workload)
    told = [event.type for event in await world.events(workload)]
    assert told[:2] == [EventType.SUBMITTED, EventType.PLACED]
    assert told[-2:] == [EventType.STARTED, EventType.ENDED]
    assert told.count(EventType.STARTED) == 1


async def test_the_run_limit_is_handed_to_the_kubelet(world: World):
    workload = await world.place(spec={"timeout_seconds": 100})
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.clock.advance(30)
    world.cluster.run_container(name_of(workload), world.clock.now())
    await until_limited(world, workload)
    pod = world.cluster.pod_of(name_of(workload))
    assert pod is not None
    assert pod.run_limit_seconds in range(130, 133)
    assert world.clock.now() < START + seconds(130)
    await world.settle(workload)
    assert world.cluster.calls["limit_run"] == 1


async def until_limited(world: World, workload: Workload) -> None:
    """Look again whenever it is asked for, until the kubelet is given the limit."""
    while True:
        world.watch()
        wake_at = await world.step(workload)
        if world.cluster.calls["limit_run"]:
            return
        assert wake_at is not None
        world.clock.advance(max(0.0, (wake_at - world.clock.now()).total_seconds()))


async def test_news_of_a_deleted_job_may_come_after_its_pods_end(world: World):
    workload = await world.run()
    del world.cluster.jobs[name_of(workload)]
    world.cluster.stop_orphans(world.clock.now())
    world.watch(Kind.PODS)
    await world.step(workload)
    assert (await loaded(workload)).reason is Reason.JOB_DELETED


async def test_a_job_that_came_and_went_in_a_gap_of_the_watches_is_not_made_again(world: World):
    workload = await world.place()
    await world.step(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.run_container(name_of(workload), world.clock.now())
    del world.cluster.jobs[name_of(workload)]
    world.cluster.stop_orphans(world.clock.now())
    world.watch(Kind.JOBS)
    await world.step(workload)
    await world.settle(workload)
    assert world.cluster.created == [name_of(workload)]
    assert (await loaded(workload)).reason is Reason.JOB_DELETED


async def test_what_an_earlier_process_asked_for_is_looked_for_before_it_is_made_again(world: World):
    """The new process lists an older moment; its Job was made since, ran, and was deleted by somebody."""
    workload = await world.place()
    await world.step(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.run_container(name_of(workload), world.clock.now())
    del world.cluster.jobs[name_of(workload)]
    world.cluster.stop_orphans(world.clock.now())
    world.restart(Bus())
    world.watch(Kind.NODES, Kind.JOBS)
    await world.step(workload)
    await world.settle(workload)
    assert world.cluster.created == [name_of(workload)]


async def test_an_end_is_final_whatever_the_cluster_says_later(world: World):
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now())
    await world.settle(workload)
    done = await loaded(workload)
    world.cluster.end_container(name_of(workload), world.clock.now(), 137, "OOMKilled")
    await world.settle(workload)
    assert await loaded(workload) == done
    assert len(await world.ends(workload)) == 1


async def test_our_own_job_is_found_again(world: World):
    """The answer to an earlier create was lost."""
    workload = await world.place()
    world.cluster.fail("after create_job", UNAVAILABLE)
    with pytest.raises(UnavailableError):
        await world.step(workload)
    await world.settle(workload)
    assert world.cluster.created == [name_of(workload)]
    assert (await loaded(workload)).phase is Phase.INITIALIZING


async def test_a_job_of_that_name_that_is_not_ours_ends_the_attempt(world: World):
    workload = await world.place()
    world.cluster.jobs[name_of(workload)] = ObservedJob("u", name_of(workload), "another", 1)
    await world.step(workload)
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.JOB_REFUSED)
    assert "isn't ours" in done.message
    await world.step(workload)
    assert name_of(workload) in world.cluster.jobs  # nobody else's Job is deleted


@pytest.mark.parametrize("error", [REFUSED, ConflictError("name is taken")])
async def test_a_refused_job_fails_the_workload_with_the_servers_words(
    world: World, error: RefusedError | ConflictError
):
    workload = await world.place()
    world.cluster.fail("create_job", error)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.JOB_REFUSED)
    assert error.message in done.message
    assert len(await world.ends(workload)) == 1
    assert world.cluster.created == []


async def test_a_cluster_that_does_not_answer_loses_nothing_and_is_named(world: World):
    workload = await world.place()
    world.cluster.fail("create_job", UNAVAILABLE, UNAVAILABLE)
    for _ in range(2):
        with pytest.raises(UnavailableError) as caught:
            await world.step(workload)
        assert caught.value.retry_after == 7.0
    held_up = await loaded(workload)
    assert (held_up.status, held_up.reason) == (Status.PENDING, Reason.JOB_NOT_CREATED)
    assert UNAVAILABLE.message in held_up.message
    await world.settle(workload)
    assert world.cluster.created == [name_of(workload)]


async def test_a_create_that_was_held_back_says_so_once(world: World):
    """The words of the one that was sent stay: they are about this Job, and nothing is written for nothing."""
    workload, other = await world.place(), await world.place()
    held = HeldBackError("the cluster's API answers everything of this kind with 500", 1.0)
    world.cluster.fail("create_job", UNAVAILABLE, held, held)
    for one in (workload, workload, other):
        with pytest.raises(UnavailableError):
            await world.step(one)
    first, second = await loaded(workload), await loaded(other)
    assert UNAVAILABLE.message in first.message
    assert (second.reason, held.message in second.message) == (Reason.JOB_NOT_CREATED, True)


async def test_what_the_cluster_never_took_ends_at_the_start_limit_with_its_words(world: World):
    workload = await world.place(spec={"start_timeout_seconds": 60})
    quota = UnavailableError("403 Forbidden: exceeded quota: jobs", status=403)
    world.cluster.fail("create_job", *[quota] * 20)
    await the_loop_goes_on(world, workload.id, 3)
    assert (await loaded(workload)).reason is Reason.JOB_NOT_CREATED
    world.clock.advance(60)
    await the_loop_goes_on(world, workload.id, 2)
    done = await loaded(workload)
    assert (done.status, done.reason, done.started_at) == (Status.FAILED, Reason.JOB_NOT_CREATED, None)
    assert "within 60 s of being placed" in done.message
    assert "exceeded quota: jobs" in done.message
    assert world.cluster.created == []
    assert len(await world.ends(workload)) == 1


async def test_a_quota_that_frees_up_leaves_no_trace(world: World):
    workload = await world.place()
    world.cluster.fail("create_job", UnavailableError("403 Forbidden: exceeded quota: jobs", status=403))
    await the_loop_goes_on(world, workload.id, 2)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.change_pod(name_of(workload), waiting_reason="ContainerCreating")
    await world.settle(workload)
    now = await loaded(workload)
    assert (now.phase, now.reason) == (Phase.INITIALIZING, Reason.STARTING)
    assert "quota" not in now.message


async def test_why_a_job_has_no_pod_is_found_out(world: World):
    workload = await world.place(spec={"start_timeout_seconds": 60})
    await world.settle(workload)
    name = name_of(workload)
    job = world.cluster.jobs[name]
    world.cluster.jobs[name] = replace(job, obstacle="Error creating: exceeded quota: gpus")
    world.projection.put(job)  # a watch shows no such words
    assert await world.step(workload) == world.clock.now() + seconds(POD_RECHECK_SECONDS)
    world.clock.advance(POD_RECHECK_SECONDS)
    await world.step(workload)
    stuck = await loaded(workload)
    assert (stuck.phase, stuck.reason) == (Phase.INITIALIZING, Reason.JOB_NOT_CREATED)
    assert "exceeded quota: gpus" in stuck.message
    world.clock.advance(60)
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.JOB_NOT_CREATED)
    assert "exceeded quota: gpus" in done.message


@pytest.mark.parametrize("error", [REFUSED, ConflictError("another pod by now")])
async def test_a_run_goes_on_though_its_limit_is_refused(world: World, error: RefusedError | ConflictError):
    """The container executes: whoever is told that it failed would be told wrong, and its Job would be deleted."""
    workload = await world.place()
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.run_container(name_of(workload), world.clock.now())
    world.cluster.fail("limit_run", *[error] * 20)
    await the_loop_goes_on(world, workload.id, 3)
    world.clock.advance(600)
    await the_loop_goes_on(world, workload.id, 3)
    assert world.cluster.calls["limit_run"]
    assert (await loaded(workload)).status is Status.RUNNING
    assert name_of(workload) in world.cluster.jobs


async def test_a_job_whose_deletion_is_refused_is_not_called_stopped(world: World):
    workload = await world.run()
    await world.cancel(workload)
    world.cluster.fail("delete_job", *[REFUSED] * 20)
    await the_loop_goes_on(world, workload.id, 3)
    now = await loaded(workload)
    assert (now.status, now.phase) == (Status.RUNNING, Phase.STOPPING)


async def the_loop_goes_on(world: World, workload_id: object, times: int) -> None:
    """As the loop does: what is raised is for its back-off."""
    for _ in range(times):
        world.watch()
        await world.loops.jobs._attend(workload_id)  # type: ignore[arg-type]


async def test_a_server_that_does_not_answer_is_said_and_taken_back(world: World):
    workload = await world.run()
    ready = world.cluster.nodes[SERVER]
    world.cluster.nodes[SERVER] = type(ready)(**{**vars(ready), "is_ready": False})
    await world.settle(workload)
    lost = await loaded(workload)
    assert (lost.status, lost.phase, lost.reason) == (Status.RUNNING, Phase.UNKNOWN, Reason.SERVER_UNREACHABLE)
    world.cluster.nodes[SERVER] = ready
    await world.settle(workload)
    assert (await loaded(workload)).phase is Phase.RUNNING


async def test_an_eviction_before_the_start_tries_another_server(world: World):
    workload = await world.place()
    await world.settle(workload)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    world.cluster.change_pod(name_of(workload), phase="Failed", reason="Evicted")
    await world.settle(workload)
    waiting = await loaded(workload)
    assert (waiting.phase, waiting.reason, waiting.avoid_servers) == (
        Phase.QUEUED,
        Reason.BACKING_OFF,
        (f"default/{SERVER}",),
    )
    assert waiting.not_before == world.clock.now() + seconds(10)
    assert [a.reason for a in await world.attempts(workload)] == [Reason.EVICTED]


async def test_the_start_limit_is_kept_from_the_placement_on(world: World):
    workload = await world.place(spec={"start_timeout_seconds": 60})
    assert await world.step(workload) == START + seconds(60)
    world.cluster.start_pod(name_of(workload), world.clock.now())
    await world.settle(workload)
    world.clock.advance(60)
    await world.settle(workload)
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    done = await loaded(workload)
    assert (done.status, done.reason) == (Status.FAILED, Reason.START_TIMEOUT)
    world.watch(Kind.JOBS)
    assert world.cluster.jobs == {}
