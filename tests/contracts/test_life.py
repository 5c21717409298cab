"""A Job from its creation to its end, as every cluster must show it."""

from __future__ import annotations

import asyncio

import pytest

from app.cluster.log_tail import log_tail
from app.cluster.port import LogGoneError, LogRange
from app.domain.log_lines import without_stamps
from app.domain.observed import ObservedPod
from tests.contracts.workbench import UNTIL_STOPPED, Workbench, both, is_finished


async def test_it_waits_runs_and_ends_with_its_code(bench: Workbench):
    job, pod = await bench.running(bench.spec("sleep 4", seconds=600))
    assert (pod.phase, pod.node, pod.is_held, pod.is_over) == ("Running", bench.node.name, True, False)
    assert (job.is_complete, job.failure) == (False, "")
    assert pod.pod_started_at
    assert pod.running_since
    assert pod.pod_started_at <= pod.running_since
    await bench.let_end(pod)
    job, ended = both(await bench.until(job.name, lambda seen: seen[0] and seen[0].is_complete))
    assert ended.terminated
    assert (ended.phase, ended.terminated.exit_code, ended.terminated.reason) == ("Succeeded", 0, "Completed")
    assert ended.terminated.started_at == pod.running_since
    assert ended.terminated.finished_at
    assert ended.terminated.finished_at >= pod.running_since


async def test_another_code_is_a_failure_with_its_last_words(bench: Workbench):
    job, pod = await bench.ended(bench.spec("echo no such data; exit 3", code=3, text="no such data"))
    assert pod.terminated
    assert (pod.phase, pod.reason) == ("Failed", "")
    assert (pod.terminated.exit_code, pod.terminated.reason) == (3, "Error")
    assert pod.terminated.message == "no such data\n"
    assert (job.failure, job.is_complete) == ("BackoffLimitExceeded", False)


async def test_it_gets_as_many_gpus_as_it_asked_for_and_keeps_them_on_record(bench: Workbench):
    spec = bench.spec("sleep 4", seconds=600, gpu_count=2)
    _, running = await bench.running(spec)
    assert len(set(running.gpus)) == 2
    assert running.gpu_requests == ((spec.gpu_resource, 2),)
    assert (running.cpu_millis, running.memory_bytes) == (spec.cpu_millis, spec.memory_bytes)
    await bench.let_end(running)
    _, ended = both(await bench.until(spec.job_name, lambda seen: seen[0] and seen[0].is_complete))
    assert ended.gpus == running.gpus


async def test_values_reach_the_container_as_they_are(bench: Workbench):
    value = "a$(B) $$x $HOME ${HOME} 'q' \\n"
    spec = bench.spec("printf '%s\\n' \"$A\"", text=value)
    spec = bench.spec("printf '%s\\n' \"$A\"", env_vars=(("B", "b"), ("A", value), *spec.env_vars))
    _, pod = await bench.ended(spec)
    assert (await log_tail(bench.port, pod, 1000)).text == f"{value}\n".encode()


async def test_a_log_can_be_followed_to_its_end(bench: Workbench):
    _, pod = await bench.running(bench.spec("echo one; sleep 4; echo two", seconds=600, text="one\ntwo"))
    log, chunks = bench.port.read_log(pod, LogRange(follow=True)), list[bytes]()
    async for chunk in log:
        if not chunks:
            await bench.let_end(pod)
        chunks.append(chunk)
    lines = b"".join(chunks).decode().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["one", "two"]
    assert all(line.startswith("20") and "Z" in line.partition(" ")[0] for line in lines)


async def test_the_end_of_a_log_is_what_is_kept(bench: Workbench):
    _, pod = await bench.ended(bench.spec("echo one; echo two; echo three", text="one\ntwo\nthree"))
    assert (await log_tail(bench.port, pod, 10)).text == b"three\n"
    last = [chunk async for chunk in bench.port.read_log(pod, LogRange(tail_lines=2))]
    assert without_stamps(b"".join(last)) == b"two\nthree\n"


async def test_a_deleted_pods_log_goes_with_its_container(bench: Workbench):
    """Although the pod stays, held by our finalizer; who follows gets the last words."""
    spec = bench.spec(f"echo one; {UNTIL_STOPPED}", seconds=600, text="one")
    job, running = await bench.running(spec)
    assert (await log_tail(bench.port, running, 100)).text == b"one\n"
    following = asyncio.create_task(log_tail(bench.port, running, 100, follow=True))
    await asyncio.sleep(0.3)
    await bench.port.delete_job(job.name, job.uid)
    _, pod = await bench.until(spec.job_name, lambda seen: seen[1] and is_finished(seen[1]))
    assert pod
    assert pod.is_held
    assert (await following).text == b"one\n"
    with pytest.raises(LogGoneError, match=r"unable to retrieve|failed to try"):
        await reading_on(bench, pod)


async def reading_on(bench: Workbench, pod: ObservedPod) -> None:
    async with asyncio.timeout(60):
        while True:
            await log_tail(bench.port, pod, 100)
            await asyncio.sleep(0.1)


async def test_an_ended_pods_log_outlives_its_deletion_for_a_moment(bench: Workbench):
    spec = bench.spec("echo one", text="one")
    job, _ = await bench.ended(spec)
    await bench.port.delete_job(job.name, job.uid)
    _, pod = await bench.until(spec.job_name, lambda seen: seen[1] and seen[1].deletion_requested_at)
    assert pod
    assert (await log_tail(bench.port, pod, 100)).text == b"one\n"


async def test_out_of_memory_is_named(bench: Workbench):
    _, pod = await bench.ended(bench.spec("tail /dev/zero", outcome="oom"))
    assert pod.terminated
    assert (pod.terminated.reason, pod.terminated.exit_code) == ("OOMKilled", 137)


async def test_a_program_that_does_not_exist(bench: Workbench):
    _, pod = await bench.ended(bench.spec(outcome="start-error", command=("/no/such/program",)))
    assert pod.terminated
    assert (pod.phase, pod.terminated.reason, pod.terminated.exit_code) == ("Failed", "StartError", 128)
    assert pod.terminated.started_at is None
    assert pod.terminated.message


async def test_an_image_that_does_not_exist_keeps_it_waiting(bench: Workbench):
    spec = bench.spec(outcome="image-missing", image="registry.invalid/none:1")
    await bench.start(spec)
    job, pod = both(await bench.until(spec.job_name, lambda seen: seen[1] and "Back" in seen[1].waiting_reason))
    assert (pod.waiting_reason, pod.phase, job.failure) == ("ImagePullBackOff", "Pending", "")
    assert "registry.invalid/none:1" in pod.waiting_message


async def test_more_gpus_than_the_node_has_keep_it_unscheduled(bench: Workbench):
    spec = bench.spec(gpu_count=bench.node.gpu_total + 1)
    await bench.start(spec)
    _, pod = both(await bench.until(spec.job_name, lambda seen: seen[1] and seen[1].scheduling_message))
    assert (pod.node, pod.phase) == ("", "Pending")
    assert f"Insufficient {spec.gpu_resource}" in pod.scheduling_message
