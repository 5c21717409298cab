"""Who a token stands for, at this very moment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.domain.people import ALL_SCOPES, Role, Scope
from app.store import people
from app.store.database import Database
from app.store.models import UserRow
from tests.clock import START
from tests.store.builders import a_user, an_organization

SECRET = "5" * 64
SCOPES = frozenset({Scope.WORKLOADS_READ})


async def a_persons_token(role: Role = Role.ADMIN, **changes: Any) -> tuple[Any, Any, Any]:
    """The organization, the user's id and the token's id."""
    organization = await an_organization()
    user_id = await a_user("ada@example.org", organization, role)
    token_id = await people.add_token(SECRET, "laptop", SCOPES, START, user_id=user_id, **changes)
    return organization, user_id, token_id


async def test_a_persons_token_stands_for_the_person_within_its_scopes(database: Database):
    organization, user_id, token_id = await a_persons_token()
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert (principal.name, principal.email) == ("ada@example.org", "ada@example.org")
    assert (principal.user_id, principal.token_id) == (user_id, token_id)
    assert principal.roles == {organization.id: Role.ADMIN}
    assert principal.scopes == SCOPES


async def test_a_service_token_has_a_role_of_its_own(database: Database):
    organization = await an_organization()
    token_id = await people.add_token(SECRET, "ci", ALL_SCOPES, START, organization_id=organization.id, role=Role.OWNER)
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert (principal.name, principal.email, principal.user_id) == ("token ci", "", None)
    assert (principal.roles, principal.scopes) == ({organization.id: Role.OWNER}, ALL_SCOPES)
    assert principal.token_id == token_id


async def test_an_unknown_secret_stands_for_nobody(database: Database):
    await a_persons_token()
    assert await people.principal_of_token("6" * 64, START) is None
    assert await people.principal_of_token("", START) is None


@pytest.mark.parametrize(("seconds", "holds"), [(-1, True), (0, False), (1, False)])
async def test_a_token_ends_at_its_time(database: Database, seconds: int, holds: bool):
    await a_persons_token(expires_at=START + timedelta(hours=1))
    now = START + timedelta(hours=1, seconds=seconds)
    assert (await people.principal_of_token(SECRET, now) is not None) is holds


async def test_a_token_can_be_revoked_once(database: Database):
    _, _, token_id = await a_persons_token()
    assert await people.revoke_token(token_id, START)
    assert await people.principal_of_token(SECRET, START) is None
    assert not await people.revoke_token(token_id, START + timedelta(days=1))


async def test_a_disabled_persons_token_stands_for_nobody(database: Database):
    _, user_id, _ = await a_persons_token()
    await UserRow.filter(id=user_id).update(disabled_at=START)
    assert await people.principal_of_token(SECRET, START) is None


async def test_a_change_of_role_takes_effect_at_once(database: Database):
    organization, user_id, _ = await a_persons_token(Role.OWNER)
    await people.set_membership(organization.id, user_id, Role.VIEWER, START)
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert principal.roles == {organization.id: Role.VIEWER}


async def test_a_person_has_a_role_in_each_organization(database: Database):
    acme, user_id, _ = await a_persons_token(Role.OWNER)
    other = await an_organization("other", is_default=False)
    await people.set_membership(other.id, user_id, Role.MEMBER, START)
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert principal.roles == {acme.id: Role.OWNER, other.id: Role.MEMBER}


async def test_a_person_in_no_organization_is_known_and_may_nothing(database: Database):
    user = await people.add_user("bob@example.org", "hash", START)
    await people.add_token(SECRET, "t", SCOPES, START, user_id=user.id)
    principal = await people.principal_of_token(SECRET, START)
    assert principal is not None
    assert principal.roles == {}
