"""How many examples a property is tried with: few in `make test`, more under `--hypothesis-profile deep`."""

from __future__ import annotations

from hypothesis import settings

_SHORT = 100  # what the profile `gpuyard` leaves as hypothesis has it


def examples(short: int) -> int:
    """`short` in `make test`, as many times more as the profile asks for."""
    return short * settings().max_examples // _SHORT
