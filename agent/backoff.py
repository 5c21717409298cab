"""How long to wait after failures: longer each time, up to an end, and by chance, so that a thousand agents whose
service was away do not all come back at once."""

from __future__ import annotations

from random import Random

FIRST_SECONDS = 2.0
LONGEST_SECONDS = 60.0


def pause_after(failures: int, chance: Random) -> float:
    """Seconds before the next try, after so many failures in a row: between a half and all of 2, 4, 8, … 60."""
    if not failures:
        return 0.0
    most: float = min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** min(failures - 1, 10))
    return most * chance.uniform(0.5, 1.0)
