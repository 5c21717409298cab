"""Logs are kept: after the end is recorded, before the pod is released, with a reason where they can't be had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime

import pytest

from app.bus import Bus
from app.cluster.port import LogGoneError, LogRange, RefusedError, UnavailableError
from app.domain import log_words
from app.domain.observed import ObservedPod
from app.domain.states import Status
from app.domain.workload import Workload
from app.reconcile.log_keeper import PAUSES
from app.reconcile.log_rescue import SILENCE_SECONDS
from app.store import logs
from app.store.logs import StoredLog
from app.store.models import AttemptLogRow
from tests.reconcile.builders import POLICY, SERVER, World, name_of
from tests.store.builders import loaded

NODE_DOWN = UnavailableError("500: dial tcp 10.0.0.1:10250: connect: no route to host", status=500)


async def ended(world: World) -> Workload:
    """Its container has ended, and nobody has looked yet."""
    workload = await world.run()
    world.cluster.end_container(name_of(workload), world.clock.now())
    world.watch()
    return workload


async def log_of(workload: Workload, attempt: int = 1) -> StoredLog:
    found = await logs.find_log(workload.id, attempt)
    assert found is not None
    return found


def written_by(workload: Workload, attempt: int = 1) -> bytes:
    return f"the log of {name_of(workload, attempt)}\n".encode()


def pod_of(world: World, workload: Workload) -> ObservedPod:
    pod = world.cluster.pod_of(name_of(workload))
    assert pod is not None
    return pod


async def test_the_end_is_recorded_first_and_the_pod_is_held_until_the_log_is_stored(world: World):
    workload = await ended(world)
    for _ in range(3):  # of the jobs' loop alone: that of logs is behind
        await world.loops.jobs.reconcile(workload.id)
    assert (await loaded(workload)).status is Status.COMPLETED
    assert pod_of(world, workload).is_held
    assert world.cluster.calls["release_pod"] == 0
    await world.settle(workload)
    assert (await log_of(workload)).lines.endswith(written_by(workload))
    assert not pod_of(world, workload).is_held
    [attempt] = await world.attempts(workload)
    assert attempt.log_taken_at == world.clock.now()
    assert world.cluster.calls["read_log"] == 1


async def test_it_is_taken_after_a_restart(world: World):
    """Whether the end came while the app was down, or the app went down behind the end."""
    for _ in range(2):
        workload = await ended(world)
        await world.loops.jobs.reconcile(workload.id)
        world.restart(Bus())
        await world.settle(workload)
        assert (await log_of(workload)).lines.endswith(written_by(workload))
    workload = await world.run()
    world.restart(Bus())
    world.cluster.end_container(name_of(workload), world.clock.now(), 9)
    world.cluster.jobs.clear()
    await world.settle(workload)
    assert ((await loaded(workload)).exit_code, world.cluster.pods.keys() & {f"pod-of-{name_of(workload)}"}) == (
        9,
        set(),
    )
    assert (await log_of(workload)).lines.endswith(written_by(workload))


async def test_a_server_that_does_not_answer_is_asked_a_few_times_and_then_named(world: World):
    workload = await ended(world)
    world.cluster.fail("read_log", *[NODE_DOWN] * 20)
    begun = world.clock.now()
    for pause in (0, *PAUSES):
        assert await logs.find_log(workload.id, 1) is None
        world.clock.advance(pause)
        await world.settle(workload)
    assert (await log_of(workload)).why_none == log_words.not_given(SERVER, NODE_DOWN.message)
    assert world.cluster.calls["read_log"] == len(PAUSES) + 1
    assert (world.clock.now() - begun).total_seconds() < 60
    assert not pod_of(world, workload).is_held


async def test_asking_again_meanwhile_does_not_hurry_it(world: World):
    workload = await ended(world)
    world.cluster.fail("read_log", *[NODE_DOWN] * 20)
    for _ in range(10):
        world.watch()
        await world.step(workload)
    assert world.cluster.calls["read_log"] == 1


async def test_a_cluster_that_does_not_answer_at_all_is_waited_for(world: World):
    """Nothing is held up by it that would not be held up anyway, and the log is still there."""
    workload = await ended(world)
    world.cluster.fail("read_log", NODE_DOWN)
    await world.settle(workload)
    for _ in range(20):
        world.clock.advance(60)
        world.cluster.fail("find", UnavailableError("connection refused"))
        with pytest.raises(UnavailableError):
            await world.loops.logs.reconcile((workload.id, 1))
    await world.settle(workload)
    world.clock.advance(60)
    await world.loops.logs.reconcile((workload.id, 1))
    assert (await log_of(workload)).lines


REFUSALS = [
    (LogGoneError("unable to retrieve container logs"), "no longer had the log"),
    (RefusedError(404, "NotFound", "pod not found"), log_words.POD_GONE),
    (RefusedError(403, "Forbidden", "may not get pods/log"), "may not get pods/log"),
]


@pytest.mark.parametrize(("error", "words"), REFUSALS)
async def test_a_verdict_is_not_asked_for_twice(world: World, error: RefusedError, words: str):
    workload = await ended(world)
    world.cluster.fail("read_log", error)
    await world.settle(workload)
    assert words in (await log_of(workload)).why_none
    assert world.cluster.calls["read_log"] == 1


async def test_what_never_started_has_none(world: World):
    workload = await world.place()
    await world.settle(workload)
    await world.cancel(workload)
    await world.settle(workload)
    assert (await log_of(workload)).why_none == log_words.NEVER_STARTED
    assert world.cluster.calls["read_log"] == 0


async def test_a_pod_that_somebody_removed_by_force_took_it_along(world: World):
    workload = await world.run()
    world.cluster.lose_pod(name_of(workload))
    world.cluster.jobs.clear()
    await world.settle(workload)
    assert (await log_of(workload)).why_none == log_words.POD_GONE


async def test_each_attempt_keeps_its_own(world: World):
    workload = await world.run(spec={"max_retries": 1})
    world.cluster.change_pod(name_of(workload), phase="Failed", reason="Evicted")
    await world.settle(workload)
    assert (await log_of(workload)).lines.endswith(written_by(workload))


async def test_what_is_stopped_is_read_before_its_server_drops_it(world: World):
    """A kubelet removes the container of a deleted pod within a second of its end."""
    workload = await world.run()
    await world.cancel(workload)
    world.watch()
    await world.step(workload)
    assert name_of(workload) not in world.cluster.jobs
    world.cluster.stop_orphans(world.clock.now())
    await world.settle(workload)
    assert (await loaded(workload)).status is Status.CANCELLED
    kept = await log_of(workload)
    assert (kept.lines.endswith(written_by(workload)), kept.why_none) == (True, "")
    assert world.cluster.pods == {}


async def test_what_somebody_else_deletes_is_read_before_too(world: World):
    workload = await world.run()
    world.cluster.change_pod(name_of(workload), deletion_requested_at=world.clock.now())
    await world.settle(workload)
    world.cluster.end_container(name_of(workload), world.clock.now(), 143)
    await world.settle(workload)
    assert (await log_of(workload)).lines.endswith(written_by(workload))


async def test_a_stop_does_not_fail_for_want_of_a_log(world: World):
    workload = await world.run()
    await world.cancel(workload)
    world.cluster.fail("read_log", NODE_DOWN)
    await world.settle(workload)
    assert name_of(workload) not in world.cluster.jobs


async def test_a_silent_server_holds_up_one_stop_and_not_all(world: World):
    workloads = [await world.run() for _ in range(3)]
    world.cluster.fail("read_log", NODE_DOWN)
    for workload in workloads:
        await world.cancel(workload)
        world.watch()
        await world.step(workload)
    assert world.cluster.calls["read_log"] == 1
    assert world.cluster.jobs == {}
    world.clock.advance(SILENCE_SECONDS)
    await world.step(workloads[0])
    assert world.cluster.calls["read_log"] == 2


async def test_the_last_words_come_from_following(world: World):
    """What is written between the wish to stop it and its end."""
    workload, stopped = await world.run(), asyncio.Event()

    async def read_log(pod: ObservedPod, part: LogRange) -> AsyncGenerator[bytes, None]:
        if pod_of(world, workload).is_over and not part.follow:
            raise LogGoneError("unable to retrieve container logs")
        yield b"2026-11-30T12:00:00.000000001Z one\n"
        if part.follow:
            await stopped.wait()
            yield b"2026-11-30T12:00:01.000000001Z last words\n"

    world.cluster.read_log = read_log  # type: ignore[method-assign]
    await world.cancel(workload)
    world.watch()
    await world.step(workload)
    assert (await log_of(workload)).lines.endswith(b" one\n")
    world.cluster.stop_orphans(world.clock.now())
    stopped.set()
    await world.settle(workload)
    assert (await log_of(workload)).lines.endswith(b" one\n2026-11-30T12:00:01.000000001Z last words\n")


async def test_many_that_end_together_are_read_a_few_at_a_time_and_hold_up_nobody(world: World):
    workloads = [await ended(world) for _ in range(30)]
    reading, most, may_read = 0, 0, asyncio.Event()

    async def read_log(pod: ObservedPod, part: LogRange) -> AsyncGenerator[bytes, None]:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        await may_read.wait()
        reading -= 1
        yield b"2026-11-30T12:00:00.000000001Z x\n"

    world.cluster.read_log = read_log  # type: ignore[method-assign]
    loop = asyncio.create_task(world.loops.logs.run())
    for workload in workloads * 2:
        await world.loops.jobs.reconcile(workload.id)
    assert [(await loaded(w)).status for w in workloads] == [Status.COMPLETED] * 30
    may_read.set()
    async with asyncio.timeout(60):
        while len(world.loops.logs.queue):  # noqa: ASYNC110 — nobody tells
            await asyncio.sleep(0.01)
    loop.cancel()
    assert await AttemptLogRow.all().count() == 30
    assert 1 < most <= 8


async def test_old_logs_are_purged(world: World):
    workload = await ended(world)
    await world.settle(workload)
    kept_for = POLICY.log_retention_seconds
    assert await purge(world) == world.clock.now().replace(hour=13)
    world.clock.advance(kept_for + 1)
    await purge(world)
    assert await logs.find_log(workload.id, 1) is None
    [attempt] = await world.attempts(workload)
    assert attempt.log_taken_at is not None


async def purge(world: World) -> datetime | None:
    return await world.background.purge.reconcile("all")


async def test_a_log_that_is_not_stored_is_looked_for_again_and_again(world: World):
    """Although its Job is merely kept: should the wish to store it get lost, the next full look finds it."""
    workload = await ended(world)
    await world.loops.jobs.reconcile(workload.id)
    await world.loops.jobs.reconcile(workload.id)
    world.loops._log_keeper.forget()
    world.loops.logs.queue.clear()
    await world.background.resync.reconcile("all")
    await world.step(workload)
    assert (await log_of(workload)).lines
