"""The log of an attempt as the API shows it, and the pieces that a follower gets."""

from __future__ import annotations

from typing import Self

import strawberry

from app.domain.log_lines import readable
from app.reconcile.logs import LogText


@strawberry.type(description="The end of an attempt's log, of at most 1 MiB: live while it runs, kept after its end.")
class WorkloadLog:
    attempt: int | None = strawberry.field(description="Number of the attempt; null before the first.")
    text: str = strawberry.field(description="As it was written; what is no UTF-8, and NUL, is replaced by U+FFFD.")
    was_cut: bool = strawberry.field(description="There was more before the text.")
    is_complete: bool = strawberry.field(description="Nothing will be added to the text.")
    why_none: str | None = strawberry.field(description="A sentence where there is no text.")

    @classmethod
    def from_reading(cls, log: LogText) -> Self:
        return cls(
            attempt=log.attempt,
            text=readable(log.text),
            was_cut=log.was_cut,
            is_complete=log.is_complete,
            why_none=log.why_none or None,
        )
