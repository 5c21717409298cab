"""Labels and mounts in one word each, as `kubectl` and `docker` spell them. The API judges what is in them."""

from __future__ import annotations

from typing import Any

_READ_ONLY, _READ_WRITE = "ro", "rw"


def label(text: str) -> dict[str, str]:
    """`key=value`; the value may be empty. Raises ValueError."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        msg = f"{text[:80]!r} is not a label; write KEY=VALUE"
        raise ValueError(msg)
    return {"key": key, "value": value}


def mount(text: str) -> dict[str, Any]:
    """`name:/path`, or `name:/path:ro`. Raises ValueError."""
    name, colon, path = text.partition(":")
    path, _, mode = path.partition(":")
    if not (name and colon and path) or mode not in ("", _READ_ONLY, _READ_WRITE):
        msg = f"{text[:80]!r} is not a mount; write NAME:/PATH, or NAME:/PATH:ro to read only"
        raise ValueError(msg)
    return {"name": name, "path": path, "readOnly": mode == _READ_ONLY}
