"""The form's rows of a volume and a path. There are always as many, so that it works without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.domain.errors import InvalidInputError, Problem
from app.domain.volumes import Mount, Volume

MOUNT_ROWS = 4
MOUNT_FIELDS = tuple(f"mounts.{row}.{part}" for row in range(MOUNT_ROWS) for part in ("name", "path", "readOnly"))


@dataclass(frozen=True)
class VolumeChoice:
    name: str
    label: str


@dataclass(frozen=True)
class MountRow:
    """One row as it was typed. `number` counts from 1, for people; the fields' names begin with `prefix`."""

    number: int
    prefix: str
    name: str
    path: str
    read_only: bool

    @property
    def is_empty(self) -> bool:
        return not self.name and not self.path.strip()


def volume_choices(volumes: Iterable[Volume]) -> tuple[VolumeChoice, ...]:
    return tuple(VolumeChoice(it.name, f"{it.name} (read-only)" if it.read_only else it.name) for it in volumes)


def mount_rows(typed: Mapping[str, str]) -> tuple[MountRow, ...]:
    return tuple(_row(typed, f"mounts.{row}", row + 1) for row in range(MOUNT_ROWS))


def _row(typed: Mapping[str, str], prefix: str, number: int) -> MountRow:
    name, path, read_only = (typed.get(f"{prefix}.{part}", "") for part in ("name", "path", "readOnly"))
    return MountRow(number, prefix, name, path, bool(read_only))


def read_mounts(typed: Mapping[str, str]) -> tuple[Mount, ...]:
    """What the rows stand for; empty ones for nothing. Raises InvalidInputError for half a row."""
    rows = [row for row in mount_rows(typed) if not row.is_empty]
    problems = [Problem("mounts", words) for row in rows if (words := _half(row))]
    if problems:
        raise InvalidInputError(tuple(problems))
    return tuple(Mount(row.name, row.path.strip(), row.read_only) for row in rows)


def _half(row: MountRow) -> str:
    if not row.name:
        return f"row {row.number} has the path {row.path.strip()[:80]!r} and no volume"
    return "" if row.path.strip() else f"row {row.number} has the volume {row.name[:80]!r} and no path"
