"""The servers' page: who sees and presses the cordon button, with htmx and without."""

from __future__ import annotations

from uuid import UUID

import pytest

from app.cluster.port import Kind
from app.store import servers
from app.store.models import AuditRow
from app.store.servers import ServerRecord
from tests.panel.world import HTMX, Browser, Page, Panel, location
from tests.placement.builders import node

SERVERS = "/orgs/acme/platform/servers"


async def the_server(name: str = "gpu-1") -> ServerRecord:
    return next(it for it in await servers.all_servers() if it.name == name)


def at(server: ServerRecord | UUID, verb: str = "cordon") -> str:
    return f"{SERVERS}/{server.id if isinstance(server, ServerRecord) else server}/{verb}"


def see(panel: Panel) -> None:
    panel.background.clusters[0].projection.replace(Kind.NODES, [node("gpu-1", 8), node("gpu-2", 2)])


async def page_of(browser: Browser) -> Page:
    return Page.of((await browser.get(SERVERS)).text)


async def test_without_htmx_it_leads_back_to_the_page_that_says_it(panel: Panel):
    see(panel)
    server = await the_server()
    async with panel.browser() as browser:
        assert "10 of 10 GPUs free; 2 of 2 servers" in (await page_of(browser)).text
        where = location(await browser.post(at(server), {"reason": "fan noise", "version": "1"}))
        page = await page_of(browser)
        assert where == SERVERS
        assert "cordoned by admin@example.org: fan noise" in page.text
        assert "2 of 10 GPUs free; 1 of 2 servers" in page.text
        assert [a["id"] for a in page.all("button") if "id" in a] == [f"uncordon-{server.id}"]
        assert location(await browser.post(at(server, "uncordon"), {"version": "2"})) == SERVERS
    assert (await the_server()).cordon is None


async def test_with_htmx_the_table_comes_back(panel: Panel):
    server = await the_server()
    async with panel.browser() as browser:
        answer = await browser.post(at(server), {"reason": "", "version": "1"}, **HTMX)
    assert (answer.status_code, answer.text.lstrip()[:18]) == (200, '<div id="servers" ')
    assert "cordoned by admin@example.org" in Page.of(answer.text).text


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
async def test_who_saw_an_older_state_is_told(panel: Panel, headers: dict[str, str]):
    server = await the_server()
    async with panel.browser("owner") as other:
        await other.post(at(server), {"reason": "fans"})
    async with panel.browser() as browser:
        answer = await browser.post(at(server), {"reason": "disk", "version": "1"}, **headers)
    assert answer.status_code == 409
    assert "Somebody changed the server since version 1" in Page.of(answer.text).text
    assert (await the_server()).cordon == (await the_server()).flags.cordon
    assert "cordoned by owner@example.org: fans" in answer.text


async def test_a_reason_that_is_too_long_is_told(panel: Panel):
    async with panel.browser() as browser:
        answer = await browser.post(at(await the_server()), {"reason": "x" * 201})
    assert (answer.status_code, "must have at most 200" in answer.text) == (422, True)
    assert (await the_server()).cordon is None


@pytest.mark.parametrize("who", ["member", "viewer"])
async def test_others_may_not(panel: Panel, who: str):
    async with panel.browser(who) as browser:
        for verb in ("cordon", "uncordon"):
            assert "reason=owner_or_admin_only" in location(await browser.post(at(await the_server(), verb)))
    assert await AuditRow.filter(outcome="FORBIDDEN").count() == 2
    assert await servers.flagged() == {}


async def test_a_server_of_another_organization_is_not_found(panel: Panel):
    async with panel.browser() as browser:
        for server in (await the_server("gpu-9"), UUID(int=3)):
            assert (await browser.post(at(server))).status_code == 404
    assert await servers.flagged() == {}


async def test_a_form_without_its_token_is_refused(panel: Panel):
    async with panel.browser() as browser:
        answer = await browser.post(at(await the_server()), token="0" * 64)
        assert answer.status_code == 403
        assert (await browser.get(at(await the_server()))).status_code == 405
    assert await servers.flagged() == {}
