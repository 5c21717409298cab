"""Organizations, users, memberships, projects and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tortoise.exceptions import IntegrityError
from tortoise.expressions import Q

from app.domain.agents import AgentBinding
from app.domain.errors import ConflictError
from app.domain.people import Organization, Principal, Project, Role, Scope
from app.store import mapping
from app.store.models import MembershipRow, OrganizationRow, ProjectRow, TokenRow, UserRow
from app.store.sharedread import shared_read

LONGEST_EMAIL = 254


@dataclass(frozen=True)
class User:
    id: UUID
    email: str
    password_hash: str
    disabled_at: datetime | None = None


async def organizations() -> list[Organization]:
    return [mapping.organization(row) for row in await OrganizationRow.all().order_by("slug")]


@shared_read
async def find_organization(slug: str) -> Organization | None:
    row = await OrganizationRow.get_or_none(slug=slug)
    return mapping.organization(row) if row else None


async def organizations_by_id(ids: Sequence[UUID]) -> dict[UUID, Organization]:
    return {row.id: mapping.organization(row) for row in await OrganizationRow.filter(id__in=list(ids))}


async def organization_by_id(organization_id: UUID) -> Organization | None:
    return (await organizations_by_id([organization_id])).get(organization_id)


async def add_organization(slug: str, name: str, *, enabled: bool, is_default: bool, at: datetime) -> Organization:
    """Raises ConflictError when the slug is taken."""
    try:
        row = await OrganizationRow.create(
            slug=slug, name=name, gpu_workloads_enabled=enabled, is_default=is_default, created_at=at
        )
    except IntegrityError:
        raise ConflictError(f"there is an organization {slug!r} already") from None
    return mapping.organization(row)


async def has_default_organization() -> bool:
    return await OrganizationRow.filter(is_default=True).exists()


async def set_gpu_workloads_enabled(slug: str, *, enabled: bool) -> bool:
    return await OrganizationRow.filter(slug=slug).update(gpu_workloads_enabled=enabled) == 1


def is_storable_email(email: str) -> bool:
    """False for what the database would refuse even to look for."""
    return len(email) <= LONGEST_EMAIL and "\0" not in email


async def find_user(email: str) -> User | None:
    if not is_storable_email(email):
        return None
    row = await UserRow.get_or_none(email=email)
    return User(row.id, row.email, row.password_hash, row.disabled_at) if row else None


async def add_user(email: str, password_hash: str, at: datetime) -> User:
    """Raises ConflictError when the address is taken."""
    try:
        row = await UserRow.create(email=email, password_hash=password_hash, created_at=at)
    except IntegrityError:
        raise ConflictError(f"there is a user {email!r} already") from None
    return User(row.id, row.email, row.password_hash)


async def set_membership(organization_id: UUID, user_id: UUID, role: Role, at: datetime) -> None:
    """Give the user the role, whether or not there was another."""
    query = MembershipRow.filter(organization_id=organization_id, user_id=user_id)
    if not await query.update(role=role.value):
        await MembershipRow.create(organization_id=organization_id, user_id=user_id, role=role.value, created_at=at)


async def roles_of(user_id: UUID) -> dict[UUID, Role]:
    rows = await MembershipRow.filter(user_id=user_id).values("organization_id", "role")
    return {row["organization_id"]: Role(row["role"]) for row in rows}


async def add_project(organization_id: UUID, slug: str, name: str, at: datetime) -> Project:
    """Raises ConflictError when the organization has one of that slug."""
    try:
        row = await ProjectRow.create(organization_id=organization_id, slug=slug, name=name, created_at=at)
    except IntegrityError:
        raise ConflictError(f"there is a project {slug!r} already") from None
    return mapping.project(row)


async def projects_of(organization_id: UUID) -> list[Project]:
    return await projects_in([organization_id])


async def projects_in(organization_ids: Sequence[UUID]) -> list[Project]:
    """Of several organizations, by slug."""
    rows = ProjectRow.filter(organization_id__in=list(organization_ids)).order_by("slug")
    return [mapping.project(row) for row in await rows]


async def projects_with_quotas(organization_ids: Sequence[UUID]) -> list[Project]:
    """Of these organizations, the projects that have any."""
    has_one = Q(guaranteed_gpus__isnull=False) | Q(max_gpus__isnull=False)
    return [
        mapping.project(row) for row in await ProjectRow.filter(has_one, organization_id__in=list(organization_ids))
    ]


async def projects_by_id(ids: Sequence[UUID]) -> dict[UUID, Project]:
    return {row.id: mapping.project(row) for row in await ProjectRow.filter(id__in=list(ids))}


async def add_token(
    secret_hash: str,
    name: str,
    scopes: frozenset[Scope],
    at: datetime,
    *,
    user_id: UUID | None = None,
    organization_id: UUID | None = None,
    role: Role | None = None,
    expires_at: datetime | None = None,
) -> UUID:
    row = await TokenRow.create(
        secret_hash=secret_hash,
        name=name,
        scopes=sorted(scopes),
        created_at=at,
        user_id=user_id,
        organization_id=organization_id,
        role=role.value if role else "",
        expires_at=expires_at,
    )
    return row.id


async def revoke_token(token_id: UUID, at: datetime) -> bool:
    return await TokenRow.filter(id=token_id, revoked_at=None).update(revoked_at=at) == 1


async def principal_of_token(secret_hash: str, now: datetime) -> Principal | None:
    """Who the secret stands for at this moment; None for unknown, revoked, expired, or a disabled user's."""
    found = await _principal(secret_hash)
    return found if found and (found.expires_at is None or now < found.expires_at) else None


@shared_read
async def _principal(secret_hash: str) -> Principal | None:
    row = await TokenRow.get_or_none(secret_hash=secret_hash).select_related("user")
    if row is None or row.revoked_at is not None:
        return None
    scopes, expires_at = frozenset(Scope(s) for s in row.scopes), row.expires_at
    if row.agent_cluster:
        binding = AgentBinding(row.agent_cluster, row.agent_node)
        return Principal(f"agent {row.name}", {}, scopes, token_id=row.id, expires_at=expires_at, agent=binding)
    if row.user is None:
        roles = {row.organization_id: Role(row.role)}  # type: ignore[attr-defined]
        return Principal(f"token {row.name}", roles, scopes, token_id=row.id, expires_at=expires_at)
    if row.user.disabled_at is not None:
        return None
    email = row.user.email
    return Principal(email, await roles_of(row.user.id), scopes, row.user.id, row.id, email, expires_at)
