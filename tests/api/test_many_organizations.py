"""A caller with many organizations: their lists cost as much as one organization's, their pages are weighed."""

from __future__ import annotations

import pytest

from app.auth.secrets import hash_token
from app.domain.people import ALL_SCOPES, Role
from app.domain.volumes import Volume, VolumeKind
from app.store import mapping, people, servers, volumes
from app.store.models import WorkloadRow
from tests.api.test_costs import LISTS, leaves
from tests.api.test_reading import statements
from tests.api.world import Api, secret
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import a_new_workload

OF_ALL = "{ viewer { organizations { slug %s } } }"
PAGES = "workloads(first: %d) { edges { node { id } } }"


@pytest.fixture
async def owner_of_many(api: Api) -> str:
    """The name of a token whose person owns thirty organizations, each with one of everything."""
    user = await people.add_user("many@example.org", "", START)
    await people.add_token(hash_token(secret("many")), "many", ALL_SCOPES, START, user_id=user.id)
    for number in range(30):
        added = await people.add_organization(f"one{number}", "", enabled=True, is_default=False, at=START)
        await people.set_membership(added.id, user.id, Role.OWNER, START)
        await people.add_project(added.id, f"project{number}", "", START)
        scopes, role = frozenset(ALL_SCOPES), Role.ADMIN
        await people.add_token(f"{number}", f"token{number}", scopes, START, organization_id=added.id, role=role)
        await volumes.add_volume(Volume(added.id, f"volume{number}", VolumeKind.PVC, "claim"), START)
        await WorkloadRow.create(**mapping.workload_values(a_new_workload(added)))
    await servers.record_nodes("west", [(node(f"gpu-{n}", 8), f"one{n}") for n in range(30)], START)
    return "many"


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_of_all_organizations_takes_one_statement(api: Api, owner_of_many: str, name: str):
    with statements() as sent:
        answer = await api.data(OF_ALL % f"{name} {{ {leaves(LISTS[name])} }}", who=owner_of_many)
    of_each = {one["slug"]: one[name] for one in answer["viewer"]["organizations"]}
    assert len(of_each) == 30
    assert all(len(entries) == 1 for entries in of_each.values())
    told = {entry.get("name") or entry.get("slug") for entries in of_each.values() for entry in entries}
    assert len(told) == (1 if name == "members" else 30)  # each one's own
    assert len(sent) <= 6  # the token, its roles, the organizations, whether they have servers, the list, agents


async def test_whether_there_are_servers_is_asked_once_for_all_that_needs_them(api: Api, owner_of_many: str):
    inside = " ".join(f"{name} {{ {leaves(kind)} }}" for name, kind in LISTS.items() if name in {"servers", "volumes"})
    with statements() as sent:
        await api.data(OF_ALL % f"{inside} {PAGES % 1}", who=owner_of_many)
    assert len(sent) == 4 + 3 + 30  # a page is read for each


async def test_pages_weigh_as_many_times_as_the_caller_has_organizations(api: Api, owner_of_many: str):
    error = await api.refusal(OF_ALL % (PAGES % 500), who=owner_of_many)
    page = 6 + 500 * (5 + 5 + 1 + 1)
    assert f"the request weighs {1 + 5 + 1 + 30 * (5 + 1 + page)}, " in error["message"]
