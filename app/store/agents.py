"""The last word of each server's node agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agent.report import DriverState
from app.domain.server import ServerId
from app.store.gpu_models import ServerAgentRow
from app.store.sharedread import shared_read


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """`skew_seconds` is how far its clock is ahead of ours, the way of the report in it. `gpus_offered` are whole."""

    server_id: UUID
    agent_version: str
    boot_id: str
    started_at: datetime
    received_at: datetime
    skew_seconds: float
    has_inventory: bool
    driver_state: DriverState
    driver_message: str
    driver_version: str
    cuda_version: str
    gpus_offered: int
    gpus_failed: int


_COLUMNS = tuple(AgentRecord.__slots__)


@shared_read
async def all_agents() -> dict[ServerId, AgentRecord]:
    """Of every server whose agent was ever heard."""
    names = ("server__name", "server__cluster")
    rows = await ServerAgentRow.all().values_list(*names, *_COLUMNS)
    return {ServerId(str(row[0]), str(row[1])): _record(row[2:]) for row in rows}


async def agents_of(server_ids: Sequence[UUID]) -> dict[UUID, AgentRecord]:
    rows = await ServerAgentRow.filter(server_id__in=list(server_ids)).values_list(*_COLUMNS)
    return {record.server_id: record for record in map(_record, rows)}


def _record(row: Sequence[object]) -> AgentRecord:
    values = dict(zip(_COLUMNS, row, strict=True))
    state = DriverState(str(values["driver_state"])) if values["driver_state"] else DriverState.OK
    return AgentRecord(**{**values, "driver_state": state})  # type: ignore[arg-type]
