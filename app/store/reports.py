"""Keeping what node agents report: their state, the devices, who has them, samples.

Reports that come at the same time share a transaction, as the writes of workloads do. Its first statement locks the
agents' rows, so two reports of one server are judged one after the other, whichever process they came to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.expressions import F

from agent.report import MOST_PODS, DriverState, Report
from app.domain.agents import Heard
from app.domain.reports import pod_readings_of, readings_of
from app.domain.samples import PodReading, Reading
from app.store import devices, holders, samples
from app.store.bulk import update_rows
from app.store.connection import transaction
from app.store.gpu_models import ServerAgentRow
from app.store.groupcommit import GroupCommit
from app.store.mapping import storable
from app.store.models import ClusterServerRow
from app.store.pods import Place, Pods, pods_of, pods_on
from app.store.samples import Device, Run

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_NO_FAILURES: tuple[devices.Failure, ...] = ()


@dataclass(frozen=True)
class Kept:
    """What became of a report. `changed_devices`: what the server offers may be another than before."""

    is_late: bool = False
    wants_everything: bool = False
    changed_devices: bool = False
    failed: tuple[devices.Failure, ...] = ()
    pod_uids: tuple[str, ...] = ()  # of the workloads on the server: the agent does not know which pods are theirs


@dataclass(frozen=True)
class _Write:
    place: Place
    server_id: UUID
    report: Report
    received_at: datetime
    stale_after: float

    @property
    def heard(self) -> Heard:
        report = self.report
        return Heard(report.agent_id, report.started_at, report.sequence, self.received_at)


@dataclass
class _Batch:
    """What the transaction is about to write, over all of its reports."""

    agents: dict[UUID, dict[str, object]] = field(default_factory=dict)
    readings: dict[Device, list[Reading]] = field(default_factory=dict)
    pod_readings: dict[Run, list[PodReading]] = field(default_factory=dict)


_group: ContextVar[GroupCommit[str, _Write, Kept]] = ContextVar("report_group_commit")


@contextmanager
def grouping_reports() -> Iterator[None]:
    """Reports that come at the same time inside share transactions; `Database.active` is inside it."""
    token = _group.set(GroupCommit(_commit))
    try:
        yield
    finally:
        _group.reset(token)


async def find_server(cluster: str, node: str) -> UUID | None:
    row = await ClusterServerRow.filter(cluster=cluster, name=node).only("id").first()
    return row.id if row else None


async def keep_report(cluster: str, server_id: UUID, report: Report, received_at: datetime, stale_after: float) -> Kept:
    """Store what it says. Of a late one only the samples, which overwrite nothing."""
    write = _Write(Place(cluster, report.node), server_id, report, received_at, stale_after)
    return await _group.get().write("reports", write)


async def _commit(_: str, writes: Sequence[_Write]) -> list[Kept]:
    async with transaction() as connection:
        agents = await _locked(connection, sorted({write.server_id for write in writes}))
        pods = await pods_on(connection, {write.place for write in writes})
        batch = _Batch()
        kept = []
        for write in writes:
            there = pods.get(write.place, {})
            await _sort_pod_readings(connection, write, there, batch)
            found = await _keep(connection, write, agents, batch)
            kept.append(replace(found, pod_uids=tuple(sorted(there))[:MOST_PODS]))
        states = [{"server_id": server_id, **state} for server_id, state in batch.agents.items()]
        await update_rows(connection, ServerAgentRow, ("server_id",), states)
        await samples.GPUS.append(connection, batch.readings)
        await samples.PODS.append(connection, batch.pod_readings)
    return kept


async def _locked(connection: BaseDBAsyncClient, server_ids: Sequence[UUID]) -> dict[UUID, ServerAgentRow]:
    """The agents' rows, locked until the end; one that was never heard gets a row that everything is newer than."""
    mine = ServerAgentRow.filter(server_id__in=server_ids).using_db(connection)
    if await mine.update(sequence=F("sequence")) < len(server_ids):
        unheard = [
            ServerAgentRow(
                server_id=server_id,
                agent_id="",
                agent_version="",
                boot_id="",
                started_at=_NEVER,
                sequence=-1,
                received_at=_NEVER,
                skew_seconds=0,
            )
            for server_id in server_ids
        ]
        await ServerAgentRow.bulk_create(unheard, using_db=connection, ignore_conflicts=True)
        await mine.update(sequence=F("sequence"))
    return {row.server_id: row for row in await mine}  # type: ignore[attr-defined]


