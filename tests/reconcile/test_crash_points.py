"""The process dies at every boundary in turn; the next one comes to the same end, with one Job ever created.

A boundary is the moment before and after each call of the cluster, and after each write of the store, which is when
the bus is told. The next process has the same database and the same cluster, and nothing of what was in memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from app.bus import Bus
from app.domain.states import Reason, Status
from app.domain.workload import EventType, Workload
from app.store import logs
from tests.reconcile.builders import POLICY, World, name_of
from tests.store.builders import loaded

MOST_BOUNDARIES = 60


class CrashError(Exception):
    """The process is gone."""


@dataclass
class Crash:
    """Dies at one boundary, counted from the start of the story."""

    at: int
    passed: list[str] = field(default_factory=list)

    def reached(self, boundary: str) -> None:
        self.passed.append(boundary)
        if len(self.passed) == self.at:
            raise CrashError(boundary)


class CrashingBus(Bus):
    """Wake-ups follow the commit at once."""

    def __init__(self, crash: Crash) -> None:
        super().__init__()
        self._crash = crash

    def wake_events(self, organization_id: UUID) -> None:
        super().wake_events(organization_id)
        self._crash.reached("stored")


@dataclass(frozen=True)
class Story:
    """What happens to a placed workload, step by step, and how that ends."""

    steps: tuple[Callable[[World, Workload], Awaitable[None]], ...]
    status: Status
    reason: Reason
    exit_code: int | None
    has_log: bool = True


async def pod_starts(world: World, workload: Workload) -> None:
    world.cluster.start_pod(name_of(workload), world.clock.now())


async def container_runs(world: World, workload: Workload) -> None:
    world.cluster.run_container(name_of(workload), world.clock.now())


async def minutes_pass(world: World, workload: Workload) -> None:
    """The kubelet is given the run limit by now."""
    world.clock.advance(600)


async def container_exits(world: World, workload: Workload) -> None:
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)


async def pod_is_refused(world: World, workload: Workload) -> None:
    world.cluster.change_pod(name_of(workload), phase="Failed", reason="Evicted")


async def somebody_cancels(world: World, workload: Workload) -> None:
    await world.cancel(workload)


async def kubelets_stop_it(world: World, workload: Workload) -> None:
    world.cluster.stop_orphans(world.clock.now())


async def an_hour_passes(world: World, workload: Workload) -> None:
    world.clock.advance(POLICY.job_retention_seconds)
    world.cluster.collect()


RUNS = (pod_starts, container_runs)
STOPPED = (somebody_cancels, kubelets_stop_it, an_hour_passes)
STORIES = {
    "exit": Story((*RUNS, minutes_pass, container_exits, an_hour_passes), Status.COMPLETED, Reason.EXITED, 3),
    "cancel": Story((*RUNS, *STOPPED), Status.CANCELLED, Reason.CANCELLED_BY_USER, 137),
    "early cancel": Story(STOPPED, Status.CANCELLED, Reason.CANCELLED_BY_USER, None, False),
    "cancel while starting": Story((pod_starts, *STOPPED), Status.CANCELLED, Reason.CANCELLED_BY_USER, None, False),
    "eviction": Story((*RUNS, pod_is_refused, an_hour_passes), Status.FAILED, Reason.EVICTED, None),
}


async def live(world: World, story: Story, crash: Crash) -> Workload:
    """The whole story, with one death and one new process in it."""
    workload = await world.place()
    world.restart(CrashingBus(crash))
    world.cluster.boundary = crash.reached
    await survive(world, workload)
    return await go_through(world, workload, story.steps)


async def go_through(world: World, workload: Workload, steps: Iterable[Any]) -> Workload:
    """One step after the other, begun again where one crashes; and the workload in the end, with nothing crashing."""
    for step in steps:
        try:
            await step(world, workload)
        except CrashError:
            world.restart(Bus())
        await survive(world, workload)
    world.cluster.boundary = lambda _: None
    world.restart(Bus())
    world.cluster.collect()
    await world.settle(workload)
    return await loaded(workload)


async def survive(world: World, workload: Workload) -> None:
    try:
        await world.settle(workload)
    except CrashError:
        world.restart(Bus())
        await world.settle(workload)


async def has_log(workload: Workload) -> bool:
    """Of its one attempt, as it was written; else there is a reason."""
    kept = await logs.find_log(workload.id, 1)
    assert kept is not None
    assert bool(kept.why_none) is not bool(kept.lines)
    return kept.lines.endswith(f"the log of {name_of(workload)}\n".encode())


@pytest.mark.parametrize("name", STORIES)
async def test_a_death_at_any_boundary_changes_nothing(world: World, name: str):
    story = STORIES[name]
    for at in range(1, MOST_BOUNDARIES):
        crash = Crash(at)
        world.cluster.created.clear()
        done = await live(world, story, crash)
        where = f"died at {crash.passed[at - 1 : at]}"
        assert (done.status, done.reason, done.exit_code) == (story.status, story.reason, story.exit_code), where
        assert world.cluster.created == [name_of(done)], where
        assert [e.type for e in await world.events(done)].count(EventType.ENDED) == 1, where
        assert (world.cluster.jobs, world.cluster.pods) == ({}, {}), where
        assert all(a.cleaned_at for a in await world.attempts(done)), where
        assert await has_log(done) is story.has_log, where
        if len(crash.passed) < at:
            return
    raise AssertionError("the story has more boundaries than were tried")


async def test_every_kind_of_boundary_is_reached(world: World):
    """Or the test above would prove less than it says."""
    reached: set[str] = set()
    for story in STORIES.values():
        crash = Crash(0)
        await live(world, story, crash)
        reached |= set(crash.passed)
    verbs = {"create_job", "delete_job", "find", "limit_run", "read_log", "release_pod"}
    assert {f"{moment} {verb}" for moment in ("before", "after") for verb in verbs} | {"stored"} <= reached
