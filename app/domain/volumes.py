"""Volumes: storage that an operator has named for an organization, and where a workload wants it.

A submitter knows a volume by its name, its kind and whether it is read-only. Where it lies is the operator's knowledge.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.domain.dns_names import DNS_NAME, LONGEST_DNS_NAME
from app.domain.errors import InvalidInputError, Problem

MAX_MOUNTS = 32
MAX_PATH = 1024
_NFS_SERVER = re.compile(r"[A-Za-z0-9.\-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
# Of the container itself, or of the kernel: what is mounted over it breaks the container or hides its GPUs.
_TAKEN = ("/dev", "/proc", "/sys")


class VolumeKind(StrEnum):
    """What a volume is. The values are stored."""

    PVC = "pvc"
    NFS = "nfs"
    HOST_PATH = "host_path"

    @property
    def meaning(self) -> str:
        return _KIND_MEANINGS[self]


_KIND_MEANINGS = {
    VolumeKind.PVC: "a PersistentVolumeClaim in the namespace of the Jobs",
    VolumeKind.NFS: "a directory of an NFS server",
    VolumeKind.HOST_PATH: "a directory of the server that the workload runs on",
}


@dataclass(frozen=True)
class Volume:
    """`source` is the claim's name, `server:/path`, or the path on the host: for operators and manifests only."""

    organization_id: UUID
    name: str
    kind: VolumeKind
    source: str
    read_only: bool = False


@dataclass(frozen=True)
class Mount:
    """A volume by name and the path in the container. A read-only volume is read-only whatever `read_only` says."""

    name: str
    path: str
    read_only: bool = False


def check_mounts(mounts: Sequence[Mount], field: str = "mounts") -> list[Problem]:
    """Every problem of the paths; whether the volumes exist is `check_known`'s."""
    if len(mounts) > MAX_MOUNTS:
        return [Problem(field, f"at most {MAX_MOUNTS} mounts are taken; {len(mounts)} were given")]
    problems = [
        Problem(f"{field}[{i}].path", f"{mount.path[:80]!r} {words}")
        for i, mount in enumerate(mounts)
        if (words := _path_problem(mount.path))
    ]
    paths = [mount.path for mount in mounts]
    repeated = [i for i, path in enumerate(paths) if path in paths[:i]]
    return [*problems, *(Problem(f"{field}[{i}].path", f"{paths[i][:80]!r} is given twice") for i in repeated)]


def _path_problem(path: str) -> str:
    """Why nothing can be mounted there; empty where it can."""
    if not path.startswith("/"):
        return "is not an absolute path; it must begin with '/'"
    if len(path.encode("utf-8", "surrogatepass")) > MAX_PATH or not path.isprintable() or ":" in path:
        return f"must have at most {MAX_PATH} bytes, printable and without ':'"
    if (plain := "/" + posixpath.normpath(path).lstrip("/")) != path:
        return f"must be written plainly, as {plain[:80]!r}"
    if path == "/":
        return "is the container's own root; mount into a directory"
    if any(path == taken or path.startswith(f"{taken}/") for taken in _TAKEN):
        return f"lies in /{path.split('/')[1]}, which the container needs as it is; use another directory"
    return ""


def check_known(mounts: Sequence[Mount], volumes: Collection[str], slug: str) -> None:
    """Raise InvalidInputError for mounts of volumes that the organization does not have."""
    known = f"there are {', '.join(sorted(volumes))}" if volumes else "there are none; an operator can create one"
    problems = tuple(
        Problem(f"mounts[{i}].name", f"there is no volume {mount.name[:80]!r} in {slug}; {known}")
        for i, mount in enumerate(mounts)
        if mount.name not in volumes
    )
    if problems:
        raise InvalidInputError(problems)


def missing_volumes(mounts: Sequence[Mount], volumes: Mapping[str, Volume]) -> list[str]:
    """Names that are mounted and no longer there, each once."""
    return list(dict.fromkeys(mount.name for mount in mounts if mount.name not in volumes))


def check_source(kind: VolumeKind, source: str) -> None:
    """Raise InvalidInputError unless the source is one that a pod can carry."""
    match kind:
        case VolumeKind.PVC:
            if len(source) > LONGEST_DNS_NAME or not re.fullmatch(DNS_NAME, source):
                raise InvalidInputError.of("pvc", f"{source[:80]!r} is not the name of a PersistentVolumeClaim")
        case VolumeKind.NFS:
            server, path = nfs_parts(source)
            if ":/" not in source or not _NFS_SERVER.fullmatch(server) or not _is_plain(path):
                raise InvalidInputError.of("nfs", f"{source[:80]!r} is not server:/path, with a plain absolute path")
        case VolumeKind.HOST_PATH:
            if not _is_plain(source) or source == "/":
                raise InvalidInputError.of("host-path", f"{source[:80]!r} is not a plain absolute path of a directory")


def nfs_parts(source: str) -> tuple[str, str]:
    """Server and path of `server:/path`; the server may be an address in brackets."""
    server, _, path = source.partition(":/")
    return server, f"/{path}"


def _is_plain(path: str) -> bool:
    """Absolute, and what normalising it gives."""
    is_text = path.isprintable() and len(path.encode("utf-8", "surrogatepass")) <= MAX_PATH
    return path.startswith("/") and not path.startswith("//") and is_text and posixpath.normpath(path) == path
