"""One command on many workloads: each by itself, and what went wrong with which is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.errors import DomainError, InvalidInputError
from app.domain.workload import Workload

LARGEST_BATCH = 100
_AT_A_TIME = 16


@dataclass(frozen=True)
class Outcome:
    """What became of one: the workload as it is then, or why not."""

    id: UUID
    workload: Workload | None = None
    error: DomainError | None = None


async def for_each(ids: Sequence[UUID], command: Callable[[UUID], Awaitable[Workload]]) -> list[Outcome]:
    """In the order of `ids`, each id once. Raises InvalidInputError for none or too many, and does nothing then."""
    if not 1 <= len(ids) <= LARGEST_BATCH:
        raise InvalidInputError.of("ids", f"must be 1 to {LARGEST_BATCH} ids; there are {len(ids)}")
    turn = asyncio.Semaphore(_AT_A_TIME)

    async def one(workload_id: UUID) -> Outcome:
        async with turn:
            try:
                return Outcome(workload_id, await command(workload_id))
            except DomainError as error:
                return Outcome(workload_id, error=error)

    return await asyncio.gather(*(one(workload_id) for workload_id in dict.fromkeys(ids)))
