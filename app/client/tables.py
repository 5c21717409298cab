"""Columns of text: the same on a terminal and in a pipe, but for colour and for what a terminal's edge cuts off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from app.client.printable import printable

GAP = "   "
NOTHING = "-"


@dataclass(frozen=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Printable cells of equal width in each column, but for the last one; an empty cell is a dash."""
    cells = [[printable(cell) or NOTHING for cell in row] for row in rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*cells, strict=True)]
    return [
        [cell + " " * (width - cell_len(cell)) for cell, width in zip(row[:-1], widths, strict=False)] + row[-1:]
        for row in cells
    ]


def lines(table: Table) -> list[str]:
    return [GAP.join(row) for row in padded([table.header, *table.rows])]
