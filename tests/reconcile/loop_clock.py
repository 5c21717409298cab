"""A clock that follows the event loop's own, which `looptime` moves on whenever nothing is left to do."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from tests.clock import START


class LoopClock:
    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()
