"""What changed since a page was last told: for the list, and for one workload.

Events say which workloads moved, and nothing is missed by them: a page carries the number of the last event of the
moment it was made, and comes back with that of the last message. Details that change without an event (GPUs, what the
cluster says of a start) are found by comparing what is shown with what is true, at each look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from app.clock import Clock
from app.domain.people import Project
from app.domain.workload import Event, EventType, Workload
from app.panel import streams
from app.panel.contexts import RowsMessage, WorkloadMessage
from app.panel.listing import LIVE, Listing
from app.panel.rendering import render
from app.panel.workload_views import RowView, WorkloadView, row_view, workload_view
from app.store import people, reads

_BATCH = 200
_SPOKEN = frozenset({EventType.STARTED, EventType.ENDED, EventType.RETRYING})
_MOST_SPOKEN = 3  # a screen reader must not be talking all day


@dataclass
class RowNews:
    """News of a list. `cursor` is the number of the last event that the page knows of."""

    slug: str
    organization_id: UUID
    listing: Listing
    cursor: int
    form_token: str
    clock: Clock
    names_clusters: bool
    _known: dict[UUID, RowView] = field(default_factory=dict)
    _projects: dict[UUID, Project] = field(default_factory=dict)

    async def look(self) -> tuple[list[str], bool]:
        """Messages, and whether there is more to tell at once.

        Details are read first: what comes into being meanwhile is then told by its event, as a new row.
        """
        live = await self.listing.live_part(self.organization_id)
        events = await reads.events_after(self.organization_id, self.cursor, _BATCH)
        moved = await reads.workloads_by_id(list({event.workload_id for event in events}))
        others = [w for w in live if w.id not in moved]
        await self._learn_projects([*moved.values(), *others])
        self.cursor = events[-1].sequence if events else self.cursor
        message = self._message(events, moved, others)
        has_news = message.upserted or message.changed or message.gone
        text = [streams.message(render(message), self.cursor)] if has_news else []
        return text, len(events) == _BATCH

    def _message(self, events: list[Event], moved: dict[UUID, Workload], others: list[Workload]) -> RowsMessage:
        types: defaultdict[UUID, set[EventType]] = defaultdict(set)
        for event in events:
            types[event.workload_id].add(event.type)
        rows = {w.id: self._row(w) for w in [*moved.values(), *others]}
        changed = [w for w in others if self._known.get(w.id) != rows[w.id]]
        upserted: list[Workload] = []
        for workload in filter(self.listing.shows, moved.values()):
            (upserted if self._may_be_new(types[workload.id]) else changed).append(workload)
        self._remember(rows, [*moved.values(), *others])
        loud = [rows[w.id] for w in moved.values() if types[w.id] & _SPOKEN]
        return RowsMessage(
            now=self.clock.now(),
            upserted=tuple(rows[w.id] for w in upserted),
            changed=tuple(rows[w.id] for w in changed),
            gone=tuple(w.id for w in moved.values() if not self.listing.shows(w)),
            form_token=self.form_token,
            spoken=_spoken(loud),
        )

    def _may_be_new(self, types: set[EventType]) -> bool:
        """Only the first page takes in rows; with a filter any change may have brought one under it."""
        return self.listing.before is None and (EventType.SUBMITTED in types or self.listing.is_filtered)

    def _row(self, workload: Workload) -> RowView:
        return row_view(self.slug, workload, self._projects, names_clusters=self.names_clusters)

    def _remember(self, rows: dict[UUID, RowView], workloads: Iterable[Workload]) -> None:
        """Of ended ones nothing changes without an event."""
        for workload in workloads:
            if workload.status in LIVE:
                self._known[workload.id] = rows[workload.id]
            else:
                self._known.pop(workload.id, None)

    async def _learn_projects(self, workloads: Iterable[Workload]) -> None:
        named = {w.spec.project_id for w in workloads if w.spec.project_id}
        if unknown := named - self._projects.keys():
            self._projects |= await people.projects_by_id(list(unknown))


@dataclass
class WorkloadNews:
    """News of one workload: the whole of it whenever anything of it looks different."""

    slug: str
    organization_id: UUID
    workload_id: UUID
    form_token: str
    clock: Clock
    names_clusters: bool
    _shown: WorkloadView | None = None

    async def look(self) -> tuple[list[str], bool]:
        view = await load_view(self.slug, self.organization_id, self.workload_id, names_clusters=self.names_clusters)
        if view is None or view == self._shown:
            return [], False
        has_moved = self._shown is not None and self._shown.row.badge != view.row.badge
        spoken = _spoken([view.row]) if has_moved else ()
        message = WorkloadMessage(self.clock.now(), view, self.form_token, spoken)
        self._shown = view
        cursor = view.events[-1].sequence if view.events else 0
        return [streams.message(render(message), cursor), streams.event(streams.CHANGED)], False


async def load_view(
    slug: str, organization_id: UUID, workload_id: UUID, *, names_clusters: bool
) -> WorkloadView | None:
    workload = await reads.find_workload(organization_id, workload_id)
    if workload is None:
        return None
    project_id = workload.spec.project_id
    projects = await people.projects_by_id([project_id]) if project_id else {}
    attempts, events = await reads.attempts_of([workload.id]), await reads.events_of([workload.id])
    row = row_view(slug, workload, projects, names_clusters=names_clusters)
    return workload_view(row, workload, attempts, events, names_clusters=names_clusters)


def _spoken(rows: list[RowView]) -> tuple[str, ...]:
    said = tuple(f"{row.name}: {row.badge.label}" for row in rows[:_MOST_SPOKEN])
    return (*said, f"and {len(rows) - _MOST_SPOKEN} more") if len(rows) > _MOST_SPOKEN else said
