"""How long a right that was checked is believed where something stays open: a stream, a subscription.

Each is believed for a different time, so that a thousand streams are not all checked at the same event.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.auth import CALLER_SECONDS, TRUSTED_SECONDS
from app.clock import Clock

T = TypeVar("T")
_LONGEST = TRUSTED_SECONDS - CALLER_SECONDS  # what is checked may itself go by a look that is so old


@dataclass
class Trust(Generic[T]):
    """A right that was checked by `open`, which raises once it is gone; `renew` checks it again when it is time."""

    clock: Clock
    open: Callable[[], Awaitable[T]]
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = self._later()

    async def renew(self) -> None:
        if self.clock.monotonic() >= self._until:
            await self.open()
            self._until = self._later()

    def _later(self) -> float:
        return self.clock.monotonic() + _LONGEST * random.uniform(0.7, 1)  # noqa: S311 — spreads work, no secret
