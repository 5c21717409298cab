"""Workloads that execute and end without a cluster: what a reconciler would have written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.domain.states import Phase, Reason, Status
from app.domain.workload import Attempt, Workload
from app.store import logs, reads
from app.store.logs import StoredLog
from app.store.writes import Change, apply_changes
from tests.api.world import Api
from tests.clock import START
from tests.store.builders import a_stored_workload, loaded

WAITS_AGAIN: dict[str, Any] = {
    "status": Status.PENDING,
    "phase": Phase.QUEUED,
    "reason": Reason.BACKING_OFF,
    "exit_code": None,
}


async def a_run(api: Api) -> Workload:
    """A workload that executes, in its first attempt."""
    return await next_run(api, await a_stored_workload(api.organizations["acme"]))


async def next_run(api: Api, workload: Workload) -> Workload:
    number = workload.attempt + 1
    where: dict[str, Any] = {"server": "gpu-1", "cluster": "default", "gpu_resource": "nvidia.com/gpu"}
    attempt = Attempt(workload.id, number, **where, placed_at=START, started_at=START)
    changes: dict[str, Any] = {
        "status": Status.RUNNING,
        "phase": Phase.RUNNING,
        "reason": Reason.EXECUTING,
        "attempt": number,
    }
    await write(api, Change(workload, replace(workload, **changes), None, attempt))
    return await loaded(workload)


async def end(api: Api, workload: Workload, log: StoredLog | None = None, **changes: Any) -> Workload:
    """The workload and its last attempt; the log of that is stored, where one is given."""
    ended: dict[str, Any] = {
        "status": Status.COMPLETED,
        "phase": Phase.COMPLETED,
        "reason": Reason.EXITED,
        "exit_code": 0,
    }
    before = (await reads.attempts_of([workload.id]))[-1]
    attempt = replace(before, ended_at=START, exit_code=0)
    await write(api, Change(workload, replace(workload, **{**ended, **changes}), before, attempt))
    if log is not None:
        await logs.store_log(attempt, log, START)
    return await loaded(workload)


async def write(api: Api, change: Change) -> None:
    acme = api.organizations["acme"]
    assert await apply_changes(acme.id, [change], START) == [True]
    api.services.commands.bus.wake_events(acme.id)