async def _keep(
    connection: BaseDBAsyncClient, write: _Write, agents: dict[UUID, ServerAgentRow], batch: _Batch
) -> Kept:
    report, agent = write.report, agents[write.server_id]
    last = Heard(agent.agent_id, agent.started_at, agent.sequence, agent.received_at)
    is_late = last.is_late(write.heard, write.stale_after)
    is_other = agent.agent_id != report.agent_id
    changed, failed = not is_late and _was_silent(agent, write), _NO_FAILURES
    if not is_late:
        _note(agent, write)
        if report.inventory is not None:
            is_new, failed = await _keep_inventory(connection, write, agent)
            changed |= is_new
        if report.holders is not None:
            await holders.keep(connection, write.server_id, report.holders, write.received_at)
        batch.agents[write.server_id] = {name: getattr(agent, name) for name in _STATE}
    unknown = await _sort_readings(connection, write, batch)
    wants = report.inventory is None and (is_other or unknown or not agent.has_inventory)
    return Kept(is_late, wants and not is_late, changed, failed)


_STATE = (
    "agent_id",
    "agent_version",
    "boot_id",
    "started_at",
    "sequence",
    "received_at",
    "skew_seconds",
    "has_inventory",
    "driver_state",
    "driver_message",
    "driver_version",
    "cuda_version",
    "gpus_offered",
    "gpus_failed",
)


def _was_silent(agent: ServerAgentRow, write: _Write) -> bool:
    return (write.received_at - agent.received_at).total_seconds() > write.stale_after


def _note(agent: ServerAgentRow, write: _Write) -> None:
    report = write.report
    agent.agent_id, agent.agent_version = storable(report.agent_id), storable(report.agent_version)
    agent.boot_id, agent.started_at = storable(report.boot_id), report.started_at
    agent.sequence, agent.received_at = report.sequence, write.received_at
    agent.skew_seconds = (report.sent_at - write.received_at).total_seconds()


async def _keep_inventory(
    connection: BaseDBAsyncClient, write: _Write, agent: ServerAgentRow
) -> tuple[bool, tuple[devices.Failure, ...]]:
    """Whether anything of it is new, and the devices that have failed since the last one."""
    inventory = write.report.inventory
    assert inventory is not None  # noqa: S101 — the caller looked
    before = (agent.driver_state, agent.gpus_offered, agent.gpus_failed)
    found = await devices.keep(connection, write.server_id, inventory, write.received_at)
    agent.has_inventory = True
    agent.driver_state, agent.driver_message = inventory.state.value, storable(inventory.message)
    agent.driver_version = storable(inventory.driver_version)[:100]
    agent.cuda_version = storable(inventory.cuda_version)[:100]
    works = inventory.state is DriverState.OK
    agent.gpus_offered = found.offered if works else 0
    agent.gpus_failed = found.failed
    return before != (agent.driver_state, agent.gpus_offered, agent.gpus_failed), found.failures


async def _sort_readings(connection: BaseDBAsyncClient, write: _Write, batch: _Batch) -> bool:
    """Put the report's samples to those of the devices on record; whether there are others."""
    found = readings_of(write.report, write.received_at)
    known = await devices.locate(connection, write.server_id, found) if found else {}
    for uuid, readings in found.items():
        if device := known.get(uuid):
            batch.readings.setdefault(device, []).extend(readings)
    return len(known) < len(found)


async def _sort_pod_readings(connection: BaseDBAsyncClient, write: _Write, there: Pods, batch: _Batch) -> None:
    """Put the report's samples of pods to those of their attempts. A buffer may tell of pods that are over by now."""
    found = pod_readings_of(write.report, write.received_at)
    past = found.keys() - there.keys()
    known = there | (await pods_of(connection, write.place, past) if past else {})
    for uid, readings in found.items():
        if run := known.get(uid):
            batch.pod_readings.setdefault(run, []).extend(readings)
