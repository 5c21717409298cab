"""Who may follow, asked when it begins and again while it goes on."""

from __future__ import annotations

from uuid import UUID

from app.commands.change_workload import locate
from app.commands.context import open_gpu_workloads
from app.domain.people import Organization, Permission
from app.domain.workload import Workload
from app.graphql.context import Info


async def open_organization(info: Info, slug: str) -> Organization:
    """The organization, if the caller may still read its workloads."""
    return (await open_gpu_workloads(await info.context.caller(), slug, Permission.READ_WORKLOADS)).organization


async def open_own_workload(info: Info, workload_id: UUID) -> Workload:
    """The workload, if the caller may still read those of its organization."""
    located = await locate(workload_id)
    workload, _ = await located.open(await info.context.caller(), Permission.READ_WORKLOADS)
    return workload
