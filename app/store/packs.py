"""Packed samples in the database: appended as they come, thinned out with age, removed at the end.

Appending is one statement for each pack, and reads nothing: `app.domain.samples` takes care of order and repetitions
when a pack is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.models import Model

from app.domain.samples import AS_THEY_CAME, BY_MINUTE, BY_QUARTER, DAY, Layout, Sampled, by_quarter, day_of
from app.store.bulk import remove_some
from app.store.connection import transaction
from app.store.unfinished import to_its_end

K = TypeVar("K", bound=tuple[Any, ...])
M = TypeVar("M", bound=Sampled)

_MOST_READINGS = 3 * 900  # in a quarter of an hour: thrice one a second; who sends more is not heard
_APPEND = """
INSERT INTO "{table}" ("{first}", "{second}", "begins", "resolution", "data") VALUES ({marks})
ON CONFLICT ("{first}", "begins", "{second}", "resolution") DO UPDATE
SET "data" = {joined} WHERE length("{table}"."data") < {most}
"""


class Packs(Generic[K, M]):
    """A table of packs. `key` is a NamedTuple whose two fields are columns; the first is thinned out whole."""

    def __init__(self, rows: type[Model], key: type[K], layout: Layout[M]) -> None:
        self._rows = rows
        self._key = cast("Any", key)
        self._first, self._second = self._key._fields
        self._columns = (self._first, self._second, "begins", "resolution", "data")
        self._layout = layout

    async def append(self, connection: BaseDBAsyncClient, readings: Mapping[K, Sequence[M]]) -> None:
        """Add the readings to their packs. In order of the keys, so that two processes never wait for each other."""
        rows = [
            (*key, begins, AS_THEY_CAME, self._layout.pack(begins, group))
            for key in sorted(readings)
            for begins, group in by_quarter(readings[key]).items()
        ]
        if not rows:
            return
        columns = [self._rows._meta.fields_map[name] for name in self._columns]  # noqa: SLF001 — Tortoise's own name
        values = [
            [column.to_db_value(value, self._rows) for column, value in zip(columns, row, strict=True)] for row in rows
        ]
        await connection.execute_many(self._statement(connection), values)

    def _statement(self, connection: BaseDBAsyncClient) -> str:
        is_sqlite = connection.capabilities.dialect == "sqlite"
        table = self._rows._meta.db_table  # noqa: SLF001
        joined = f'"{table}"."data" || excluded."data"'
        return _APPEND.format(
            table=table,
            first=self._first,
            second=self._second,
            marks=", ".join("?" if is_sqlite else f"${i}" for i in range(1, len(self._columns) + 1)),
            joined=f"CAST({joined} AS BLOB)"
            if is_sqlite
            else joined,  # SQLite's || makes text, with the bytes as they are
            most=_MOST_READINGS * self._layout.record.size,
        )

    async def readings_of(self, keys: Sequence[K], start: datetime, end: datetime) -> dict[K, list[M]]:
        """Those from `start` until before `end`, in order of time; a key without any is missing."""
        firsts = {getattr(it, self._first) for it in keys}
        rows = self._rows.filter(**{f"{self._first}__in": firsts}, begins__gt=start - DAY, begins__lt=end)
        wanted = set(keys)
        packs = [it for it in await rows.values_list(*self._columns) if self._key(it[0], it[1]) in wanted]
        return await asyncio.to_thread(self._unpacked, packs, start, end) if packs else {}

    def _unpacked(self, packs: Sequence[tuple[Any, ...]], start: datetime, end: datetime) -> dict[K, list[M]]:
        """Off the event loop: a year of one device is a hundred thousand readings."""
        found: dict[K, list[M]] = {}
        for first, second, begins, resolution, data in packs:
            inside = [it for it in self._layout.unpack(begins, data, resolution) if start <= it.at < end]
            found.setdefault(self._key(first, second), []).extend(inside)
        return {key: sorted(it, key=lambda reading: reading.at) for key, it in found.items() if it}

    async def thin_out(self, before: datetime, from_resolution: int, to_resolution: int, most: int) -> int:
        """Thin out whole days that end by `before`, of up to `most` devices or pods; how many packs it took away."""
        rows = self._rows.filter(resolution=from_resolution, begins__lt=day_of(before))
        oldest: Any = await rows.order_by("begins").first()
        if oldest is None:
            return 0
        day = day_of(oldest.begins)
        of_day = self._rows.filter(resolution=from_resolution, begins__gte=day, begins__lt=day + DAY)
        firsts = await of_day.order_by(self._first).distinct().limit(most).values_list(self._first, flat=True)
        packs = await of_day.filter(**{f"{self._first}__in": list(firsts)}).order_by(self._first, "begins")
        return await to_its_end(self._replace(day, to_resolution, packs))

    async def _replace(self, day: datetime, resolution: int, packs: Sequence[Any]) -> int:
        """One pack a key instead of those."""
        readings: dict[K, list[M]] = {}
        for it in packs:
            key = self._key(getattr(it, self._first), getattr(it, self._second))
            readings.setdefault(key, []).extend(self._layout.unpack(it.begins, it.data, it.resolution))
        thin = [
            self._rows(
                **key._asdict(),  # type: ignore[attr-defined]
                begins=day,
                resolution=resolution,
                data=self._layout.pack(day, self._layout.thinned(day, group, resolution), resolution),
            )
            for key, group in readings.items()
        ]
        async with transaction() as connection:
            await self._rows.filter(id__in=[it.id for it in packs]).using_db(connection).delete()
            await self._rows.bulk_create(thin, using_db=connection, ignore_conflicts=True)
        return len(packs)

    async def purge(self, before: datetime, most: int) -> int:
        """Remove up to `most` packs that have nothing from then on; how many there were."""
        old = self._rows.filter(resolution__in=(AS_THEY_CAME, BY_MINUTE, BY_QUARTER), begins__lte=before - DAY)
        return await remove_some(old, most)
