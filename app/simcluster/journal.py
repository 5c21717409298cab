"""The state on disk: an append-only file of changes beside a snapshot, made anew when it has grown.

Each change is handed to the operating system before anybody is told of it, so that `kill -9` loses nothing
that was acknowledged. Left out: fsync on each change; a power cut may lose the last moments, and a simulated
cluster may do that. A record cut off in the middle at the end of the last file is dropped when loading.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import structlog

from app.simcluster.meta import Json

log = structlog.get_logger(__name__)


class Journal:
    """Files `snapshot-N.jsonl` and `journal-N.jsonl`: the state is the newest snapshot and every journal
    of its number or a later one."""

    def __init__(self, folder: Path, compact_bytes: int) -> None:
        self._folder = folder
        self._compact_bytes = compact_bytes
        self._number = max(self._numbers("journal"), default=0)
        self._file = -1
        self._size = 0
        self._batch: list[bytes] | None = None
        self._compaction: threading.Thread | None = None

    def load(self) -> Iterator[Json]:
        """Every record in order; then the journal is open for writing."""
        base = max(self._numbers("snapshot"), default=0)
        if base:
            yield from self._records(self._path("snapshot", base))
        for number in sorted(number for number in self._numbers("journal") if number >= base):
            yield from self._records(self._path("journal", number))
        self._open(self._number or 1)

    def write(self, line: bytes) -> None:
        if self._batch is not None:
            self._batch.append(line)
        else:
            self._append(line)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Writes inside reach the file together: one system call, and all of them or none."""
        if self._batch is not None:  # the outer batch writes
            yield
            return
        self._batch = []
        try:
            yield
        finally:
            lines, self._batch = self._batch, None
            if lines:
                self._append(b"".join(lines))

    def wants_compaction(self) -> bool:
        busy = self._compaction is not None and self._compaction.is_alive()
        return self._size > self._compact_bytes and not busy and self._batch is None

    def compact(self, lines: Iterable[bytes]) -> None:
        """Go on in a new file, and write `lines` (the state of this moment) as its snapshot beside."""
        self.close()
        self._open(self._number + 1)
        self._compaction = threading.Thread(target=self._write_snapshot, args=(self._number, lines), daemon=True)
        self._compaction.start()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]
        self._size += len(data)

    def _open(self, number: int) -> None:
        self._number = number
        path = self._path("journal", number)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._size = path.stat().st_size

    def _write_snapshot(self, number: int, lines: Iterable[bytes]) -> None:
        target = self._path("snapshot", number)
        draft = target.with_suffix(".draft")
        with draft.open("wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(target)
        for name in ("snapshot", "journal"):
            for old in self._numbers(name):
                if old < number:
                    self._path(name, old).unlink()

    def _records(self, path: Path) -> Iterator[Json]:
        good = 0
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    log.warning("journal: dropped a record cut off at the end", file=path.name)
                    break
                yield orjson.loads(line)
                good += len(line)
        if good < path.stat().st_size:
            os.truncate(path, good)

    def _numbers(self, name: str) -> list[int]:
        return [int(path.stem.split("-")[1]) for path in self._folder.glob(f"{name}-*.jsonl")]

    def _path(self, name: str, number: int) -> Path:
        return self._folder / f"{name}-{number}.jsonl"
