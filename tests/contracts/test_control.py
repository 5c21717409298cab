"""Creating twice, limiting, deleting, holding and releasing: what the app does to a Job, and what must come of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cluster.port import ConflictError, LogRange, RefusedError
from app.domain.observed import ObservedPod
from tests.contracts.workbench import Workbench, both, is_finished, same_name


async def test_a_created_job_is_known_by_its_workload(bench: Workbench):
    spec = bench.spec()
    job = await bench.start(spec)
    assert (job.name, job.workload_id, job.attempt) == (spec.job_name, str(spec.workload_id), 1)
    assert job.uid


async def test_a_repeated_create_meets_itself(bench: Workbench):
    spec = bench.spec()
    assert (await bench.start(spec)).uid == (await bench.port.create_job(spec)).uid


async def test_a_name_that_is_taken_is_a_conflict(bench: Workbench):
    spec = bench.spec()
    await bench.start(spec)
    with pytest.raises(ConflictError):
        await bench.port.create_job(same_name(spec))


async def test_a_refused_manifest_says_why(bench: Workbench):
    with pytest.raises(RefusedError) as caught:
        await bench.port.create_job(bench.spec(job_name="Not A Name"))
    assert (caught.value.status, caught.value.reason) == (422, "Invalid")
    assert "metadata.name" in caught.value.message


async def test_what_does_not_exist(bench: Workbench):
    name = bench.spec().job_name
    pod = ObservedPod("no-uid", "no-such-pod", bench.namespace, name, "", "Pending")
    assert await bench.port.find(name) == (None, None)
    await bench.port.delete_job(name, "no-uid")
    await bench.port.delete_pod(pod)
    await bench.port.release_pod(pod)
    await bench.port.limit_run(pod, 5)
    with pytest.raises(RefusedError):
        [chunk async for chunk in bench.port.read_log(pod, LogRange())]


async def test_a_lowered_limit_ends_the_pod_and_keeps_its_code(bench: Workbench):
    spec = bench.endless()
    _, pod = await bench.running(spec)
    assert pod.run_limit_seconds == spec.run_limit_seconds + spec.start_limit_seconds
    await bench.port.limit_run(pod, 3)
    await bench.port.limit_run(pod, 300)  # not raised, and no error: the lower one stays in force
    job, ended = both(await bench.until(spec.job_name, lambda seen: seen[0] and seen[0].failure))
    assert ended.terminated
    assert (ended.phase, ended.reason, ended.run_limit_seconds) == ("Failed", "DeadlineExceeded", 3)
    assert (ended.terminated.exit_code, job.failure) == (143, "BackoffLimitExceeded")
    assert ended.terminated.finished_at
    assert pod.pod_started_at
    assert 2 <= (ended.terminated.finished_at - pod.pod_started_at).total_seconds() <= 8


async def test_a_deleted_job_leaves_its_ended_pod_until_it_is_released(bench: Workbench):
    spec = bench.endless()
    job, _ = await bench.running(spec)
    await bench.port.delete_job(job.name, job.uid)
    await bench.port.delete_job(job.name, job.uid)
    gone, pod = await bench.until(spec.job_name, lambda seen: seen[1] and is_finished(seen[1]))
    assert gone is None
    assert pod
    assert pod.terminated
    assert (pod.is_held, pod.phase, pod.terminated.exit_code) == (True, "Failed", 143)
    assert pod.terminated.finished_at
    assert pod.deletion_requested_at
    assert -1 <= (pod.terminated.finished_at - pod.deletion_requested_at).total_seconds() <= 5
    await bench.port.release_pod(pod)
    await bench.port.release_pod(pod)
    await bench.until(spec.job_name, lambda seen: seen == (None, None))


async def test_a_job_that_never_started_is_deleted(bench: Workbench):
    """What the cluster then says of the container has a code, but no times: it never ran."""
    spec = bench.spec(outcome="image-missing", image="registry.invalid/none:1")
    job = await bench.start(spec)
    await bench.until(spec.job_name, lambda seen: seen[1] and seen[1].waiting_reason)
    await bench.port.delete_job(job.name, job.uid)
    _, pod = await bench.until(spec.job_name, lambda seen: seen[1] and is_finished(seen[1]))
    assert pod
    assert pod.terminated
    assert (pod.phase, pod.terminated.reason, pod.terminated.exit_code) == ("Failed", "ContainerStatusUnknown", 137)
    assert (pod.terminated.started_at, pod.terminated.finished_at) == (None, None)


async def test_a_deleted_pod_ends_its_job(bench: Workbench):
    spec = bench.endless()
    _, pod = await bench.running(spec)
    await bench.port.delete_pod(pod)
    job, ended = both(await bench.until(spec.job_name, lambda seen: seen[0] and seen[0].failure))
    assert (job.failure, ended.uid, ended.is_held) == ("BackoffLimitExceeded", pod.uid, True)
    assert ended.deletion_requested_at


async def test_another_uid_is_not_touched(bench: Workbench):
    spec = bench.endless()
    job, pod = await bench.running(spec)
    other = replace(pod, uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(ConflictError):
        await bench.port.delete_job(job.name, other.uid)
    for verb in (bench.port.delete_pod, bench.port.release_pod):
        with pytest.raises(ConflictError):
            await verb(other)
    with pytest.raises(ConflictError):
        await bench.port.limit_run(other, 1)
    assert await bench.port.find(job.name) == (job, pod)


async def test_an_account_that_may_do_all_misses_nothing(bench: Workbench):
    assert await bench.port.check() == ()
