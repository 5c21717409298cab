"""The logs of ended attempts: the end of each, compressed, or the sentence why there is none."""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.log_lines import without_stamps
from app.domain.workload import Attempt
from app.store.bulk import remove_some
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


async def secure_log(attempt: Attempt, log: StoredLog, at: datetime) -> None:
    """Keep what there is of the log of an attempt that may yet write more: it counts if no better one is stored."""
    await to_its_end(_store(attempt, await _row_values(log, at), is_last=False))


async def store_log(attempt: Attempt, log: StoredLog, at: datetime) -> None:
    """Keep the log of an ended attempt, once. Where there is none, but an earlier part was secured, that is kept."""
    await to_its_end(_store(attempt, await _row_values(log, at), is_last=True))


async def _row_values(log: StoredLog, at: datetime) -> dict[str, Any]:
    return {
        "lines": await asyncio.to_thread(zlib.compress, log.lines) if log.lines else None,
        "size": len(without_stamps(log.lines)),
        "was_cut": log.was_cut,
        "why_none": storable(log.why_none),
        "stored_at": at,
    }


async def _store(attempt: Attempt, values: dict[str, Any], *, is_last: bool) -> None:
    key = {"workload_id": attempt.workload_id, "number": attempt.number}
    async with transaction() as connection:
        untaken = AttemptRow.filter(**key, log_taken_at=None).using_db(connection)
        taken_at = values["stored_at"] if is_last else None
        if not await untaken.update(log_taken_at=taken_at):
            return
        secured = await AttemptLogRow.filter(**key).using_db(connection).first()
        if secured is None:
            await AttemptLogRow(**key, **values).save(using_db=connection, force_create=True)
        elif values["lines"] or not secured.lines:
            await AttemptLogRow.filter(id=secured.id).using_db(connection).update(**values)


async def find_log(workload_id: UUID, number: int) -> StoredLog | None:
    """None where none was stored, and where it was purged since."""
    row = await AttemptLogRow.get_or_none(workload_id=workload_id, number=number)
    if row is None:
        return None
    lines = await asyncio.to_thread(zlib.decompress, row.lines) if row.lines else b""
    return StoredLog(lines, row.was_cut, row.why_none)


async def purge_logs(stored_before: datetime, most: int) -> int:
    """Remove up to `most` logs that were stored before then, the oldest first; returns how many there were."""
    return await remove_some(AttemptLogRow.filter(stored_at__lt=stored_before).order_by("stored_at"), most)
