"""Organizations, people and projects, on both databases."""

from __future__ import annotations

import pytest

from app.domain.errors import ConflictError
from app.domain.people import Role
from app.store import people
from app.store.database import Database
from tests.clock import START
from tests.store.builders import a_user, an_organization


async def test_slug_is_taken_once(database: Database):
    made = await people.add_organization("acme", "Acme", enabled=True, is_default=True, at=START)
    assert await people.find_organization("acme") == made
    with pytest.raises(ConflictError, match="acme"):
        await people.add_organization("acme", "Other", enabled=True, is_default=False, at=START)


async def test_organizations_come_by_slug(database: Database):
    assert not await people.has_default_organization()
    zeta = await an_organization("zeta")
    acme = await an_organization("acme", is_default=False)
    assert await people.organizations() == [acme, zeta]
    assert await people.organizations_by_id([zeta.id]) == {zeta.id: zeta}
    assert await people.has_default_organization()
    assert await people.find_organization("ACME") is None


async def test_the_feature_is_switched_for_one_organization(database: Database):
    await an_organization("acme", enabled=False)
    await an_organization("other", enabled=False, is_default=False)
    assert await people.set_gpu_workloads_enabled("acme", enabled=True)
    assert {o.slug: o.gpu_workloads_enabled for o in await people.organizations()} == {"acme": True, "other": False}
    assert not await people.set_gpu_workloads_enabled("nobody", enabled=True)


async def test_an_address_is_taken_once(database: Database):
    user = await people.add_user("ada@example.org", "hash", START)
    assert await people.find_user("ada@example.org") == user
    assert await people.find_user("bob@example.org") is None
    with pytest.raises(ConflictError, match=r"ada@example\.org"):
        await people.add_user("ada@example.org", "other", START)


async def test_a_person_has_one_role_in_an_organization(database: Database):
    organization = await an_organization()
    user_id = await a_user("ada@example.org", organization, Role.VIEWER)
    await people.set_membership(organization.id, user_id, Role.OWNER, START)
    assert await people.roles_of(user_id) == {organization.id: Role.OWNER}


async def test_a_projects_slug_is_taken_once_within_an_organization(database: Database):
    acme, other = await an_organization(), await an_organization("other", is_default=False)
    vision = await people.add_project(acme.id, "vision", "Vision", START)
    audio = await people.add_project(acme.id, "audio", "Audio", START)
    theirs = await people.add_project(other.id, "vision", "Vision", START)
    assert await people.projects_of(acme.id) == [audio, vision]
    assert await people.projects_by_id([vision.id, theirs.id]) == {vision.id: vision, theirs.id: theirs}
    with pytest.raises(ConflictError, match="vision"):
        await people.add_project(acme.id, "vision", "Again", START)
