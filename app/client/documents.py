"""The GraphQL documents that are sent: files in graphql/operations, which every client may read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "graphql" / "operations"


@cache
def document(name: str) -> str:
    """`viewer`, or `command/workload` for one that the command alone sends."""
    return (FOLDER / f"{name}.graphql").read_text()
