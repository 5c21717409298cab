"""Many rows of one table, changed or removed at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.models import Model
from tortoise.queryset import QuerySet

from app.store.connection import transaction
from app.store.unfinished import to_its_end


async def update_rows(
    connection: BaseDBAsyncClient, model: type[Model], keys: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Set every column named in the rows, each `WHERE` its own values of `keys`, in the order of the rows.

    All rows name the same columns. Says nothing of how many were found: the caller holds the lock that makes it sure.
    """
    if not rows:
        return
    columns = [name for name in rows[0] if name not in keys]
    meta = model._meta  # noqa: SLF001 — Tortoise's own name for a model's description
    is_sqlite = connection.capabilities.dialect == "sqlite"
    marks = ["?" if is_sqlite else f"${i}" for i in range(1, len(columns) + len(keys) + 1)]
    assignments = ", ".join(f'"{name}" = {mark}' for name, mark in zip(columns, marks, strict=False))
    guards = " AND ".join(f'"{name}" = {mark}' for name, mark in zip(keys, marks[len(columns) :], strict=True))
    statement = f'UPDATE "{meta.db_table}" SET {assignments} WHERE {guards}'  # noqa: S608 — names of our own columns
    fields = [(name, meta.fields_map[name]) for name in (*columns, *keys)]
    values = [[field.to_db_value(row[name], model) for name, field in fields] for row in rows]
    await connection.execute_many(statement, values)


async def remove_some(rows: QuerySet[Any], most: int) -> int:
    """Remove up to `most` of the rows, the first in their order if they have one; returns how many there were.

    Whole, even if the caller is cancelled meanwhile.
    """
    ids = await rows.limit(most).values_list("id", flat=True)
    if ids:
        await to_its_end(_remove(rows.model, list(ids)))
    return len(ids)


async def _remove(model: type[Model], ids: Sequence[object]) -> None:
    async with transaction() as connection:
        await model.filter(id__in=ids).using_db(connection).delete()
