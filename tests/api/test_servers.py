"""Servers over the API: what is told of them, and cordoning them."""

from __future__ import annotations

from typing import Any

import pytest

from app.cluster.port import Kind
from app.commands import administer
from app.store import servers
from tests.api.talk import acknowledged, hear, say, subscribe
from tests.api.world import Api, last_audit, written
from tests.clock import START
from tests.placement.builders import node

FIELDS = "id name usable unusableReason cordoned cordonReason cordonedBy cordonedAt version"
CORDON = f"mutation($input: CordonServerInput!) {{ cordonServer(input: $input) {{ server {{ {FIELDS} }} }} }}"
UNCORDON = f"mutation($input: UncordonServerInput!) {{ uncordonServer(input: $input) {{ server {{ {FIELDS} }} }} }}"
SERVERS = f"query($org: String!) {{ organization(slug: $org) {{ servers {{ {FIELDS} }} }} }}"
FOLLOW = 'subscription { servers(organization: "acme") { name usable unusableReason cordonReason } }'


def see(api: Api, *names: str) -> None:
    """The cluster shows these nodes."""
    api.projection.replace(Kind.NODES, [node(name) for name in names])


async def listed(api: Api, slug: str = "acme", who: str = "admin") -> dict[str, dict[str, Any]]:
    found = (await api.data(SERVERS, {"org": slug}, who=who))["organization"]["servers"]
    return {it["name"]: it for it in found}


async def cordon(api: Api, server: dict[str, Any], *, who: str = "admin", **more: Any) -> dict[str, Any]:
    answer = await api.data(CORDON, {"input": {"id": server["id"], **more}}, who=who)
    found: dict[str, Any] = answer["cordonServer"]["server"]
    return found


async def test_a_cordon_is_told_with_who_when_and_why(api: Api):
    see(api, "gpu-1", "gpu-2")
    before = (await listed(api))["gpu-1"]
    assert (before["usable"], before["cordoned"], before["version"]) == (True, False, 1)
    after = await cordon(api, before, reason="fan noise", version=1)
    assert after == (await listed(api))["gpu-1"]
    words = "cordoned by admin@example.org: fan noise"
    assert (after["usable"], after["unusableReason"], after["cordonReason"]) == (False, words, "fan noise")
    assert (after["cordoned"], after["cordonedBy"], after["version"]) == (True, "admin@example.org", 2)
    assert after["cordonedAt"] == START.isoformat()
    audit = await last_audit()
    assert (audit["action"], audit["target"], audit["outcome"]) == ("cordon_server", before["id"], "done")
    answer = await api.data(UNCORDON, {"input": {"id": before["id"], "version": 2}})
    assert answer["uncordonServer"]["server"] == {**before, "version": 3}


async def test_a_cordon_needs_no_reason_and_may_be_repeated(api: Api):
    see(api, "gpu-1")
    server = (await listed(api))["gpu-1"]
    first = await cordon(api, server)
    assert (first["cordonReason"], first["unusableReason"]) == (None, "cordoned by admin@example.org")
    assert await cordon(api, server, reason="", version=1, who="owner") == first


async def test_of_two_editors_the_slower_one_is_told(api: Api):
    server = (await listed(api))["gpu-1"]
    await cordon(api, server, reason="fans", version=1)
    before = await written()
    error = await api.refusal(CORDON, {"input": {"id": server["id"], "reason": "disk", "version": 1}}, who="owner")
    assert (error["code"], "cordoned by admin@example.org: fans" in error["message"]) == ("CONFLICT", True)
    assert await written() == {**before, "audit": before["audit"] + 1}


async def test_a_reason_that_is_too_long_is_refused(api: Api):
    server = (await listed(api))["gpu-1"]
    error = await api.refusal(CORDON, {"input": {"id": server["id"], "reason": "x" * 201}})
    assert (error["code"], error["fields"][0]["field"]) == ("BAD_USER_INPUT", "reason")


@pytest.mark.parametrize("document", [CORDON, UNCORDON])
async def test_a_server_of_another_organization_looks_as_if_there_were_none(api: Api, document: str):
    theirs = next(it for it in await servers.all_servers() if it.organization_slug == "other")
    errors = [
        await api.refusal(document, {"input": {"id": id_}}) for id_ in (str(theirs.id), str(api.projects["vision"].id))
    ]
    assert [error["code"] for error in errors] == ["NOT_FOUND", "NOT_FOUND"]
    assert "that you may see" in errors[0]["message"]


async def test_an_assigned_server_changes_hands_at_once(api: Api):
    await cordon(api, (await listed(api))["gpu-1"], reason="secret")
    await administer.assign_server("gpu-1", "other", START)
    assert list(await listed(api)) == ["gpu-2"]
    passed_on = (await listed(api, "other", "stranger"))["gpu-1"]
    assert (passed_on["cordoned"], passed_on["cordonedBy"], passed_on["cordonReason"]) == (True, None, None)
    error = await api.refuse_submit(gpuCount=8)
    assert "the largest server on record, gpu-2, has 2" in error["message"]
    assert (await api.refusal(UNCORDON, {"input": {"id": passed_on["id"]}}))["code"] == "NOT_FOUND"
    await api.data(UNCORDON, {"input": {"id": passed_on["id"]}}, who="stranger")


async def test_a_cordon_and_an_assignment_are_told_live(api: Api, ws_url: str):
    see(api, "gpu-1", "gpu-2")
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(FOLLOW))
        first = (await hear(opened))["payload"]["data"]["servers"]
        assert [it["usable"] for it in first] == [True, True]
        await cordon(api, (await listed(api))["gpu-1"], reason="fans")
        then = (await hear(opened))["payload"]["data"]["servers"]
        assert [(it["usable"], it["cordonReason"]) for it in then] == [(False, "fans"), (True, None)]
        await administer.assign_server("gpu-1", "other", START)
        assert [it["name"] for it in (await hear(opened))["payload"]["data"]["servers"]] == ["gpu-2"]
