"""Accept a workload: check everything, store it, wake the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from app.commands.context import Access, CommandContext, noting_refusals, open_gpu_workloads
from app.domain import requests
from app.domain.errors import ConflictError, InvalidInputError
from app.domain.gpu_requirements import check_fits_largest
from app.domain.gpus import WHOLE, GpuRequirements
from app.domain.people import Permission, Principal, permission_to_give, require
from app.domain.submission import Draft, check_submission, fingerprint
from app.domain.volumes import check_known
from app.domain.workload import Submission, Workload
from app.placement.size import most_on_one_server
from app.store import people, reads, servers, volumes
from app.store.writes import IdempotencyKeyTakenError, insert_workload


@dataclass(frozen=True)
class Submitted:
    """`is_new` is False where an idempotency key led to an earlier submission."""

    workload: Workload
    is_new: bool


async def submit_workload(context: CommandContext, principal: Principal, slug: str, draft: Draft) -> Submitted:
    """Raises InvalidInputError, ForbiddenError, NotFoundError, PreconditionFailedError or ConflictError."""
    async with noting_refusals(context, principal, "submit_workload", slug):
        access, spec = await _checked(context, principal, slug, draft)
        if earlier := await submitted_before(access.organization.id, spec):
            return earlier
        await check_against_records(access, spec)
        now = context.clock.now()
        return await store_new(context, requests.accept(uuid4(), access.organization.id, spec, principal.name, now))


async def check_request(context: CommandContext, principal: Principal, slug: str, draft: Draft) -> Workload:
    """What submitting would accept, and nothing is written. Raises as `submit_workload`, but for a used key."""
    access, spec = await _checked(context, principal, slug, draft)
    await check_against_records(access, spec)
    return requests.accept(uuid4(), access.organization.id, spec, principal.name, context.clock.now())


async def _checked(context: CommandContext, principal: Principal, slug: str, draft: Draft) -> tuple[Access, Submission]:
    """Whether the caller may, and what the request says by itself."""
    access = await open_gpu_workloads(principal, slug, Permission.WRITE_WORKLOADS)
    spec = check_submission(draft, context.defaults)
    require(principal, access.organization, permission_to_give(spec.priority))
    return access, spec


async def check_against_records(access: Access, spec: Submission) -> None:
    """What depends on the organization: its largest server, its projects. Raises InvalidInputError."""
    check_fits_largest(spec.resources.gpu_count, spec.gpu_requirements.kind, *await _largest(access, spec))
    if spec.mounts:
        known = {volume.name for volume in await volumes.volumes_of(access.organization.id)}
        check_known(spec.mounts, known, access.organization.slug)
    if spec.project_id is None:
        return
    project = (await people.projects_by_id([spec.project_id])).get(spec.project_id)
    if project is None or project.organization_id != access.organization.id:
        raise InvalidInputError.of("projectId", f"{access.organization.slug} has no project {spec.project_id}")


async def _largest(access: Access, spec: Submission) -> tuple[str, int]:
    """Name and count of the server on record that has most of the kind that is asked for; 0 where none has any."""
    kind = spec.gpu_requirements.kind
    if kind == WHOLE:
        return access.largest_server
    wanted = GpuRequirements(mig_profile=kind.mig_profile, is_shared=kind.is_shared)
    records = await servers.servers_of(access.organization.slug)
    counts = ((record.name, most_on_one_server(record, wanted)) for record in records)
    return max(counts, key=lambda it: it[1], default=("", 0))


async def store_new(context: CommandContext, workload: Workload) -> Submitted:
    """Store an accepted workload, unless its idempotency key leads to an earlier one. Raises ConflictError."""
    try:
        await insert_workload(workload)
    except IdempotencyKeyTakenError:
        if earlier := await submitted_before(workload.organization_id, workload.spec):
            return earlier
        raise
    context.bus.wake_queue()
    context.bus.wake_events(workload.organization_id)
    return Submitted(workload, is_new=True)


async def submitted_before(organization_id: UUID, spec: Submission) -> Submitted | None:
    """Same key and same request: the first workload. Same key and another request: an error."""
    if spec.idempotency_key is None:
        return None
    found = await reads.find_by_idempotency_key(organization_id, spec.idempotency_key)
    if found is None:
        return None
    workload, earlier = found
    if earlier != fingerprint(spec):
        raise ConflictError(
            f"idempotency key {spec.idempotency_key!r} was used for another request, workload {workload.id}; "
            "use a new key for a new request"
        )
    return Submitted(workload, is_new=False)
