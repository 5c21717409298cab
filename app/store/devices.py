"""GPUs on record, as the agents of their servers report them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from tortoise.backends.base.client import BaseDBAsyncClient

from agent.report import Device as ReportedDevice
from agent.report import DriverState, Health, Inventory
from app.store.gpu_models import GpuRow
from app.store.mapping import storable
from app.store.samples import Device

_OWN_COLUMNS = ("uuid", "index", "product", "memory_mib", "health")
_LONGEST_PRODUCT = 200


@dataclass(frozen=True)
class Failure:
    """A device that was not failed before: its id on record, and its UUID, reason and message."""

    gpu_id: UUID
    uuid: str
    reason: str
    message: str


@dataclass(frozen=True)
class Counts:
    """`offered`: whole GPUs that work; one in MIG mode is none."""

    offered: int
    failed: int
    failures: tuple[Failure, ...]


async def keep(connection: BaseDBAsyncClient, server_id: UUID, inventory: Inventory, at: datetime) -> Counts:
    """Record the server's devices. Who isn't named is gone, unless the driver itself is out of order."""
    known = {row.uuid: row for row in await GpuRow.filter(server_id=server_id).using_db(connection)}
    failures = []
    for device in inventory.devices:
        row, values = known.pop(device.uuid, None), _values(device)
        had_failed = row is not None and row.health == Health.FAILED.value and row.gone_at is None
        if row is None:
            row = GpuRow(server_id=server_id, first_seen_at=at, **values)
            await row.save(using_db=connection, force_create=True)
        elif row.gone_at is not None or any(getattr(row, name) != value for name, value in values.items()):
            await GpuRow.filter(id=row.id).using_db(connection).update(**values, gone_at=None)
        if device.health.health is Health.FAILED and not had_failed:
            failures.append(Failure(row.id, device.uuid, values["health_reason"], values["health_message"]))
    if inventory.state in (DriverState.OK, DriverState.NO_GPU):
        gone = [row.id for row in known.values() if row.gone_at is None]
        if gone:
            await GpuRow.filter(id__in=gone).using_db(connection).update(gone_at=at)
    failed = sum(it.health.health is Health.FAILED for it in inventory.devices)
    offered = sum(it.health.health is not Health.FAILED and not it.mig_enabled for it in inventory.devices)
    return Counts(offered, failed, tuple(failures))


def _values(device: ReportedDevice) -> dict[str, Any]:
    health = device.health
    return {
        "uuid": device.uuid,
        "index": device.index,
        "product": storable(device.product)[:_LONGEST_PRODUCT],
        "memory_mib": device.memory_mib,
        "facts": _storable({name: it for name, it in asdict(device).items() if name not in _OWN_COLUMNS}),
        "health": health.health.value,
        "health_reason": health.reason.value if health.reason else "",
        "health_message": storable(health.message),
        "health_since": health.since,
        "xid": health.xid,
    }


def _storable(value: Any) -> Any:
    """As JSON has it, so that what is read back compares equal."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {name: _storable(it) for name, it in value.items()}
    return [_storable(it) for it in value] if isinstance(value, list | tuple) else value


async def find(cluster: str, server: str, names: Collection[str]) -> dict[str, tuple[Device, str]]:
    """By the UUIDs of GPUs and MIG instances on the server: where each is on record, and the UUID of its GPU."""
    rows = GpuRow.filter(server__cluster=cluster, server__name=server)
    found: dict[str, tuple[Device, str]] = {}
    for gpu_id, uuid, facts in await rows.values_list("id", "uuid", "facts"):
        instances = {str(it["uuid"]) for it in facts.get("mig_instances", ())}
        found[uuid] = (Device(gpu_id), uuid)
        found |= {name: (Device(gpu_id, name), uuid) for name in instances}
    return {name: found[name] for name in names if name in found}


async def locate(connection: BaseDBAsyncClient, server_id: UUID, uuids: Collection[str]) -> dict[str, Device]:
    """Where each UUID of a GPU or MIG instance of the server is on record; an unknown one is missing."""
    gpus = GpuRow.filter(server_id=server_id).using_db(connection)
    rows = await gpus.filter(uuid__in=list(uuids)).values_list("uuid", "id")
    found = {str(uuid): Device(UUID(str(gpu_id))) for uuid, gpu_id in rows}
    if len(found) < len(uuids):
        for gpu_id, facts in await gpus.values_list("id", "facts"):
            instances = {str(it["uuid"]) for it in facts.get("mig_instances", ())}
            found |= {uuid: Device(UUID(str(gpu_id)), uuid) for uuid in instances.intersection(uuids)}
    return found
