"""Which part of the list a page shows: a filter, and where it begins. Page and live stream read the same addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from app.domain.errors import NotFoundError
from app.domain.filters import NEWEST
from app.domain.states import TERMINAL_STATUSES, Status
from app.domain.workload import Workload
from app.panel import urls, wording
from app.panel.contexts import Choice
from app.store.listing import Position, Selection, list_workloads

PAGE = 50
LIVE = frozenset(Status) - TERMINAL_STATUSES
_ALL = "all"
_FILTERS: dict[str, frozenset[Status]] = {
    _ALL: frozenset(Status),
    "live": LIVE,
    "ended": TERMINAL_STATUSES,
    **{status.value: frozenset({status}) for status in Status},
}
_LONGEST_POSITION = 60


@dataclass(frozen=True)
class Listing:
    """`before` None: the newest. `show` is one of the filters' names."""

    show: str = _ALL
    before: Position | None = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Listing:
        """Raises NotFoundError for a filter or a place that there is not."""
        show, before = query.get("show", _ALL), query.get("before", "")
        if show not in _FILTERS:
            raise NotFoundError(f"there is no filter {show[:40]!r}")
        return cls(show, _parse_position(before) if before else None)

    @property
    def is_filtered(self) -> bool:
        return self.show != _ALL

    def shows(self, workload: Workload) -> bool:
        return workload.status in _FILTERS[self.show]

    async def page(self, organization_id: UUID) -> tuple[list[Workload], Position | None]:
        """The workloads of the page, and where the next one begins, if there is one."""
        found = await self._newest(organization_id, _FILTERS[self.show], PAGE + 1)
        return [workload for workload, _ in found[:PAGE]], found[PAGE - 1][1] if len(found) > PAGE else None

    async def live_part(self, organization_id: UUID) -> list[Workload]:
        """Those whose details may change without an event."""
        statuses = _FILTERS[self.show] & LIVE
        return [workload for workload, _ in await self._newest(organization_id, statuses, PAGE)] if statuses else []

    async def _newest(
        self, organization_id: UUID, statuses: frozenset[Status], limit: int
    ) -> list[tuple[Workload, Position]]:
        wanted = statuses if statuses != _FILTERS[_ALL] else None
        return await list_workloads(Selection(organization_id, statuses=wanted), NEWEST, limit, self.before)

    def url(self, slug: str, before: Position | None = None) -> str:
        return urls.workloads(slug, **self._query(before))

    def live_url(self, slug: str, cursor: int) -> str:
        return urls.workloads_live(slug, after=str(cursor), **self._query(self.before))

    def choices(self, slug: str) -> tuple[Choice, ...]:
        return tuple(Choice(name, Listing(name).url(slug), name == self.show) for name in _FILTERS)

    def _query(self, before: Position | None) -> dict[str, str]:
        return {"show": self.show if self.is_filtered else "", "before": _position_text(before) if before else ""}


def _position_text(position: Position) -> str:
    created_at = cast("datetime", position.value)  # what the newest-first order sorts by
    return f"{wording.microseconds(created_at)}-{position.id.hex}"


def _parse_position(text: str) -> Position:
    number, _, digits = text[:_LONGEST_POSITION].partition("-")
    try:
        return Position(wording.EPOCH + timedelta(microseconds=int(number)), UUID(digits))
    except (ValueError, OverflowError):
        raise NotFoundError("there is no such page of the list") from None
