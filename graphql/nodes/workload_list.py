"""The list of workloads as a Relay connection: what it may be asked, and a page of it."""

from __future__ import annotations

from enum import Enum
from typing import Annotated
from uuid import UUID

import strawberry

from app.domain.errors import InvalidInputError
from app.domain.filters import NEWEST, Order, parse_conditions, parse_search
from app.graphql.enums import SortField, Status
from app.graphql.limits import LARGEST_PAGE
from app.graphql.nodes.workload import Workload
from app.store.cursors import parse_workload_cursor, workload_cursor
from app.store.listing import Position, Selection, count_workloads, list_workloads

DEFAULT_PAGE = 50
LARGEST_OFFSET = 1_000_000


@strawberry.enum(description="In which direction a list is sorted. What has no value comes last in both.")
class SortOrder(Enum):
    ASC = strawberry.enum_value("asc", description="Smallest, earliest or alphabetically first.")
    DESC = strawberry.enum_value("desc", description="Largest, latest or alphabetically last first.")


First = Annotated[int, strawberry.argument(description="Size of the page, 1 to 500.")]
After = Annotated[str | None, strawberry.argument(description="A cursor; the page begins behind it.")]
Offset = Annotated[int, strawberry.argument(description="How many to pass over first, counted behind `after`.")]
OfStatus = Annotated[list[Status] | None, strawberry.argument(description="Only these.")]
FilterBy = Annotated[
    list[str] | None,
    strawberry.argument(
        description="Expressions that must all hold, each a field, an operator and a value: `gpuCount>=2`, "
        "`name=@train`, `createdAt>=2026-01-01T00:00:00Z`. Operators: == != for all, <= >= for numbers and times, "
        "=@ (contains) !@ (does not) =^ (starts with) =$ (ends with) for text. An empty value means that there is none."
    ),
]
Search = Annotated[
    str | None,
    strawberry.argument(
        description="Words that must all be found in name, image, project, submitter or server, in whatever case; "
        "an id finds its workload."
    ),
]
Deleted = Annotated[bool, strawberry.argument(description="Those that were deleted, instead of the others.")]
SortBy = Annotated[
    SortField | None, strawberry.argument(description="The field to sort by, ties by id; CREATED_AT unless given.")
]
SortOrderArgument = Annotated[
    SortOrder | None, strawberry.argument(description="ASC unless given; DESC where `sortBy` isn't given either.")
]


@strawberry.type(description="Where a page begins and ends.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether more follow.")
    has_previous_page: bool = strawberry.field(description="Whether others come before.")
    start_cursor: str | None = strawberry.field(description="Cursor of the first; null on an empty page.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last: the next page's `after`.")


@strawberry.type(description="A workload and its place in the list.")
class WorkloadEdge:
    order: strawberry.Private[Order]
    place: strawberry.Private[Position]
    node: Workload = strawberry.field(description="The workload itself.")

    @strawberry.field(description="Opaque; give it as `after` to go on behind this one.")
    def cursor(self) -> str:
        return workload_cursor(self.order, self.place)


@strawberry.type(description="A page of workloads.")
class WorkloadConnection:
    selection: strawberry.Private[Selection]
    edges: list[WorkloadEdge] = strawberry.field(description="The workloads, in the order that was asked for.")
    page_info: PageInfo = strawberry.field(description="What comes before and after this page.")

    @strawberry.field(description="How many there are, over all pages.")
    async def total_count(self) -> int:
        return await count_workloads(self.selection)


def select(
    organization_id: UUID,
    status: list[Status] | None,
    filter_by: list[str] | None,
    search: str | None,
    *,
    deleted: bool,
) -> Selection:
    """Raises InvalidInputError for expressions and words that can't be understood."""
    return Selection(organization_id, parse_conditions(filter_by or ()), parse_search(search or ""), status, deleted)


def order_of(sort_by: SortField | None, sort_order: SortOrder | None) -> Order:
    """Newest first where nothing is asked for."""
    if sort_by is None:
        return Order(NEWEST.by, sort_order is not SortOrder.ASC)
    return Order(sort_by, sort_order is SortOrder.DESC)


async def page_of(selection: Selection, order: Order, first: int, after: str | None, offset: int) -> WorkloadConnection:
    """Raises InvalidInputError for a size, an offset or a cursor that isn't one."""
    if not 1 <= first <= LARGEST_PAGE:
        raise InvalidInputError.of("first", f"must be between 1 and {LARGEST_PAGE}; it is {first}")
    if not 0 <= offset <= LARGEST_OFFSET:
        raise InvalidInputError.of("offset", f"must be between 0 and {LARGEST_OFFSET}; it is {offset}")
    position = None if after is None else parse_workload_cursor(after, order)
    found = await list_workloads(selection, order, first + 1, position, offset)
    edges = [WorkloadEdge(order=order, place=place, node=Workload.from_domain(noun)) for noun, place in found[:first]]
    info = PageInfo(
        has_next_page=len(found) > first,
        has_previous_page=position is not None or offset > 0,
        start_cursor=edges[0].cursor() if edges else None,
        end_cursor=edges[-1].cursor() if edges else None,
    )
    return WorkloadConnection(selection=selection, edges=edges, page_info=info)
