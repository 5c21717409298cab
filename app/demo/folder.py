"""The demo's data folder: its lock, and files that only their owner may read."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class FolderInUseError(Exception):
    """Another demo runs on the folder."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder; the lock goes with the process, however that ends. Raises FolderInUseError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = f"another gpuyard demo runs on {folder}; stop it, or give another folder with --data"
            raise FolderInUseError(msg) from None
        yield


def write_private(path: Path, content: Any) -> None:
    """JSON, as `write_private_text` writes it."""
    write_private_text(path, json.dumps(content, indent=2))


def write_private_text(path: Path, text: str) -> None:
    """Text and a newline, readable by its owner alone from its first moment on, and never seen half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(f"{text}\n")
    draft.replace(path)


def read_json(path: Path) -> Any:
    """What `write_private` wrote; None where there is no file."""
    return json.loads(path.read_text()) if path.is_file() else None
