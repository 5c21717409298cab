"""A cancel against everything that may happen at the same moment, with a process that dies at every boundary in turn.

Each race ends in one way, whoever dies when: one end, told once, nothing left in the cluster. The cancels of what
quietly starts or runs are among the stories of `test_crash_points`, whose boundaries these are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from app.bus import Bus
from app.cluster.port import UnavailableError
from app.domain.requests import resume, suspend
from app.domain.states import Phase, Reason, Status
from app.domain.workload import EventType, Workload
from app.store.writes import Change, apply_changes
from tests.reconcile.builders import POLICY, SERVER, World, name_of
from tests.reconcile.test_crash_points import (
    MOST_BOUNDARIES,
    RUNS,
    Crash,
    CrashError,
    CrashingBus,
    an_hour_passes,
    go_through,
    kubelets_stop_it,
    pod_starts,
    somebody_cancels,
    survive,
)
from tests.store.builders import loaded, placement

RUN_LIMIT, START_LIMIT = 3600, 1800  # of every workload here, in seconds
Step = Callable[[World, Workload], Awaitable[None]]


async def waits(world: World) -> Workload:
    return await world.submit()


async def placed(world: World) -> Workload:
    return await world.place()


async def placed_and_cancelled_on_the_way(world: World) -> Workload:
    """Somebody cancels while the create is under way."""
    workload = await world.place()
    world.cluster.meanwhile["create_job"] = lambda: world.cancel(workload)
    return workload


async def is_cancelled_while_it_is_placed(world: World, workload: Workload) -> None:
    """The scheduler has decided, and writes too late."""
    decided = placement(await loaded(workload), world.clock.now())
    await world.cancel(workload)
    assert await apply_changes(world.organization.id, [decided], world.clock.now()) == [False]


async def is_created_unseen_and_cancelled(world: World, workload: Workload) -> None:
    """The Job exists, but neither the create's answer nor a watch has told of it."""
    world.cluster.fail("after create_job", UnavailableError("timed out"))
    with suppress(UnavailableError):
        try:
            await world.step(workload)
        except CrashError:
            world.restart(Bus())
    world.cluster.heal()
    await world.cancel(workload)


async def exits_and_is_cancelled(world: World, workload: Workload) -> None:
    """In the same second, and before anybody has looked."""
    world.cluster.end_container(name_of(workload), world.clock.now(), 3)
    await world.cancel(workload)


async def exits_while_it_is_stopped(world: World, workload: Workload) -> None:
    """In the second in which its deletion was asked for, with a good code."""
    world.cluster.change_pod(name_of(workload), deletion_requested_at=world.clock.now())
    world.cluster.end_container(name_of(workload), world.clock.now(), 0)


async def run_limit_passes_and_it_is_cancelled(world: World, workload: Workload) -> None:
    world.clock.advance(RUN_LIMIT + POLICY.kubelet_slack_seconds + 1)
    await world.cancel(workload)


async def run_limit_passes(world: World, workload: Workload) -> None:
    """And is seen: it is being stopped for it."""
    world.clock.advance(RUN_LIMIT + POLICY.kubelet_slack_seconds + 1)


async def kubelet_ends_it_at_its_limit_and_it_is_cancelled(world: World, workload: Workload) -> None:
    world.clock.advance(RUN_LIMIT)
    world.cluster.end_container(name_of(workload), world.clock.now(), 143)
    world.cluster.change_pod(name_of(workload), reason="DeadlineExceeded")
    await world.cancel(workload)


async def start_limit_passes_and_it_is_cancelled(world: World, workload: Workload) -> None:
    world.clock.advance(START_LIMIT)
    await world.cancel(workload)


async def is_refused(world: World, workload: Workload) -> None:
    world.cluster.change_pod(name_of(workload), phase="Failed", reason="UnexpectedAdmissionError")


async def is_placed_again(world: World, workload: Workload) -> None:
    world.clock.advance(60)
    change = placement(await loaded(workload), world.clock.now())
    assert await apply_changes(world.organization.id, [change], world.clock.now()) == [True]
    world.bus.wake_workload(workload.id)


async def is_held(world: World, workload: Workload) -> None:
    await person_asks(world, workload, suspend)


async def is_released(world: World, workload: Workload) -> None:
    await person_asks(world, workload, resume)


async def person_asks(world: World, workload: Workload, ask: Callable[[Workload, str, datetime], Workload]) -> None:
    before = await loaded(workload)
    change = Change(before, ask(before, "ada", world.clock.now()), None, None)
    assert await apply_changes(world.organization.id, [change], world.clock.now()) == [True]
    world.bus.wake_workload(workload.id)


async def somebody_suspends(world: World, workload: Workload) -> None:
    await world.suspend(workload)


async def server_falls_silent(world: World, workload: Workload) -> None:
    world.cluster.nodes[SERVER] = replace(world.cluster.nodes[SERVER], is_ready=False)


