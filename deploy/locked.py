# ruff: noqa: INP001 — a script, no package
"""Prints the part of requirements.lock that is needed for some packages, with its hashes. For the Containerfile.

    python deploy/locked.py requirements.lock "gpuyard (pyproject.toml)" > runtime.lock

The lock says of each package who wants it ("# via"). Kept are the named packages and what they want, at however many
removes; "gpuyard (pyproject.toml)" is the lock's word for the application without its tools for development.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_REQUIREMENT = re.compile(r"([a-z0-9][a-z0-9._-]*)==", re.IGNORECASE)


def blocks_of(lock: str) -> dict[str, str]:
    """By package: its requirement, hashes and comment."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if match := _REQUIREMENT.match(line):
            name = match[1]
        found[name] = found.get(name, "") + line
    return found


def wanted_by(block: str) -> set[str]:
    """Who wants the package, by the comment under it."""
    comments = [line.strip().lstrip("# ") for line in block.splitlines() if line.strip().startswith("#")]
    return {comment.removeprefix("via").strip() for comment in comments} - {""}


def locked(lock: str, roots: set[str]) -> str:
    """The blocks of the roots and of all that they want."""
    blocks, kept = blocks_of(lock), set(roots)
    while more := {name for name, block in blocks.items() if name not in kept and wanted_by(block) & kept}:
        kept |= more
    return "".join(block for name, block in blocks.items() if name in kept)


if __name__ == "__main__":
    sys.stdout.write(locked(Path(sys.argv[1]).read_text(), set(sys.argv[2:])))
