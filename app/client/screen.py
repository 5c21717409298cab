"""Where words go: results to standard output, everything else to standard error. Colour is a terminal's alone."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from app.client.printable import TerminalLog, as_json, printable
from app.client.tables import GAP, Table, lines, padded

STYLES = {
    "STATUS": {
        "pending": "yellow",
        "running": "cyan",
        "completed": "green",
        "failed": "red",
        "cancelled": "dim",
        "timeout": "red",
    }
}


class Screen:
    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out, self._err = _able(out or sys.stdout), _able(err or sys.stderr)
        self._console = Console(file=self._out, highlight=False, markup=False, emoji=False)
        self._log = TerminalLog()

    def result(self, text: str) -> None:
        """One line; its text is made safe."""
        self._write(printable(text) + "\n")

    def say(self, text: str) -> None:
        """One line for the person who waits."""
        self._err.write(printable(text) + "\n")
        self._err.flush()

    def json(self, value: Any) -> None:
        self._write(as_json(value) + "\n")

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """A name and its value on each line; a name that is empty goes on with the one above."""
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            self._write(f"{name.ljust(width)}{GAP}{printable(value)}".rstrip() + "\n")

    def table(self, table: Table) -> None:
        if not self._console.is_terminal:
            self._write("".join(f"{line.rstrip()}\n" for line in lines(table)))
            return
        header, *rows = padded([table.header, *table.rows])
        self._line(Text(GAP.join(header), style="bold"))
        for row in rows:
            self._line(Text(GAP).join(_styled(name, cell) for name, cell in zip(table.header, row, strict=True)))

    def log(self, text: str) -> None:
        """A piece of a container's own output: as it is into a pipe, without what moves the cursor on a terminal."""
        self._write(self._log.pass_on(text) if self._console.is_terminal else text)

    def end_of_log(self) -> None:
        self._write(self._log.rest())

    def _line(self, text: Text) -> None:
        self._console.print(text, no_wrap=True, overflow="ellipsis", crop=True)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _styled(column: str, cell: str) -> Text:
    styles: Mapping[str, str] = STYLES.get(column, {})
    return Text(cell, style=styles.get(cell.split(" ", 1)[0], ""))


def _able(stream: TextIO | None) -> TextIO:
    """UTF-8 into files and pipes whatever the locale, and no character that stops it; one that is closed takes all."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace", encoding=None if stream.isatty() else "utf-8")
    return stream or io.StringIO()
