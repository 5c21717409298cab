"""The cancel button: in the list and on the workload's page, with htmx and without."""

from __future__ import annotations

import pytest

from app.domain.states import Status
from tests.panel.world import HTMX, LIST, Page, Panel, location, row_ids, stored


@pytest.mark.parametrize(("origin", "led_to"), [("list", LIST), ("workload", None)])
async def test_without_htmx_it_leads_back(panel: Panel, origin: str, led_to: str | None):
    workload = await panel.workload()
    async with panel.browser() as browser:
        where = location(await browser.post(f"{LIST}/{workload.id}/cancel", {"from": origin}))
    assert where == (led_to or f"{LIST}/{workload.id}")
    after = await stored(workload.id)
    assert (after.status, after.cancelled_by) == (Status.CANCELLED, "admin@example.org")


async def test_the_row_comes_back_alone(panel: Panel):
    workload = await panel.running(await panel.workload())
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{workload.id}/cancel", {"from": "list"}, **HTMX)
    assert answer.text.lstrip().startswith("<tr")
    assert row_ids(answer.text) == [str(workload.id)]
    assert "cancelling" in answer.text
    assert "<button" not in answer.text
    assert (await stored(workload.id)).cancel_requested_at is not None


async def test_the_page_of_the_workload_gets_its_part(panel: Panel):
    workload = await panel.workload()
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{workload.id}/cancel", {"from": "workload"}, **HTMX)
    assert answer.text.lstrip().startswith('<div id="workload">')
    assert "cancelled by admin@example.org" in answer.text


@pytest.mark.parametrize("origin", ["list", "workload"])
async def test_what_has_ended_is_said_to_have_ended(panel: Panel, origin: str):
    workload = await panel.ended(await panel.running(await panel.workload()), 3)
    path = f"{LIST}/{workload.id}/cancel"
    async with panel.browser() as browser:
        answer = await browser.post(path, {"from": origin}, **HTMX)
        assert "has ended already: completed" in Page.of(answer.text).text
        where = location(await browser.post(path, {"from": origin}))
        assert where == f"{LIST}/{workload.id}?notice=ended"
        assert "had ended before" in (await browser.get(where)).text
    assert (await stored(workload.id)).status is Status.COMPLETED


async def test_every_live_row_has_a_button_and_no_other(panel: Panel):
    live = [await panel.workload(), await panel.running(await panel.workload())]
    await panel.ended(await panel.running(await panel.workload()))
    async with panel.browser() as browser:
        page = Page.of((await browser.get(LIST)).text)
    buttons = {a["id"] for a in page.all("button") if a.get("id", "").startswith("cancel-")}
    assert buttons == {f"cancel-{w.id}" for w in live}
    assert {a["action"] for a in page.all("form") if "hx-post" in a and a["action"] != LIST} == {
        f"{LIST}/{w.id}/cancel" for w in live
    }


@pytest.mark.parametrize("who", ["member", "viewer"])
async def test_others_may_not(panel: Panel, who: str):
    workload = await panel.workload()
    async with panel.browser(who) as browser:
        assert "reason=owner_or_admin_only" in location(await browser.post(f"{LIST}/{workload.id}/cancel"))
    assert (await stored(workload.id)).cancel_requested_at is None
