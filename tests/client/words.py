"""A waiter that takes no time."""

from __future__ import annotations

from app.client.waiting import Waiter


class Words(list[str]):
    """What was said; pauses are noted instead of slept."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self.waiter = Waiter(self.append, self.pauses.append)
