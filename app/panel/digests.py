"""A short name for what a page shows, by which it is told whether it would look different now."""

from __future__ import annotations

import hashlib

_DIGITS = 16


def digest_of(shown: object) -> str:
    """Of values whose `repr` tells all that is shown: text, numbers, tuples, frozen views."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:_DIGITS]
