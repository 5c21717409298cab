"""Organization: everything of a tenant hangs under it, so that one check guards it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

import strawberry

from app.domain import people as domain
from app.domain.people import Permission, require, require_ready
from app.graphql.context import Info
from app.graphql.enums import Period, Role, TelemetryGroup, TelemetryType, UsageGroup
from app.graphql.moments import moment
from app.graphql.nodes.gpu import Gpu, find_gpu, gpus_of
from app.graphql.nodes.people import Member, Token
from app.graphql.nodes.project import Project
from app.graphql.nodes.server import Server, servers_of
from app.graphql.nodes.telemetry import Telemetry, Usage, telemetry_of, usage_of
from app.graphql.nodes.volume import Volume
from app.graphql.nodes.workload import Workload
from app.graphql.nodes.workload_list import (
    DEFAULT_PAGE,
    After,
    Deleted,
    FilterBy,
    First,
    Offset,
    OfStatus,
    Search,
    SortBy,
    SortOrderArgument,
    WorkloadConnection,
    order_of,
    page_of,
    select,
)
from app.reconcile.numbers import DEFAULT_WINDOW
from app.store import reads
from app.store.listing import count_workloads


@strawberry.type(description="A tenant: its people, projects, servers and workloads.")
class Organization:
    noun: strawberry.Private[domain.Organization]
    id: UUID = strawberry.field(description="Never changes.")
    slug: str = strawberry.field(description="Its short name, which every request names it by.")
    name: str = strawberry.field(description="For people.")
    gpu_workloads_enabled: bool = strawberry.field(description="Whether GPU workloads are switched on here.")
    role: Role | None = strawberry.field(description="The caller's role here.")

    @classmethod
    def from_domain(cls, noun: domain.Organization, role: domain.Role | None) -> Self:
        return cls(
            noun=noun,
            id=noun.id,
            slug=noun.slug,
            name=noun.name,
            gpu_workloads_enabled=noun.gpu_workloads_enabled,
            role=role,
        )

    async def _check(self, info: Info) -> None:
        """Whether the caller may read its workloads, and they can be used here."""
        require(await info.context.caller(), self.noun, Permission.READ_WORKLOADS)
        require_ready(self.noun, has_gpu_server=await info.context.loaders.has_gpu_server.load(self.slug))

    async def _check_owner(self, info: Info) -> None:
        require(await info.context.caller(), self.noun, Permission.MANAGE_ORGANIZATION)

    @strawberry.field(description="Its projects, by slug. Every member may see them.")
    async def projects(self, info: Info) -> list[Project]:
        return [Project.from_domain(noun) for noun in await info.context.loaders.projects_of.load(self.id)]

    @strawberry.field(description="Who belongs here, by address. For owners.")
    async def members(self, info: Info) -> list[Member]:
        await self._check_owner(info)
        return [Member.from_domain(noun) for noun in await info.context.loaders.members_of.load(self.id)]

    @strawberry.field(description="Its service tokens, the newest first, revoked ones too. For owners.")
    async def tokens(self, info: Info) -> list[Token]:
        await self._check_owner(info)
        return [Token.from_domain(noun) for noun in await info.context.loaders.tokens_of.load(self.id)]

    @strawberry.field(description="The servers of its pool on record, by name.")
    async def servers(self, info: Info) -> list[Server]:
        await self._check(info)
        return await servers_of(info, self.slug)

    @strawberry.field(description="The GPUs of its servers, by server and index.")
    async def gpus(
        self,
        info: Info,
        gone: Annotated[bool, strawberry.argument(description="With those that are no longer reported.")] = False,
    ) -> list[Gpu]:
        await self._check(info)
        return await gpus_of(self.slug, self.id, gone=gone)

    @strawberry.field(description="One GPU; null where no server of the organization has it.")
    async def gpu(
        self,
        info: Info,
        id: Annotated[UUID, strawberry.argument(description="Its id.")],  # noqa: A002 — the contract's name
    ) -> Gpu | None:
        await self._check(info)
        return await find_gpu(self.slug, self.id, id)

    @strawberry.field(description="Numbers of this moment about its workloads, servers and GPUs. It weighs 1000.")
    async def telemetry(
        self,
        info: Info,
        type: Annotated[TelemetryType, strawberry.argument(description="Which numbers.")],  # noqa: A002 — the contract's
        group_by: Annotated[
            list[TelemetryGroup] | None,
            strawberry.argument(description="By what; numbers about servers by SERVER, CLUSTER and PRODUCT only."),
        ] = None,
        cluster: Annotated[str | None, strawberry.argument(description="Only of that cluster.")] = None,
        window_seconds: Annotated[
            int, strawberry.argument(description="For how long a GPU must have done nothing to be idle, 60 to 86400.")
        ] = DEFAULT_WINDOW,
    ) -> Telemetry:
        await self._check(info)
        return await telemetry_of(info, (self.id, self.slug), type, group_by or (), cluster, window_seconds)

    @strawberry.field(description="GPU-seconds by period and group, computed from all attempts. It weighs 1000.")
    async def usage(
        self,
        info: Info,
        start: Annotated[datetime, strawberry.argument(description="From then on.")],
        end: Annotated[datetime, strawberry.argument(description="Until before then, at most ten years later.")],
        period: Annotated[
            Period | None, strawberry.argument(description="By which periods, at most 400; null: all in one.")
        ] = None,
        group_by: Annotated[
            list[UsageGroup] | None, strawberry.argument(description="Whose; all in one unless given.")
        ] = None,
    ) -> list[Usage]:
        await self._check(info)
        now = info.context.services.commands.clock.now()
        return await usage_of(self.id, moment("start", start), moment("end", end), period, group_by or (), now)

    @strawberry.field(description="Volumes that its workloads may mount, by name.")
    async def volumes(self, info: Info) -> list[Volume]:
        await self._check(info)
        return [Volume.from_domain(noun) for noun in await info.context.loaders.volumes_of.load(self.id)]

    @strawberry.field(description="One workload; null where the organization has none of that id.")
    async def workload(
        self,
        info: Info,
        id: Annotated[UUID, strawberry.argument(description="Its id.")],  # noqa: A002 — the contract's name
    ) -> Workload | None:
        await self._check(info)
        noun = await reads.find_workload(self.id, id)
        return Workload.from_domain(noun) if noun else None

    @strawberry.field(description="Its workloads, newest first unless another order is asked for.")
    async def workloads(  # noqa: PLR0913, PLR0917 — the contract's arguments
        self,
        info: Info,
        first: First = DEFAULT_PAGE,
        after: After = None,
        offset: Offset = 0,
        status: OfStatus = None,
        filter_by: FilterBy = None,
        search: Search = None,
        sort_by: SortBy = None,
        sort_order: SortOrderArgument = None,
        deleted: Deleted = False,
    ) -> WorkloadConnection:
        await self._check(info)
        selection = select(self.id, status, filter_by, search, deleted=deleted)
        return await page_of(selection, order_of(sort_by, sort_order), first, after, offset)

    @strawberry.field(description="How many workloads there are of those that the filters leave.")
    async def workloads_count(
        self,
        info: Info,
        status: OfStatus = None,
        filter_by: FilterBy = None,
        search: Search = None,
        deleted: Deleted = False,
    ) -> int:
        await self._check(info)
        return await count_workloads(select(self.id, status, filter_by, search, deleted=deleted))
