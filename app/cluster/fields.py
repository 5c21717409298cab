"""Careful reading of decoded JSON: what has the wrong shape raises MalformedError, what is absent has a default.

Used by the observers only, which turn the error into "not understood". JSON null counts as absent, as in Kubernetes.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from app.domain.quantity import parse_cpu, parse_memory

Json = dict[str, Any]


class MalformedError(ValueError):
    """The object isn't what its API says it is."""


def mapping(parent: Json, key: str) -> Json:
    value = parent.get(key)
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise MalformedError(f"{key} is no object")


def objects(parent: Json, key: str) -> list[Json]:
    value = parent.get(key)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise MalformedError(f"{key} is no list of objects")


def text(parent: Json, key: str) -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise MalformedError(f"{key} is no text")


def needed(parent: Json, key: str) -> str:
    if value := text(parent, key):
        return value
    raise MalformedError(f"{key} is missing")


def whole(parent: Json, key: str) -> int | None:
    value = parent.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise MalformedError(f"{key} is no whole number")


def moment(parent: Json, key: str) -> datetime | None:
    value = text(parent, key)
    return _moment(value) if value else None


@lru_cache(maxsize=4096)  # one second's text appears in many objects
def _moment(value: str) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise MalformedError(f"{value[:40]!r} is no time") from None
    if found.tzinfo is None:
        raise MalformedError(f"{value[:40]!r} has no time zone")
    return found


@lru_cache(maxsize=4096)
def _amount(name: str, value: str) -> int:
    try:
        return parse_cpu(value) if name == "cpu" else parse_memory(value)
    except (ValueError, ArithmeticError):
        raise MalformedError(f"{name}: {value[:40]!r} is no quantity") from None


def amount(name: str, value: object) -> int:
    """A quantity of a resource: CPU in thousandths of a core, anything else rounded up to a whole."""
    if isinstance(value, str):
        return _amount(name, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1000 if name == "cpu" else value
    raise MalformedError(f"{name} is no quantity")


def condition(status: Json, kind: str) -> Json:
    """The condition of that type when it holds, else nothing."""
    found = next((c for c in objects(status, "conditions") if c.get("type") == kind), {})
    return found if found.get("status") == "True" else {}
