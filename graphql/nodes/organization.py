"""Organization: everything of a tenant hangs under it, so that one check guards it."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

import strawberry

from app.commands.context import Access, open_gpu_workloads
from app.domain import people as domain
from app.domain import workload as domain_workload
from app.domain.errors import InvalidInputError
from app.domain.people import Permission
from app.graphql.context import Info
from app.graphql.cursors import parse_workload_cursor, workload_cursor
from app.graphql.enums import Role, Status
from app.graphql.limits import LARGEST_PAGE
from app.graphql.nodes.project import Project
from app.graphql.nodes.server import Server
from app.graphql.nodes.workload import Workload
from app.store import people, reads, servers

DEFAULT_PAGE = 50


@strawberry.type(description="Where a page begins and ends.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether older workloads follow.")
    has_previous_page: bool = strawberry.field(description="Whether newer workloads come before.")
    start_cursor: str | None = strawberry.field(description="Cursor of the first; null on an empty page.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last: the next page's `after`.")


@strawberry.type(description="A workload and its place in the list.")
class WorkloadEdge:
    cursor: str = strawberry.field(description="Opaque; give it as `after` to go on behind this one.")
    node: Workload = strawberry.field(description="The workload itself.")


@strawberry.type(description="A page of workloads.")
class WorkloadConnection:
    organization_id: strawberry.Private[UUID]
    statuses: strawberry.Private[list[Status] | None]
    edges: list[WorkloadEdge] = strawberry.field(description="The workloads, newest first.")
    page_info: PageInfo = strawberry.field(description="What comes before and after this page.")

    @strawberry.field(description="How many there are, over all pages.")
    async def total_count(self) -> int:
        return await reads.count_workloads(self.organization_id, self.statuses)


@strawberry.type(description="A tenant: its people, projects, servers and workloads.")
class Organization:
    id: UUID = strawberry.field(description="Never changes.")
    slug: str = strawberry.field(description="Its short name, which every request names it by.")
    name: str = strawberry.field(description="For people.")
    gpu_workloads_enabled: bool = strawberry.field(description="Whether GPU workloads are switched on here.")
    role: Role | None = strawberry.field(description="The caller's role here.")

    @classmethod
    def from_domain(cls, noun: domain.Organization, role: domain.Role | None) -> Self:
        return cls(
            id=noun.id, slug=noun.slug, name=noun.name, gpu_workloads_enabled=noun.gpu_workloads_enabled, role=role
        )

    async def _access(self, info: Info) -> Access:
        return await open_gpu_workloads(await info.context.caller(), self.slug, Permission.READ_WORKLOADS)

    @strawberry.field(description="Its projects, by slug. Every member may see them.")
    async def projects(self) -> list[Project]:
        return [Project.from_domain(noun) for noun in await people.projects_of(self.id)]

    @strawberry.field(description="The servers of its pool on record, by name.")
    async def servers(self, info: Info) -> list[Server]:
        await self._access(info)
        seen = info.context.services.board.servers()
        return [Server.from_domain(s, seen.get(s.name)) for s in await servers.servers_of(self.slug)]

    @strawberry.field(description="One workload; null where the organization has none of that id.")
    async def workload(
        self,
        info: Info,
        id: Annotated[UUID, strawberry.argument(description="Its id.")],  # noqa: A002 — the contract's name
    ) -> Workload | None:
        await self._access(info)
        noun = await reads.find_workload(self.id, id)
        return Workload.from_domain(noun) if noun else None

    @strawberry.field(description="Its workloads, newest first.")
    async def workloads(
        self,
        info: Info,
        first: Annotated[int, strawberry.argument(description="Size of the page, 1 to 500.")] = DEFAULT_PAGE,
        after: Annotated[str | None, strawberry.argument(description="A cursor; the page begins behind it.")] = None,
        status: Annotated[list[Status] | None, strawberry.argument(description="Only these.")] = None,
    ) -> WorkloadConnection:
        await self._access(info)
        if not 1 <= first <= LARGEST_PAGE:
            raise InvalidInputError.of("first", f"must be between 1 and {LARGEST_PAGE}; it is {first}")
        position = None if after is None else parse_workload_cursor(after)
        nouns = await reads.newest_workloads(self.id, first + 1, position, status)
        return self._page(nouns[:first], status, has_next=len(nouns) > first, has_previous=position is not None)

    def _page(
        self,
        nouns: list[domain_workload.Workload],
        statuses: list[Status] | None,
        *,
        has_next: bool,
        has_previous: bool,
    ) -> WorkloadConnection:
        edges = [
            WorkloadEdge(cursor=workload_cursor(noun.created_at, noun.id), node=Workload.from_domain(noun))
            for noun in nouns
        ]
        first, last = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
        page = PageInfo(has_next_page=has_next, has_previous_page=has_previous, start_cursor=first, end_cursor=last)
        return WorkloadConnection(organization_id=self.id, statuses=statuses, edges=edges, page_info=page)
