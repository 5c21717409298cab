"""What changed since a page was last told: for the list, and for one workload.

Each look reads what the page would show now, and tells how that differs from what it shows. So nothing is missed,
whatever the filter, the search and the order are. What a page shows has a digest: the page carries that of the moment
it was made, a browser that comes back that of the last message it saw, and where it is another one, all is told anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.clock import Clock
from app.domain.workload import Workload
from app.panel import streams
from app.panel.contexts import RowsMessage, WorkloadMessage
from app.panel.fleet import gpu_links
from app.panel.list_views import ListView, difference
from app.panel.listing import Listing
from app.panel.rendering import render
from app.panel.workload_views import RowView, WorkloadView, row_view, workload_view
from app.reconcile.forecast import Forecaster
from app.store import people, reads

_MOST_SPOKEN = 3  # a screen reader must not be talking all day
_NONE_YET = "No workloads yet: submit one with the form."
_NO_MATCH = "Nothing here matches."
_NOT_UNDERSTOOD = "Nothing is shown, as the search can't be understood."


@dataclass
class RowNews:
    """News of a page of the list. `have` is the digest of what it shows at first."""

    slug: str
    organization_id: UUID
    listing: Listing
    have: str
    form_token: str
    clock: Clock
    forecaster: Forecaster
    names_clusters: bool
    _shown: ListView | None = None

    async def look(self) -> list[str]:
        view = await load_list(
            self.slug, self.organization_id, self.listing, self.forecaster, names_clusters=self.names_clusters
        )
        shown, self._shown = self._shown, view
        if view == shown or (shown is None and view.digest == self.have):
            return []
        return [streams.message(render(await self._message(shown, view)), view.digest)]

    async def _message(self, shown: ListView | None, view: ListView) -> RowsMessage:
        before = {row.id: row for row in shown.rows} if shown else {}
        left = await self._left(before, view)
        moved = [row for row in view.rows if row.id in before and row.badge.label != before[row.id].badge.label]
        return RowsMessage(
            now=self.clock.now(),
            listed=view,
            changes=difference(shown.rows, view.rows) if shown else None,
            left=left[:_MOST_SPOKEN],
            form_token=self.form_token,
            spoken=_spoken([*moved, *left]),
        )

    async def _left(self, before: dict[UUID, RowView], view: ListView) -> tuple[RowView, ...]:
        """Rows that are gone because something became of them, as they are now: not those that others pushed out."""
        gone = before.keys() - {row.id for row in view.rows}
        if not gone:
            return ()
        found = (await reads.workloads_by_id(list(gone))).values()
        rows = await _rows(self.slug, list(found), self.forecaster, names_clusters=self.names_clusters)
        return tuple(row for row in rows if row != before[row.id])


@dataclass
class WorkloadNews:
    """News of one workload: the whole of it whenever anything of it looks different."""

    slug: str
    organization_id: UUID
    workload_id: UUID
    form_token: str
    clock: Clock
    forecaster: Forecaster
    names_clusters: bool
    _shown: WorkloadView | None = None

    async def look(self) -> list[str]:
        view = await load_view(
            self.slug, self.organization_id, self.workload_id, self.forecaster, names_clusters=self.names_clusters
        )
        if view is None or view == self._shown:
            return []
        has_moved = self._shown is not None and self._shown.row.badge != view.row.badge
        spoken = _spoken([view.row]) if has_moved else ()
        message = WorkloadMessage(self.clock.now(), view, self.form_token, spoken)
        self._shown = view
        cursor = view.events[-1].sequence if view.events else 0
        return [streams.message(render(message), cursor), streams.event(streams.CHANGED)]


async def load_list(
    slug: str, organization_id: UUID, listing: Listing, forecaster: Forecaster, *, names_clusters: bool
) -> ListView:
    """What a page of the list shows now."""
    page = await listing.page(organization_id)
    rows = await _rows(slug, page.workloads, forecaster, names_clusters=names_clusters)
    nothing = _NOT_UNDERSTOOD if listing.problems else _NO_MATCH if listing.is_narrowed else _NONE_YET
    return ListView(rows, listing.links(slug, page), nothing)


async def load_view(
    slug: str, organization_id: UUID, workload_id: UUID, forecaster: Forecaster, *, names_clusters: bool
) -> WorkloadView | None:
    workload = await reads.find_workload(organization_id, workload_id)
    if workload is None:
        return None
    attempts, events = await reads.attempts_of([workload.id]), await reads.events_of([workload.id])
    [row] = await _rows(slug, [workload], forecaster, names_clusters=names_clusters)
    relaxations = await forecaster.relaxations(organization_id, workload.id) if row.standing else ()
    links = await gpu_links(slug, attempts)
    return workload_view(row, workload, attempts, events, links, relaxations, names_clusters=names_clusters)


async def _rows(
    slug: str, workloads: Sequence[Workload], forecaster: Forecaster, *, names_clusters: bool
) -> tuple[RowView, ...]:
    named = {w.spec.project_id for w in workloads if w.spec.project_id}
    projects = await people.projects_by_id(list(named)) if named else {}
    standings = {w.id: await forecaster.standing(w.organization_id, w.id) for w in workloads if w.waits}
    return tuple(row_view(slug, w, projects, standings.get(w.id), names_clusters=names_clusters) for w in workloads)


def _spoken(rows: list[RowView]) -> tuple[str, ...]:
    said = tuple(f"{row.name}: {row.badge.label}" for row in rows[:_MOST_SPOKEN])
    return (*said, f"and {len(rows) - _MOST_SPOKEN} more") if len(rows) > _MOST_SPOKEN else said
