"""Sieve's intermediate states: for each write of a recorded run a plan that kills the app right after that write.

A write is a commit of the store or an accepted change of the cluster. Oracle: what the run came to without a death,
in every field that doesn't differ between two such runs, and how often each object was created and deleted.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.proof.installation import Installation
from tests.proof.relay import Write
from tests.proof.trials import leftovers

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"}
SECONDS = 60.0
_COUNTED = ("SUBMITTED", "PLACED", "RETRYING", "CANCEL_REQUESTED", "ENDED")


@dataclass(frozen=True)
class Story:
    """One workload, alone; so the writes of its life come in one order."""

    name: str
    wanted: Mapping[str, Any]
    is_cancelled: bool = False  # once it runs


STORIES = (
    Story("exit", {"timeoutSeconds": 4, "env": {"SIM_SECONDS": 2, "SIM_EXIT_CODE": 3}}),
    Story("cancel", {"timeoutSeconds": 900, "env": {"SIM_SECONDS": 600}}, is_cancelled=True),
    Story("timeout", {"timeoutSeconds": 2, "env": {"SIM_SECONDS": 600}}),
    Story("refused", {"env": {"SIM_OUTCOME": "admission-error"}}),
    Story("no-start", {"startTimeoutSeconds": 2, "env": {"SIM_OUTCOME": "never-starts"}}),
)


@dataclass
class Cut:
    """Counts the writes and, with `at`, kills the app right after that one."""

    installation: Installation
    at: int = 0
    writes: list[str] = field(default_factory=list)
    made: asyncio.Event = field(default_factory=asyncio.Event)

    async def after_write(self, write: Write) -> bool:
        return self._reached(write.what)

    async def after_commit(self, what: str) -> bool:
        return self._reached(f"commit {what}")

    def _reached(self, what: str) -> bool:
        self.writes.append(what)
        if len(self.writes) != self.at:
            return False
        self.installation.kill_app()
        self.made.set()
        return True


@dataclass(frozen=True)
class Outcome:
    """What must be the same whatever happened on the way."""

    fields: Mapping[str, object]
    attempts: tuple[tuple[object, ...], ...]
    events: Mapping[str, int]
    creates: Mapping[str, int]  # by attempt
    deletes: Mapping[str, int]
    executions: int
    left: tuple[str, ...]


async def play(installation: Installation, story: Story, key: str, at: int = 0) -> tuple[Outcome, Cut]:
    """The story once, with a death after the write `at` and a new process at once; 0: without."""
    cut, relay, database = Cut(installation, at), installation.relay, installation.database
    assert database is not None
    relay.writes.clear()
    relay.after_write, database.after_commit = cut.after_write, cut.after_commit
    reviving = asyncio.create_task(_revive(cut))
    try:
        workload_id = await installation.submit(key, **story.wanted)
        if story.is_cancelled:
            await installation.until_phase(workload_id, "RUNNING", *ENDED, seconds=SECONDS)
            await installation.cancel(workload_id)
        await installation.until_phase(workload_id, *ENDED, seconds=SECONDS)
        left = await _left(installation, cut)
    finally:
        relay.after_write, database.after_commit = Cut(installation).after_write, Cut(installation).after_commit
        reviving.cancel()
        await asyncio.gather(reviving, return_exceptions=True)
    return await _outcome(installation, workload_id, left), cut


async def _revive(cut: Cut) -> None:
    await cut.made.wait()
    await cut.installation.start_app()


async def _left(installation: Installation, cut: Cut) -> list[str]:
    """What is left when nothing is written any more: the last writes are to be cut, too."""
    left = await leftovers(installation)
    quiet_since, count = time.monotonic(), len(cut.writes)
    while time.monotonic() - quiet_since < 1.0:
        await asyncio.sleep(0.1)
        if len(cut.writes) != count:
            quiet_since, count = time.monotonic(), len(cut.writes)
    if cut.made.is_set():
        async with asyncio.timeout(SECONDS):
            while not installation.app.is_running:  # noqa: ASYNC110 — it is being started
                await asyncio.sleep(0.1)
        left = await leftovers(installation)
    return left


async def _outcome(installation: Installation, workload_id: str, left: list[str]) -> Outcome:
    workload = await installation.workload(workload_id)
    hex_id = workload_id.replace("-", "")
    types = Counter(event["type"] for event in workload["events"])
    ours = [write for write in installation.relay.writes if write.kind == "jobs" and hex_id in write.name]
    return Outcome(
        fields={name: workload[name] for name in ("status", "phase", "reason", "succeeded", "exitCode", "signal")},
        attempts=tuple((a["number"], a["exitCode"], a["reason"]) for a in workload["attempts"]),
        events={name: types[name] for name in _COUNTED},
        creates=Counter(write.name.rpartition("-")[2] for write in ours if write.method == "POST"),
        deletes=Counter(write.name.rpartition("-")[2] for write in ours if write.method == "DELETE"),
        executions=(await installation.executions())[hex_id],
        left=tuple(left),
    )


def differences(reference: Outcome, found: Outcome) -> list[str]:
    names = ("fields", "attempts", "events", "creates", "deletes", "executions", "left")
    pairs = {name: (getattr(reference, name), getattr(found, name)) for name in names}
    return [f"{name} {after}, not {before}" for name, (before, after) in pairs.items() if before != after]


def chosen(writes: list[str]) -> list[int]:
    """For the short form: after each kind of change of the cluster, and after the commit that follows each."""
    firsts = {what: number for number, what in reversed(list(enumerate(writes, 1))) if not what.startswith("commit")}
    return sorted({1, *firsts.values(), *(min(n + 1, len(writes)) for n in firsts.values())})
