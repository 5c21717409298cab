"""The repository's own files as git knows them, and their syntax trees."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("app/store/migrations/",)


@cache
def files() -> tuple[str, ...]:
    """Tracked files and untracked ones that are not ignored; symlinks are left out, their targets are listed."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return tuple(sorted(name for name in set(listed) if (ROOT / name).is_file() and not (ROOT / name).is_symlink()))


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def python_files(*folders: str) -> Iterator[str]:
    """All of them, or those in the folders (each with its slash)."""
    for name in files():
        if name.endswith(".py") and name.startswith(folders or "") and not name.startswith(GENERATED):
            yield name


@cache
def parsed(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(), name)


def text(name: str) -> str | None:
    """The file's text, or None for a binary file."""
    try:
        return (ROOT / name).read_text()
    except UnicodeDecodeError:
        return None


def report(found: list[str], what_to_do: str) -> str:
    return "\n".join([f"{what_to_do}:", *found])
