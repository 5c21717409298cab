"""Projects, members and tokens, managed over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from app.domain.people import Role
from app.store import people
from tests.api.world import Api, last_audit, secret, written
from tests.clock import START

CREATE_PROJECT = (
    "mutation($input: CreateProjectInput!) { createProject(input: $input) { project { id slug name version } } }"
)
RENAME = "mutation($input: RenameProjectInput!) { renameProject(input: $input) { project { name version } } }"
SET = "mutation($input: SetMemberInput!) { setMember(input: $input) { members { email role } } }"
REMOVE = "mutation($input: RemoveMemberInput!) { removeMember(input: $input) { members { email role } } }"
CREATE_TOKEN = "mutation($input: CreateTokenInput!) { createToken(input: $input) { id token } }"
REVOKE = "mutation($input: RevokeTokenInput!) { revokeToken(input: $input) { id } }"
MEMBERS = '{ organization(slug: "acme") { members { email role } } }'
TOKENS = '{ organization(slug: "acme") { tokens { id name role scopes expiresAt revokedAt } } }'
OWN_TOKENS = "{ viewer { tokens { id name scopes expiresAt } } }"


async def refused(api: Api, query: str, who: str, **wanted: Any) -> dict[str, Any]:
    """A refusal, which wrote nothing but its audit row."""
    before = await written()
    error = await api.refusal(query, {"input": wanted}, who=who)
    assert await written() == {**before, "audit": before["audit"] + 1}
    return error


async def done(api: Api, query: str, who: str = "owner", **wanted: Any) -> Any:
    """The answer's one value; what was done is in the audit trail."""
    answer = await api.data(query, {"input": wanted}, who=who)
    assert (await last_audit())["outcome"] == "done"
    return next(iter(answer.values()))


async def test_a_project_is_created_and_renamed(api: Api):
    project = (await done(api, CREATE_PROJECT, "admin", organization="acme", slug="speech", name="Speech"))["project"]
    assert (project["slug"], project["name"], project["version"]) == ("speech", "Speech", 1)
    renamed = (await done(api, RENAME, id=project["id"], name="Speech and text", version=1))["project"]
    assert renamed == {"name": "Speech and text", "version": 2}


async def test_who_renames_what_somebody_else_renamed_is_told(api: Api):
    project_id = str(api.projects["vision"].id)
    await done(api, RENAME, id=project_id, name="Seeing", version=1)
    error = await refused(api, RENAME, "admin", id=project_id, name="Sight", version=1)
    assert error["code"] == "CONFLICT"
    assert "since version 1" in error["message"]


@pytest.mark.parametrize(
    ("wanted", "code", "field"),
    [
        ({"slug": "vision"}, "CONFLICT", None),
        ({"slug": "Vi sion"}, "BAD_USER_INPUT", "slug"),
        ({"slug": "fine", "name": "x" * 201}, "BAD_USER_INPUT", "name"),
        ({"slug": "fine", "organization": "other"}, "NOT_FOUND", None),
    ],
)
async def test_a_project_that_cannot_be(api: Api, wanted: dict[str, Any], code: str, field: str | None):
    error = await refused(api, CREATE_PROJECT, "owner", **{"organization": "acme", **wanted})
    assert error["code"] == code
    assert field is None or error["fields"][0]["field"] == field


async def test_a_strangers_project_is_none(api: Api):
    error = await refused(api, RENAME, "owner", id=str(api.projects["theirs"].id), name="x", version=1)
    assert error["code"] == "NOT_FOUND"


async def test_members_get_and_lose_their_role(api: Api):
    members = (await done(api, SET, organization="acme", email="Viewer@example.org ", role="ADMIN"))["members"]
    assert {"email": "viewer@example.org", "role": "ADMIN"} in members
    assert (await api.data(MEMBERS, who="owner"))["organization"]["members"] == members
    left = (await done(api, REMOVE, organization="acme", email="viewer@example.org"))["members"]
    assert [m for m in members if m["email"] != "viewer@example.org"] == left
    error = await refused(api, REMOVE, "owner", organization="acme", email="viewer@example.org")
    assert error["code"] == "NOT_FOUND"


async def test_the_last_owner_stays(api: Api):
    for query, more in ((SET, {"role": "MEMBER"}), (REMOVE, {})):
        error = await refused(api, query, "owner", organization="acme", email="owner@example.org", **more)
        assert (error["code"], "make somebody else one first" in error["message"]) == ("CONFLICT", True)
    await done(api, SET, organization="acme", email="admin@example.org", role="OWNER")
    await done(api, SET, organization="acme", email="owner@example.org", role="MEMBER")


@pytest.mark.parametrize("email", ["nobody@example.org", "x" * 255, "a\0b"])
async def test_nobody_unknown_becomes_a_member(api: Api, email: str):
    error = await refused(api, SET, "owner", organization="acme", email=email, role="ADMIN")
    assert (error["code"], "an operator creates people" in error["message"]) == ("NOT_FOUND", True)


