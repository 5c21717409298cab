"""Packed samples in the database: appended as they come, thinned out with age, removed at the end.

Appending is one statement for each device and quarter of an hour, and reads nothing: `app.domain.samples` takes care of
order and repetitions when a pack is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from tortoise.backends.base.client import BaseDBAsyncClient

from app.domain.samples import (
    AS_THEY_CAME,
    BY_MINUTE,
    BY_QUARTER,
    DAY,
    RECORD_BYTES,
    Reading,
    by_quarter,
    day_of,
    pack,
    thinned,
    unpack,
)
from app.store.bulk import remove_some
from app.store.connection import transaction
from app.store.gpu_models import GpuSampleRow
from app.store.unfinished import to_its_end

_MOST_BYTES = 3 * 900 * RECORD_BYTES  # of a quarter of an hour: thrice one a second; who sends more is not heard
_APPEND = """
INSERT INTO "gpu_samples" ("gpu_id", "instance", "begins", "resolution", "data") VALUES ({})
ON CONFLICT ("gpu_id", "begins", "instance", "resolution") DO UPDATE
SET "data" = {} WHERE length("gpu_samples"."data") < {}
"""
_COLUMNS = ("gpu_id", "instance", "begins", "resolution", "data")


class Device(NamedTuple):
    """Whose samples: the id of a GPU on record, and the UUID of a MIG instance on it, empty for the whole GPU."""

    gpu_id: UUID
    instance: str = ""


async def append(connection: BaseDBAsyncClient, readings: Mapping[Device, Sequence[Reading]]) -> None:
    """Add the readings to their packs. In order of the devices, so that two processes never wait for each other."""
    rows = [
        (device.gpu_id, device.instance, begins, AS_THEY_CAME, pack(begins, group))
        for device in sorted(readings)
        for begins, group in by_quarter(readings[device]).items()
    ]
    if not rows:
        return
    is_sqlite = connection.capabilities.dialect == "sqlite"
    marks = ", ".join("?" if is_sqlite else f"${i}" for i in range(1, len(_COLUMNS) + 1))
    joined = '"gpu_samples"."data" || excluded."data"'
    joined = f"CAST({joined} AS BLOB)" if is_sqlite else joined  # SQLite's || makes text, with the bytes as they are
    columns = [GpuSampleRow._meta.fields_map[name] for name in _COLUMNS]  # noqa: SLF001 — Tortoise's own name
    values = [
        [column.to_db_value(value, GpuSampleRow) for column, value in zip(columns, row, strict=True)] for row in rows
    ]
    await connection.execute_many(_APPEND.format(marks, joined, _MOST_BYTES), values)


async def readings_of(devices: Sequence[Device], start: datetime, end: datetime) -> dict[Device, list[Reading]]:
    """Those from `start` until before `end`, in order of time; a device without any is missing."""
    rows = GpuSampleRow.filter(gpu_id__in={it.gpu_id for it in devices}, begins__gt=start - DAY, begins__lt=end)
    wanted = set(devices)
    packs = [it for it in await rows.values_list(*_COLUMNS) if Device(it[0], it[1]) in wanted]
    return await asyncio.to_thread(_unpacked, packs, start, end) if packs else {}


def _unpacked(packs: Sequence[tuple[Any, ...]], start: datetime, end: datetime) -> dict[Device, list[Reading]]:
    """Off the event loop: a year of one device is a hundred thousand readings."""
    found: dict[Device, list[Reading]] = {}
    for gpu_id, instance, begins, resolution, data in packs:
        inside = [it for it in unpack(begins, data, resolution) if start <= it.at < end]
        found.setdefault(Device(gpu_id, instance), []).extend(inside)
    return {device: sorted(it, key=lambda reading: reading.at) for device, it in found.items() if it}


async def thin_out(before: datetime, from_resolution: int, to_resolution: int, most: int) -> int:
    """Thin out whole days that end by `before`, of up to `most` devices; how many packs it took away."""
    rows = GpuSampleRow.filter(resolution=from_resolution, begins__lt=day_of(before))
    oldest = await rows.order_by("begins").first()
    if oldest is None:
        return 0
    day = day_of(oldest.begins)
    of_day = GpuSampleRow.filter(resolution=from_resolution, begins__gte=day, begins__lt=day + DAY)
    gpus = await of_day.order_by("gpu_id").distinct().limit(most).values_list("gpu_id", flat=True)
    packs = await of_day.filter(gpu_id__in=list(gpus)).order_by("gpu_id", "begins")
    return await to_its_end(_replace(day, to_resolution, packs))


async def _replace(day: datetime, resolution: int, packs: Sequence[GpuSampleRow]) -> int:
    """One pack a device instead of those."""
    readings: dict[Device, list[Reading]] = {}
    for it in packs:
        device = Device(it.gpu_id, it.instance)  # type: ignore[attr-defined]
        readings.setdefault(device, []).extend(unpack(it.begins, it.data, it.resolution))
    async with transaction() as connection:
        await GpuSampleRow.filter(id__in=[it.id for it in packs]).using_db(connection).delete()
        thin = [
            GpuSampleRow(
                gpu_id=device.gpu_id,
                instance=device.instance,
                begins=day,
                resolution=resolution,
                data=pack(day, thinned(day, group, resolution), resolution),
            )
            for device, group in readings.items()
        ]
        await GpuSampleRow.bulk_create(thin, using_db=connection, ignore_conflicts=True)
    return len(packs)


async def purge(before: datetime, most: int) -> int:
    """Remove up to `most` packs that have nothing from then on; how many there were."""
    old = GpuSampleRow.filter(resolution__in=(AS_THEY_CAME, BY_MINUTE, BY_QUARTER), begins__lte=before - DAY)
    return await remove_some(old, most)
