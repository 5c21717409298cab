"""Persisted documents: those in operations/, by the name of their operation or the SHA-256 of their text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "operations"


@cache
def documents() -> Mapping[str, str]:
    """Text by id. `Workloads` and `sha256:…` lead to the same document."""
    found: dict[str, str] = {}
    for path in sorted(_FOLDER.glob("*.graphql")):
        text = path.read_text()
        found[_operation_name(path)] = found[document_id(text)] = text
    return found


def document_id(text: str) -> str:
    """As the appendix on persisted documents of GraphQL over HTTP names it."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _operation_name(path: Path) -> str:
    """The file's name in the spelling of operations: `workload_events.graphql` holds `WorkloadEvents`."""
    return "".join(word.title() for word in path.stem.split("_"))