async def test_whether_a_stranger_is_on_record_is_not_told(api: Api):
    """Nor that of an organization in which the owner is something less."""
    theirs, owner = await people.add_user("theirs@example.org", "", START), await people.find_user("owner@example.org")
    assert owner
    for user, role in ((theirs, Role.MEMBER), (owner, Role.ADMIN)):
        await people.set_membership(api.organizations["other"].id, user.id, role, START)
    for query, more in ((SET, {"role": "ADMIN"}), (REMOVE, {})):
        said = []
        for email in ("theirs@example.org", "nobody@example.org"):
            error = await refused(api, query, "owner", organization="acme", email=email, **more)
            said.append((error["code"], error["message"].replace(email, "")))
        assert said[0] == said[1]


async def test_whoever_is_in_another_organization_of_the_same_owner_may_be_added(api: Api):
    user = await people.add_user("colleague@example.org", "", START)
    await people.set_membership(api.organizations["empty"].id, user.id, Role.MEMBER, START)
    members = (await done(api, SET, organization="acme", email=user.email, role="ADMIN"))["members"]
    assert {"email": user.email, "role": "ADMIN"} in members


async def name_of(api: Api, token: str) -> Any:
    async with api.client(None, authorization=f"Bearer {token}") as client:
        answer = (await client.post("/graphql", json={"query": "{ viewer { name scopes } }"})).json()
    return answer["data"]["viewer"] if "errors" not in answer else answer["errors"][0]["extensions"]["code"]


async def test_a_service_token_works_until_it_is_revoked(api: Api):
    made = await done(
        api, CREATE_TOKEN, name="ci", organization="acme", role="ADMIN", scopes=["WORKLOADS_WRITE"], expiresInDays=30
    )
    assert await name_of(api, made["token"]) == {"name": "token ci", "scopes": ["WORKLOADS_WRITE"]}
    [listed] = [t for t in (await api.data(TOKENS, who="owner"))["organization"]["tokens"] if t["id"] == made["id"]]
    assert (listed["role"], listed["revokedAt"]) == ("ADMIN", None)
    assert listed["expiresAt"] == (api.clock.now() + timedelta(days=30)).isoformat()
    assert made["token"] not in str(listed)
    await done(api, REVOKE, id=made["id"])
    assert await name_of(api, made["token"]) == "UNAUTHENTICATED"
    await done(api, REVOKE, id=made["id"])


async def test_a_person_makes_and_revokes_tokens_of_their_own(api: Api):
    made = await done(api, CREATE_TOKEN, "member", name="mine", scopes=["WORKLOADS_READ"])
    assert await name_of(api, made["token"]) == {"name": "member@example.org", "scopes": ["WORKLOADS_READ"]}
    assert "mine" in [t["name"] for t in (await api.data(OWN_TOKENS, who="member"))["viewer"]["tokens"]]
    error = await refused(api, REVOKE, "admin", id=made["id"])
    assert error["code"] == "NOT_FOUND"
    await done(api, REVOKE, "member", id=made["id"])
    assert await name_of(api, made["token"]) == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("who", "wanted", "code"),
    [
        ("reader", {"name": "x"}, "FORBIDDEN"),
        ("manager", {"name": "x", "scopes": ["WORKLOADS_WRITE"]}, "FORBIDDEN"),
        ("service", {"name": "x"}, "FORBIDDEN"),
        ("admin", {"name": "x", "organization": "acme"}, "FORBIDDEN"),
        ("owner", {"name": " ", "organization": "acme"}, "BAD_USER_INPUT"),
        ("owner", {"name": "x", "organization": "acme", "expiresInDays": 0}, "BAD_USER_INPUT"),
        ("owner", {"name": "x", "organization": "other"}, "NOT_FOUND"),
    ],
)
async def test_no_token_is_made_that_can_do_more_than_its_maker(api: Api, who: str, wanted: dict[str, Any], code: str):
    assert (await refused(api, CREATE_TOKEN, who, **wanted))["code"] == code


async def test_no_token_lives_longer_than_its_maker(api: Api):
    brief = await done(api, CREATE_TOKEN, "owner", name="brief", expiresInDays=2)
    headers = {"authorization": f"Bearer {brief['token']}"}
    async with api.client(None, **headers) as client:
        for days, code in ((None, None), (1, None), (3, "FORBIDDEN")):
            wanted = {"input": {"name": f"for {days} days", "expiresInDays": days}}
            answer = (await client.post("/graphql", json={"query": CREATE_TOKEN, "variables": wanted})).json()
            assert [error["extensions"]["code"] for error in answer.get("errors", ())] == ([code] if code else [])
    made = {t["name"]: t["expiresAt"] for t in (await api.data(OWN_TOKENS, who="owner"))["viewer"]["tokens"]}
    assert made["for None days"] == made["brief"]
    assert made["for 1 days"] < made["brief"]


async def test_a_token_can_revoke_itself_and_no_other(api: Api):
    error = await refused(api, REVOKE, "reader", id=str(api.token_ids["admin"]))
    assert (error["code"], "it can revoke only itself" in error["message"]) == ("FORBIDDEN", True)
    await done(api, REVOKE, "reader", id=str(api.token_ids["reader"]))
    assert await name_of(api, secret("reader")) == "UNAUTHENTICATED"
    assert (await refused(api, REVOKE, "owner", id=str(UUID(int=9))))["code"] == "NOT_FOUND"
