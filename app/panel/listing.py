"""What of the list a page shows: a filter, a search, an order, a page. Page and live stream read the same addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from app.domain.errors import InvalidInputError, NotFoundError
from app.domain.filters import NEWEST, Kind, Order, SortField
from app.domain.search_box import Search, parse_search_box
from app.domain.states import TERMINAL_STATUSES, Status
from app.domain.workload import Workload
from app.panel import urls
from app.panel.contexts import Choice
from app.panel.list_views import Heading, PageLinks, SearchView
from app.store.cursors import parse_workload_cursor, workload_cursor
from app.store.listing import Position, Selection, list_workloads, list_workloads_before

PAGE = 50
_EVERYTHING = Search()
_ALL, _DELETED = "all", "deleted"
_FILTERS: dict[str, frozenset[Status] | None] = {
    _ALL: None,
    "live": frozenset(Status) - TERMINAL_STATUSES,
    "ended": TERMINAL_STATUSES,
    **{status.value: frozenset({status}) for status in Status},
    _DELETED: None,
}
_HEADINGS = (
    ("Status", SortField.STATUS),
    ("Workload", SortField.NAME),
    ("State", None),
    ("GPUs", SortField.GPU_COUNT),
    ("Server", SortField.SERVER),
    ("Submitted", SortField.CREATED_AT),
    ("Started", SortField.STARTED_AT),
    ("Ended", SortField.COMPLETED_AT),
)


@dataclass(frozen=True)
class Page:
    """What is on a page, and the places that the pages beside it are read from; None where there is no such page."""

    workloads: tuple[Workload, ...] = ()
    previous: Position | None = None
    next: Position | None = None


@dataclass(frozen=True)
class Listing:
    """`typed` is what is in the search box; with `problems` it can't be understood, and nothing is shown.

    The page begins behind `after`, or ends right before `before`; with neither it is the first.
    """

    show: str = _ALL
    typed: str = ""
    search: Search = _EVERYTHING
    problems: tuple[str, ...] = ()
    order: Order = NEWEST
    after: Position | None = None
    before: Position | None = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Listing:
        """Raises NotFoundError for a filter, an order or a place that there is not."""
        show, order = query.get("show") or _ALL, _parse_order(query.get("sort", ""))
        if show not in _FILTERS:
            raise NotFoundError(f"there is no filter {show[:40]!r}")
        typed = query.get("q", "").strip()
        search, problems = _understand(typed)
        after, before = (_parse_place(query.get(name, ""), order) for name in ("after", "before"))
        return cls(show, typed, search, problems, order, after, before)

    @property
    def is_first(self) -> bool:
        return self.after is None and self.before is None

    @property
    def is_narrowed(self) -> bool:
        return self.show != _ALL or bool(self.typed)

    async def page(self, organization_id: UUID) -> Page:
        if self.problems:
            return Page()
        selection = Selection(
            organization_id,
            self.search.conditions,
            self.search.words,
            _FILTERS[self.show],
            is_deleted=self.show == _DELETED,
        )
        if self.before is not None:
            found = await list_workloads_before(selection, self.order, PAGE + 1, self.before)
            if len(found) > PAGE:
                return _page(found[1:], has_previous=True, has_next=True)
        found = await list_workloads(selection, self.order, PAGE + 1, self.after)
        return _page(found[:PAGE], has_previous=self.after is not None, has_next=len(found) > PAGE)

    def url(self, slug: str) -> str:
        return urls.workloads(slug, **self._query())

    def live_url(self, slug: str, have: str) -> str:
        """`have` names what the page shows already."""
        return urls.workloads_live(slug, **self._query(), have=have)

    def links(self, slug: str, page: Page) -> PageLinks:
        first = self._first_page()
        return PageLinks(
            "" if self.is_first else first.url(slug),
            replace(first, before=page.previous).url(slug) if page.previous else "",
            replace(first, after=page.next).url(slug) if page.next else "",
        )

    def choices(self, slug: str) -> tuple[Choice, ...]:
        first = self._first_page()
        return tuple(Choice(name, replace(first, show=name).url(slug), name == self.show) for name in _FILTERS)

    def headings(self, slug: str) -> tuple[Heading, ...]:
        return tuple(self._heading(slug, label, by) for label, by in _HEADINGS)

    def search_view(self, slug: str) -> SearchView:
        first = self._first_page()
        kept = self._query() | {"q": "", "after": "", "before": ""}
        return SearchView(
            action=urls.workloads(slug),
            typed=self.typed,
            problems=self.problems,
            kept={name: value for name, value in kept.items() if value},
            clear_url=replace(first, typed="").url(slug) if self.typed else "",
        )

    def _heading(self, slug: str, label: str, by: SortField | None) -> Heading:
        """The order turns around where the list is in it already; times and numbers begin with the largest."""
        if by is None:
            return Heading(label)
        is_present = self.order.by is by
        order = Order(by)
        order = replace(order, is_descending=order.field.kind in (Kind.NUMBER, Kind.MOMENT, Kind.PRIORITY))
        direction = ""
        if is_present:
            direction = "descending" if self.order.is_descending else "ascending"
            order = replace(order, is_descending=not self.order.is_descending)
        return Heading(label, replace(self._first_page(), order=order).url(slug), direction)

    def _first_page(self) -> Listing:
        return replace(self, after=None, before=None)

    def _query(self) -> dict[str, str]:
        return {
            "show": self.show if self.show != _ALL else "",
            "q": self.typed,
            "sort": _order_text(self.order) if self.order != NEWEST else "",
            "after": workload_cursor(self.order, self.after) if self.after else "",
            "before": workload_cursor(self.order, self.before) if self.before else "",
        }


def _page(found: list[tuple[Workload, Position]], *, has_previous: bool, has_next: bool) -> Page:
    if not found:
        return Page()
    (_, first), (_, last) = found[0], found[-1]
    workloads = tuple(workload for workload, _ in found)
    return Page(workloads, first if has_previous else None, last if has_next else None)


def _understand(typed: str) -> tuple[Search, tuple[str, ...]]:
    try:
        return parse_search_box(typed), ()
    except InvalidInputError as error:
        return _EVERYTHING, tuple(problem.message for problem in error.problems)


def _order_text(order: Order) -> str:
    return f"{'-' if order.is_descending else ''}{order.by}"


def _parse_order(text: str) -> Order:
    if not text:
        return NEWEST
    try:
        return Order(SortField(text.removeprefix("-")), text.startswith("-"))
    except ValueError:
        raise NotFoundError(f"there is no order {text[:40]!r}") from None


def _parse_place(text: str, order: Order) -> Position | None:
    try:
        return parse_workload_cursor(text, order) if text else None
    except InvalidInputError:
        raise NotFoundError("there is no such page of the list") from None
