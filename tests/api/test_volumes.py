"""Volumes of an organization: who sees them, what of them, and what a mount of another one's is worth."""

from __future__ import annotations

import json

import pytest

from tests.api.world import Api, last_audit, written

VOLUMES = 'query($slug: String! = "acme") { organization(slug: $slug) { volumes { name kind readOnly } } }'


async def test_volumes_come_by_name_without_where_they_lie(api: Api):
    answer = await api.data(VOLUMES)
    assert answer["organization"]["volumes"] == [
        {"name": "data", "kind": "HOST_PATH", "readOnly": False},
        {"name": "models", "kind": "PVC", "readOnly": True},
        {"name": "shared", "kind": "NFS", "readOnly": False},
    ]
    introspection = await api.data('{ __type(name: "Volume") { fields { name } } }')
    assert [field["name"] for field in introspection["__type"]["fields"]] == ["name", "kind", "readOnly"]


@pytest.mark.parametrize("who", ["member", "viewer", "manager"])
async def test_volumes_are_for_those_who_use_workloads(api: Api, who: str):
    assert (await api.refusal(VOLUMES, {}, who=who))["code"] == "FORBIDDEN"


async def test_a_mount_of_a_volume_that_there_is_not_is_refused_and_writes_nothing_else(api: Api):
    mounts = [{"name": "data", "path": "/data"}, {"name": "theirs", "path": "/theirs"}]
    refusal = await api.refuse_submit(mounts=mounts)
    assert refusal["code"] == "BAD_USER_INPUT"
    [problem] = refusal["fields"]
    assert problem == {
        "field": "mounts[1].name",
        "message": "there is no volume 'theirs' in acme; there are data, models, shared",
    }
    assert "secret" not in json.dumps(refusal)
    assert await written() == {"workloads": 0, "attempts": 0, "events": 0, "audit": 1}
    assert (await last_audit())["outcome"] == "BAD_USER_INPUT"


async def test_a_volume_of_another_organization_is_not_there(api: Api):
    refusal = await api.refuse_submit(who="stranger", organization="other", mounts=[{"name": "data", "path": "/data"}])
    assert [problem["field"] for problem in refusal["fields"]] == ["mounts[0].name"]
    assert "there is no volume 'data' in other; there are none" in refusal["fields"][0]["message"]
