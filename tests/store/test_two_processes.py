"""Another process holds the SQLite file's write lock: each of our writes waits for it rather than failing.

Left out: PostgreSQL, whose rows are locked one by one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.domain.people import ALL_SCOPES, Organization, Role
from app.domain.states import Reason
from app.domain.workload import Attempt, Workload
from app.store import audit, people, reads, servers
from app.store.database import opened
from app.store.writes import apply_changes, explain_waiting, insert_workload, save_cleanup
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import (
    a_new_workload,
    a_placed_workload,
    a_stored_workload,
    a_user,
    an_organization,
    newest,
    placement,
)

# Takes the write lock, says so, and commits when its standard input ends.
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE organizations SET name = 'written by another process'")
print("held", flush=True)
sys.stdin.read()
connection.execute("COMMIT")
"""
PATIENCE = 0.02  # how long a write is watched to wait


@dataclass(frozen=True)
class Stage:
    """What the writes are about."""

    organization: Organization
    waiting: Workload
    placed: Workload
    attempt: Attempt


@asynccontextmanager
async def held(path: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """The lock is held by another process until what is yielded is called."""
    command = [sys.executable, "-c", HOLDER, path]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"

    async def release() -> None:
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0

    try:
        yield release
    finally:
        process.stdin.close()
        await process.wait()


async def add_a_token(stage: Stage) -> object:
    return await people.add_token("5" * 64, "ci", ALL_SCOPES, START, organization_id=stage.organization.id)


WRITES: dict[str, Callable[[Stage], Awaitable[object]]] = {
    "insert_workload": lambda s: insert_workload(a_new_workload(s.organization)),
    "apply_changes": lambda s: apply_changes(s.organization.id, [placement(s.waiting)], START),
    "save_cleanup": lambda s: save_cleanup(s.attempt, replace(s.attempt, cleaned_at=START)),
    "explain_waiting": lambda s: explain_waiting(
        s.organization.id, [s.waiting.id], Reason.WAITING_FOR_GPUS, "none is free", START
    ),
    "record_nodes": lambda _: servers.record_nodes("default", [(node("new"), "acme")], START),
    "audit": lambda _: audit.record(at=START, actor="ada", action="a", organization="acme", outcome="done"),
    "add_organization": lambda _: an_organization("new", is_default=False),
    "add_user": lambda s: a_user("new@example.org", s.organization, Role.OWNER),
    "add_project": lambda s: people.add_project(s.organization.id, "new", "New", START),
    "add_token": add_a_token,
    "switch the feature": lambda _: people.set_gpu_workloads_enabled("acme", enabled=False),
}


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_waits_for_another_process(sqlite_url: str, name: str):
    async with opened(sqlite_url):
        organization = await an_organization()
        stage = Stage(organization, await a_stored_workload(organization), *await a_placed_workload(organization))
        async with held(sqlite_url.removeprefix("sqlite:///")) as release:
            writing = asyncio.ensure_future(WRITES[name](stage))
            done, _ = await asyncio.wait([writing], timeout=PATIENCE)
            assert not done, f"{name} did not wait: {writing}"
            await release()
            await asyncio.wait_for(writing, 60)
        found = await people.organizations_by_id([organization.id])
        assert found[organization.id].name == "written by another process"


async def test_a_read_waits_for_nobody(sqlite_url: str):
    async with opened(sqlite_url):
        organization = await an_organization()
        workload = await a_stored_workload(organization)
        async with held(sqlite_url.removeprefix("sqlite:///")):
            assert [w.id for w in await newest(organization.id, 9)] == [workload.id]


# Writes as fast as it can, in transactions of its own, until it has written a number of times.
BUSY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
for number in range(200):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE organizations SET name = ?", [str(number)])
    connection.execute("COMMIT")
print("done", flush=True)
"""


async def test_no_write_fails_beside_a_busy_process(sqlite_url: str, tmp_path: Path):
    async with opened(sqlite_url):
        organization = await an_organization()
        command = [sys.executable, "-c", BUSY, sqlite_url.removeprefix("sqlite:///")]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        count = 0
        while process.returncode is None:
            workload = await a_stored_workload(organization)
            await explain_waiting(organization.id, [workload.id], Reason.WAITING_FOR_GPUS, "none", START)
            assert await apply_changes(organization.id, [placement(workload)], START) == [True]
            await servers.record_nodes("default", [(node("gpu-1", count % 7), "acme")], START)
            count += 1
        assert (await process.communicate())[0] == b"done\n"
        assert len(await reads.events_after(organization.id, 0, 10_000)) == 3 * count
