"""The logs of ended attempts: the end of each, compressed, or the sentence why there is none."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.log_lines import without_stamps
from app.domain.workload import Attempt
from app.store.connection import transaction
from app.store.mapping import storable
from app.store.models import AttemptLogRow, AttemptRow
from app.store.unfinished import to_its_end


@dataclass(frozen=True)
class StoredLog:
    """`lines` with their stamps. `was_cut`: there was more before them. `why_none` is a sentence instead of lines."""

    lines: bytes = b""
    was_cut: bool = False
    why_none: str = ""


async def store_log(attempt: Attempt, log: StoredLog, at: datetime) -> None:
    """Keep the log of an ended attempt and note that it is kept. The first one stays: a second is not written."""
    packed = await asyncio.to_thread(zlib.compress, log.lines) if log.lines else None
    size = len(without_stamps(log.lines))
    await to_its_end(_store(attempt, log, packed, size, at))


async def _store(attempt: Attempt, log: StoredLog, packed: bytes | None, size: int, at: datetime) -> None:
    async with transaction() as connection:
        untaken = AttemptRow.filter(workload_id=attempt.workload_id, number=attempt.number, log_taken_at=None)
        if not await untaken.using_db(connection).update(log_taken_at=at):
            return
        row = AttemptLogRow(
            workload_id=attempt.workload_id,
            number=attempt.number,
            lines=packed,
            size=size,
            was_cut=log.was_cut,
            why_none=storable(log.why_none),
            stored_at=at,
        )
        await row.save(using_db=connection, force_create=True)


async def find_log(workload_id: UUID, number: int) -> StoredLog | None:
    """None where none was stored, and where it was purged since."""
    row = await AttemptLogRow.get_or_none(workload_id=workload_id, number=number)
    if row is None:
        return None
    lines = await asyncio.to_thread(zlib.decompress, row.lines) if row.lines else b""
    return StoredLog(lines, row.was_cut, row.why_none)


async def purge_logs(stored_before: datetime, most: int) -> int:
    """Remove up to `most` logs that were stored before then, the oldest first; returns how many there were."""
    rows = AttemptLogRow.filter(stored_at__lt=stored_before).order_by("stored_at").limit(most)
    ids = list(await rows.values_list("id", flat=True))
    if ids:
        await to_its_end(_delete(ids))
    return len(ids)


async def _delete(ids: Sequence[object]) -> None:
    async with transaction() as connection:
        await AttemptLogRow.filter(id__in=ids).using_db(connection).delete()
