"""Who may follow, asked when it begins and again while it goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from app.auth import TRUSTED_SECONDS
from app.clock import Clock
from app.commands.change_workload import locate
from app.commands.context import open_gpu_workloads
from app.domain.people import Organization, Permission
from app.domain.workload import Workload
from app.graphql.context import Info

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


async def open_organization(info: Info, slug: str) -> Organization:
    """The organization, if the caller may still read its workloads."""
    return (await open_gpu_workloads(await info.context.caller(), slug, Permission.READ_WORKLOADS)).organization


async def open_own_workload(info: Info, workload_id: UUID) -> Workload:
    """The workload, if the caller may still read those of its organization."""
    located = await locate(workload_id)
    workload, _ = await located.open(await info.context.caller(), Permission.READ_WORKLOADS)
    return workload
