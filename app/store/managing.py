"""What owners manage: members, tokens and projects of their organization."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from tortoise.expressions import F

from app.domain.errors import ConflictError
from app.domain.people import Member, Project, Role, Scope, Token
from app.domain.quota import Quota
from app.store import mapping
from app.store.connection import transaction
from app.store.models import MembershipRow, OrganizationRow, ProjectRow, TokenRow
from app.store.people import is_storable_email
from app.store.unfinished import to_its_end


async def members_of(organization_id: UUID) -> list[Member]:
    """By address."""
    return (await members_in([organization_id])).get(organization_id, [])


async def members_in(organization_ids: Collection[UUID]) -> dict[UUID, list[Member]]:
    """By organization, each one's by address."""
    rows = MembershipRow.filter(organization_id__in=list(organization_ids)).select_related("user")
    found: dict[UUID, list[Member]] = defaultdict(list)
    for row in await rows.order_by("user__email"):
        member = Member(row.user.id, row.user.email, Role(row.role), row.created_at)
        found[row.organization_id].append(member)  # type: ignore[attr-defined]
    return found


async def find_member(organization_ids: Collection[UUID], email: str) -> UUID | None:
    """The id of the person of that address, if one of these organizations has them."""
    if not is_storable_email(email):
        return None
    row = await MembershipRow.filter(organization_id__in=list(organization_ids), user__email=email).first()
    return row.user_id if row else None  # type: ignore[attr-defined]


async def change_member(organization_id: UUID, user_id: UUID, role: Role | None, at: datetime) -> bool:
    """Give the user the role, or none; False where there was none to take. Raises ConflictError for the last owner."""
    return await to_its_end(_change_member(organization_id, user_id, role, at))


async def _change_member(organization_id: UUID, user_id: UUID, role: Role | None, at: datetime) -> bool:
    async with transaction() as connection:
        # The organization's row is locked: two owners who remove each other do so one after the other.
        row = OrganizationRow.filter(id=organization_id).using_db(connection)
        await row.update(event_sequence=F("event_sequence"))
        members = MembershipRow.filter(organization_id=organization_id).using_db(connection)
        owners = await members.filter(role=Role.OWNER.value).values_list("user_id", flat=True)
        if role is not Role.OWNER and [UUID(str(owner)) for owner in owners] == [user_id]:
            raise ConflictError("the last owner of an organization stays its owner; make somebody else one first")
        mine = members.filter(user_id=user_id)
        if role is None:
            return await mine.delete() == 1
        if not await mine.update(role=role.value):
            values = {"organization_id": organization_id, "user_id": user_id, "role": role.value, "created_at": at}
            await MembershipRow.create(**values, using_db=connection)
        return True


async def tokens_in(organization_ids: Collection[UUID]) -> dict[UUID, list[Token]]:
    """Service tokens by organization, each one's the newest first; revoked ones too."""
    found: dict[UUID, list[Token]] = defaultdict(list)
    rows = TokenRow.filter(organization_id__in=list(organization_ids), user_id=None)
    for row in await rows.order_by("-created_at", "id"):
        found[row.organization_id].append(_token(row))  # type: ignore[attr-defined]
    return found


async def tokens_of_user(user_id: UUID) -> list[Token]:
    """The newest first; revoked ones too."""
    return [_token(row) for row in await TokenRow.filter(user_id=user_id).order_by("-created_at", "id")]


async def token_owner(token_id: UUID) -> tuple[UUID | None, UUID | None] | None:
    """Of the token: the user's id, or the organization's; None where there is no such token."""
    row = await TokenRow.get_or_none(id=token_id)
    return (row.user_id, row.organization_id) if row else None  # type: ignore[attr-defined]


def _token(row: TokenRow) -> Token:
    return Token(
        row.id,
        row.name,
        Role(row.role) if row.role else None,
        frozenset(Scope(scope) for scope in row.scopes),
        row.created_at,
        row.expires_at,
        row.revoked_at,
    )


async def rename_project(project_id: UUID, name: str, version: int) -> Project | None:
    """The project as it is then; None where it is no longer at that version."""
    return await _change_project(project_id, version, name=name)


async def set_quota(project_id: UUID, quota: Quota, version: int) -> Project | None:
    """The same, with another quota."""
    return await _change_project(project_id, version, guaranteed_gpus=quota.guaranteed, max_gpus=quota.maximum)


async def _change_project(project_id: UUID, version: int, **values: object) -> Project | None:
    changed = await ProjectRow.filter(id=project_id, version=version).update(**values, version=version + 1)
    return mapping.project(await ProjectRow.get(id=project_id)) if changed else None
