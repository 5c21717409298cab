"""How long a right that was checked is believed where something stays open: a stream, a subscription."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.auth import TRUSTED_SECONDS
from app.clock import Clock

T = TypeVar("T")


@dataclass
class Trust(Generic[T]):
    """A right that was checked by `open`, which raises once it is gone; `renew` checks it again when it is time."""

    clock: Clock
    open: Callable[[], Awaitable[T]]
    _checked_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._checked_at = self.clock.monotonic()

    async def renew(self) -> None:
        if self.clock.monotonic() - self._checked_at >= TRUSTED_SECONDS:
            await self.open()
            self._checked_at = self.clock.monotonic()
