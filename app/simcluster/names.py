"""Random name endings, as generateName makes them."""

from __future__ import annotations

import secrets

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_MAX_BASE = 63 - _SUFFIX


def generated_name(base: str) -> str:
    return base[:_MAX_BASE] + "".join(secrets.choice(_LETTERS) for _ in range(_SUFFIX))
