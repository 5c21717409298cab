"""The log of an attempt as the API shows it, and the pieces that a follower gets."""

from __future__ import annotations

from typing import Self
from uuid import UUID

import strawberry

from app.domain.log_lines import readable
from app.graphql.cursors import log_cursor
from app.reconcile.log_follower import LogChunk
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


@strawberry.type(description="A piece of a workload's log, of at most 64 KiB.")
class WorkloadLogChunk:
    attempt: int = strawberry.field(description="Number of the attempt whose text it is; 0 where there never was one.")
    text: str = strawberry.field(description="As it was written, replaced where it is no UTF-8 or NUL. May be empty.")
    cursor: str = strawberry.field(description="Opaque; give it as `after` to go on behind this piece.")
    gap: bool = strawberry.field(description="Something before this piece could not be had.")
    is_last: bool = strawberry.field(description="The workload has ended, and this was all.")

    @classmethod
    def of(cls, workload_id: UUID, chunk: LogChunk) -> Self:
        return cls(
            attempt=chunk.place.attempt,
            text=readable(chunk.text),
            cursor=log_cursor(workload_id, chunk.place),
            gap=chunk.gap,
            is_last=chunk.is_last,
        )
