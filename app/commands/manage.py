"""What owners and admins do to their organization: projects, members, tokens. Each leaves a row in the audit trail.

Secrets come in hashed: making and hashing them is `app.auth`'s business.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from app.commands.context import (
    CommandContext,
    check_name,
    check_slug,
    note_done,
    noting_refusals,
    open_organization,
)
from app.domain.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from app.domain.people import (
    Organization,
    Permission,
    Principal,
    Project,
    Role,
    Scope,
    grantable,
    grantable_expiry,
    require,
)
from app.domain.quota import Quota, check_quota, over_promised
from app.store import managing, people, servers

MAX_DAYS = 3650


@asynccontextmanager
async def _managing(
    context: CommandContext, principal: Principal, action: str, slug: str, permission: Permission, target: str = ""
) -> AsyncIterator[Organization]:
    """The organization, if the principal may; what is done inside is noted once it is done."""
    async with noting_refusals(context, principal, action, slug, target):
        yield await open_organization(principal, slug, permission)
    await note_done(context, principal, action, slug, target)


async def create_project(
    context: CommandContext, principal: Principal, slug: str, project: str, name: str | None
) -> Project:
    """Raises ConflictError where there is one of that slug."""
    async with _managing(context, principal, "create_project", slug, Permission.MANAGE_PROJECTS, project) as found:
        check_slug("slug", project)
        return await people.add_project(found.id, project, check_name("name", name or project), context.clock.now())


async def rename_project(
    context: CommandContext, principal: Principal, project_id: UUID, name: str, version: int
) -> Project:
    """Raises ConflictError where somebody else was first."""
    async with _changing_project(context, principal, "rename_project", project_id) as project:
        renamed = await managing.rename_project(project_id, check_name("name", name), version)
        return _if_first(renamed, version, f"it is at version {project.version}, named {project.name!r}")


async def set_project_quota(
    context: CommandContext,
    principal: Principal,
    project_id: UUID,
    wanted: tuple[int | None, int | None],
    version: int,
) -> tuple[Project, str]:
    """`wanted`: the GPUs that are guaranteed, and the most. Returns a warning where not all guarantees can be kept.

    Raises InvalidInputError, or ConflictError where somebody else was first.
    """
    action, detail = "set_project_quota", Quota(*wanted).words
    async with _changing_project(context, principal, action, project_id, detail) as project:
        quota = check_quota(*wanted)
        now = f"it is at version {project.version}: {project.quota.words}"
        changed = _if_first(await managing.set_quota(project_id, quota, version), version, now)
    context.bus.wake_queue()
    return changed, await quota_warning(project.organization_id)


async def quota_warning(organization_id: UUID) -> str:
    """Says so where the servers on record can't keep all guarantees at once; empty where they can."""
    quotas = [project.quota for project in await people.projects_of(organization_id)]
    if not any(quota.guaranteed for quota in quotas):
        return ""
    organization = await people.organization_by_id(organization_id)
    records = await servers.servers_of(organization.slug) if organization else []
    return over_promised(quotas, sum(record.gpu_count for record in records if record.gone_at is None))


@asynccontextmanager
async def _changing_project(
    context: CommandContext, principal: Principal, action: str, project_id: UUID, detail: str = ""
) -> AsyncIterator[Project]:
    """The project, if the principal may change it; what is done inside is noted once it is done."""
    project = (await people.projects_by_id([project_id])).get(project_id)
    organization = await people.organization_by_id(project.organization_id) if project else None
    slug = organization.slug if organization else ""
    async with noting_refusals(context, principal, action, slug, str(project_id)):
        if project is None or organization is None or organization.id not in principal.roles:
            raise NotFoundError(f"there is no project {project_id} that you may see")
        require(principal, organization, Permission.MANAGE_PROJECTS)
        yield project
    await note_done(context, principal, action, slug, str(project_id), detail)


def _if_first(changed: Project | None, version: int, now: str) -> Project:
    if changed is None:
        raise ConflictError(f"somebody changed the project since version {version}; {now}. Read it and try again")
    return changed


