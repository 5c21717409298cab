"""Careful reading of decoded JSON: what has the wrong shape raises MalformedError, what is absent has a default.

Used by the observers only, which turn the error into "not understood". JSON null counts as absent, as in Kubernetes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from app.domain.quantity import parse_cpu, parse_memory

Json = dict[str, Any]

_BEYOND = 2**63
_LONGEST = 64  # characters of a time or a quantity


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
        return value.replace("\0", "") if "\0" in value else value  # which PostgreSQL can't store
    raise MalformedError(f"{key} is no text")


def texts(parent: Json, key: str) -> list[str]:
    value = parent.get(key)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise MalformedError(f"{key} is no list of texts")


def needed(parent: Json, key: str) -> str:
    if value := text(parent, key):
        return value
    raise MalformedError(f"{key} is missing")


def whole(parent: Json, key: str) -> int | None:
    value = parent.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < _BEYOND):
        return value
    raise MalformedError(f"{key} is no whole number of 64 bits")


def moment(parent: Json, key: str) -> datetime | None:
    value = text(parent, key)
    if len(value) > _LONGEST:  # nor shall it be remembered
        raise MalformedError(f"{key} is no time")
    return _moment(value) if value else None


@lru_cache(maxsize=4096)  # one second's text appears in many objects
def _moment(value: str) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise MalformedError(f"{value!r} is no time") from None
    if found.tzinfo is None:
        raise MalformedError(f"{value!r} has no time zone")
    try:
        return found.astimezone(UTC)
    except OverflowError:
        raise MalformedError(f"{value!r} is out of any calendar") from None


@lru_cache(maxsize=4096)
def _amount(name: str, value: str) -> int:
    try:
        return parse_cpu(value) if name == "cpu" else parse_memory(value)
    except (ValueError, ArithmeticError):
        raise MalformedError(f"{name}: {value!r} is no quantity") from None


def amount(name: str, value: object) -> int:
    """A quantity of a resource: CPU in thousandths of a core, anything else rounded up to a whole.

    A negative one is malformed: a pod that takes less than nothing would make room for others.
    """
    if isinstance(value, str) and len(value) <= _LONGEST:
        found = _amount(name, value)
    elif isinstance(value, int) and not isinstance(value, bool):
        found = value * 1000 if name == "cpu" else value
    else:
        raise MalformedError(f"{name} is no quantity")
    if 0 <= found < _BEYOND:
        return found
    raise MalformedError(f"{name} is a quantity that nothing has")


def condition(status: Json, kind: str) -> Json:
    """The condition of that type when it holds, else nothing."""
    found = next((c for c in objects(status, "conditions") if c.get("type") == kind), {})
    return found if found.get("status") == "True" else {}