async def server_is_back(world: World, workload: Workload) -> None:
    """Until then it is being stopped, and nobody says that it has been."""
    assert (await loaded(workload)).phase is Phase.STOPPING
    world.cluster.nodes[SERVER] = replace(world.cluster.nodes[SERVER], is_ready=True)


@dataclass(frozen=True)
class Race:
    """`looks_first`: whether the process has seen what there is before the first step. `jobs`: created at most."""

    begin: Callable[[World], Awaitable[Workload]]
    steps: tuple[Step, ...]
    status: Status = Status.CANCELLED
    reason: Reason = Reason.CANCELLED_BY_USER
    exit_code: int | None = None
    jobs: int = 1
    looks_first: bool = True


STOPPED = (kubelets_stop_it, an_hour_passes)
TIMED_OUT = (Status.TIMEOUT, Reason.RUN_TIMEOUT, 143)
RACES = {
    "it waits": Race(waits, (somebody_cancels,), jobs=0),
    "it is being placed": Race(waits, (is_cancelled_while_it_is_placed,), jobs=0),
    "its Job is not created yet": Race(placed, (somebody_cancels, *STOPPED), jobs=0, looks_first=False),
    "its Job is being created": Race(placed_and_cancelled_on_the_way, STOPPED),
    "its Job was created unseen": Race(placed, (is_created_unseen_and_cancelled, *STOPPED), looks_first=False),
    "it ends by itself in that second": Race(
        placed, (*RUNS, exits_and_is_cancelled, an_hour_passes), Status.COMPLETED, Reason.EXITED, 3
    ),
    "it ends by itself while it is stopped": Race(
        placed, (*RUNS, somebody_cancels, exits_while_it_is_stopped, an_hour_passes), exit_code=0
    ),
    "its run limit passes at that moment": Race(
        placed, (*RUNS, run_limit_passes_and_it_is_cancelled, *STOPPED), exit_code=137
    ),
    "it is being stopped at its run limit": Race(
        placed, (*RUNS, run_limit_passes, somebody_cancels, *STOPPED), exit_code=137
    ),
    "its kubelet has ended it in that second": Race(
        placed, (*RUNS, kubelet_ends_it_at_its_limit_and_it_is_cancelled, an_hour_passes), *TIMED_OUT
    ),
    "its start limit passes at that moment": Race(
        placed, (pod_starts, start_limit_passes_and_it_is_cancelled, *STOPPED)
    ),
    "it waits for another try": Race(placed, (pod_starts, is_refused, somebody_cancels, an_hour_passes)),
    "it is held": Race(waits, (is_held, somebody_cancels), jobs=0),
    "it was held and released": Race(waits, (is_held, is_released, somebody_cancels), jobs=0),
    "it is held before another try": Race(placed, (pod_starts, is_refused, is_held, somebody_cancels, an_hour_passes)),
    "it is placed for another try": Race(
        placed, (pod_starts, is_refused, is_placed_again, somebody_cancels, *STOPPED), jobs=2
    ),
    "it is being suspended": Race(placed, (*RUNS, somebody_suspends, somebody_cancels, *STOPPED), exit_code=137),
    "it was suspended": Race(placed, (*RUNS, somebody_suspends, kubelets_stop_it, somebody_cancels, an_hour_passes)),
    "its server is silent": Race(
        placed, (*RUNS, server_falls_silent, somebody_cancels, server_is_back, *STOPPED), exit_code=137
    ),
}


async def run(world: World, race: Race, crash: Crash) -> Workload:
    """The whole race, with one death and one new process in it."""
    workload = await race.begin(world)
    world.restart(CrashingBus(crash))
    world.watch()
    world.cluster.boundary = crash.reached
    if race.looks_first:
        await survive(world, workload)
    return await go_through(world, workload, race.steps)


@pytest.mark.parametrize("name", RACES)
async def test_a_cancel_comes_to_one_end_whoever_dies_when(world: World, name: str):
    race = RACES[name]
    for at in range(1, MOST_BOUNDARIES):
        crash = Crash(at)
        world.cluster.created.clear()
        done = await run(world, race, crash)
        where = f"died at {crash.passed[at - 1 : at]}"
        assert (done.status, done.reason, done.exit_code) == (race.status, race.reason, race.exit_code), where
        assert done.completed_at is not None, where
        types = [event.type for event in await world.events(done)]
        assert (types[-1], types.count(EventType.ENDED)) == (EventType.ENDED, 1), where
        assert types.count(EventType.CANCEL_REQUESTED) <= 1, where
        assert set(world.cluster.created) <= {name_of(done, 1), name_of(done, 2)}, where
        assert len(world.cluster.created) == len(set(world.cluster.created)) <= race.jobs, where
        assert (world.cluster.jobs, world.cluster.pods) == ({}, {}), where
        assert all(attempt.cleaned_at for attempt in await world.attempts(done)), where
        if len(crash.passed) < at:
            return
    raise AssertionError("the race has more boundaries than were tried")