async def set_member(context: CommandContext, principal: Principal, slug: str, email: str, role: Role) -> None:
    """Give a person a role. Raises NotFoundError, or ConflictError for the last owner.

    A person who is in none of the caller's own organizations is as good as unknown: nobody is taken into an
    organization of strangers, and no owner finds out who else is on record. An operator can add anybody.
    """
    address = email.strip().lower()
    async with _managing(context, principal, "set_member", slug, Permission.MANAGE_ORGANIZATION, address) as found:
        owned = [organization_id for organization_id, held in principal.roles.items() if held is Role.OWNER]
        user_id = await managing.find_member(owned, address)
        if user_id is None:
            words = f"{address[:254]!r} is in no organization of yours"
            raise NotFoundError(f"{words}; an operator creates people and adds them, with 'gpuyard admin create-user'")
        await managing.change_member(found.id, user_id, role, context.clock.now())


async def remove_member(context: CommandContext, principal: Principal, slug: str, email: str) -> None:
    """Take a person's role away. Raises NotFoundError, or ConflictError for the last owner."""
    address = email.strip().lower()
    async with _managing(context, principal, "remove_member", slug, Permission.MANAGE_ORGANIZATION, address) as found:
        user_id = await managing.find_member([found.id], address)
        if user_id is None or not await managing.change_member(found.id, user_id, None, context.clock.now()):
            raise NotFoundError(f"{address[:254]!r} is no member of {slug}")


@dataclass(frozen=True)
class NewToken:
    """What a token shall be. `days` None: it lives as long as its maker's."""

    name: str
    secret_hash: str
    scopes: Iterable[Scope] = ()
    days: int | None = None


async def create_service_token(
    context: CommandContext, principal: Principal, slug: str, role: Role, wanted: NewToken
) -> UUID:
    """A token with a role of its own. It can do no more than its maker's token: raises ForbiddenError else."""
    async with _managing(context, principal, "create_token", slug, Permission.MANAGE_ORGANIZATION) as found:
        return await _add_token(context, principal, wanted, organization_id=found.id, role=role)


async def create_own_token(context: CommandContext, principal: Principal, wanted: NewToken) -> UUID:
    """A token of the caller, a person, who can do no more with it than with the present one."""
    async with noting_refusals(context, principal, "create_token", ""):
        if principal.user_id is None:
            raise ForbiddenError("a service token is nobody's; name an organization to make another one of its own")
        if Scope.ORGANIZATION_ADMIN not in principal.scopes:
            raise ForbiddenError(f"this token lacks the scope {Scope.ORGANIZATION_ADMIN}, which making tokens needs")
        token = await _add_token(context, principal, wanted, user_id=principal.user_id)
    await note_done(context, principal, "create_token", "", wanted.name)
    return token


async def _add_token(
    context: CommandContext,
    principal: Principal,
    wanted: NewToken,
    *,
    user_id: UUID | None = None,
    organization_id: UUID | None = None,
    role: Role | None = None,
) -> UUID:
    if wanted.days is not None and not 1 <= wanted.days <= MAX_DAYS:
        raise InvalidInputError.of("expiresInDays", f"must be between 1 and {MAX_DAYS}; it is {wanted.days}")
    now = context.clock.now()
    expires = grantable_expiry(principal, now + timedelta(days=wanted.days) if wanted.days is not None else None)
    scopes = grantable(principal, wanted.scopes)
    whose = {"user_id": user_id, "organization_id": organization_id}
    return await people.add_token(
        wanted.secret_hash, check_name("name", wanted.name), scopes, now, **whose, role=role, expires_at=expires
    )


async def revoke_token(context: CommandContext, principal: Principal, token_id: UUID) -> None:
    """One's own, or as an owner a service token of the organization. Asking again changes nothing."""
    unknown = NotFoundError(f"there is no token {token_id} that you may revoke")
    owner = await managing.token_owner(token_id)
    user_id, organization_id = owner or (None, None)
    organization = await people.organization_by_id(organization_id) if organization_id else None
    slug = organization.slug if organization else ""
    async with noting_refusals(context, principal, "revoke_token", slug, str(token_id)):
        if organization is not None and organization.id in principal.roles:
            require(principal, organization, Permission.MANAGE_ORGANIZATION)
        elif user_id is None or user_id != principal.user_id:
            raise unknown
        elif Scope.ORGANIZATION_ADMIN not in principal.scopes and token_id != principal.token_id:
            raise ForbiddenError(f"this token lacks the scope {Scope.ORGANIZATION_ADMIN}; it can revoke only itself")
        await people.revoke_token(token_id, context.clock.now())
    await note_done(context, principal, "revoke_token", slug, str(token_id))
