"""An index of some rows only. Tortoise's own can ask for equality alone, which NULL is not."""

from __future__ import annotations

from typing import Any

from tortoise.indexes import Index


class IndexWhere(Index):
    """Of the rows for which `where` holds, in SQL that SQLite and PostgreSQL share.

    Either database takes it where a query says the same in the same words.
    """

    def __init__(self, *, fields: tuple[str, ...] | list[str], name: str, where: str) -> None:
        super().__init__(fields=fields, name=name)
        self.where = where
        self.extra = f" WHERE {where}"

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        return path, args, {**kwargs, "where": self.where}
