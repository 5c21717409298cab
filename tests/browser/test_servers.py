"""Somebody cordons a server and lifts it again, on the page that keeps coming anew."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, StorageState, expect

from tests.browser.conftest import Meet
from tests.browser.test_every_page import must_be_good

pytestmark = pytest.mark.asyncio(loop_scope="session")

SERVERS = "/orgs/demo/platform/servers"
REASON = "fan noise, back on Thursday"


async def comes_anew(page: Page) -> None:
    """As it does every ten seconds."""
    await page.evaluate(f"htmx.ajax('GET', '{SERVERS}', {{target: '#servers', swap: 'outerMorph'}})")


async def test_a_reason_is_kept_while_the_table_comes_anew(meet: Meet, owners_cookies: StorageState):
    person = await meet(cookies=owners_cookies)
    page = person.page
    await person.open(SERVERS)
    row = page.get_by_role("row").filter(has_text="gpu-4")
    await row.locator("summary").click()
    await row.get_by_label("Reason").fill(REASON)
    await comes_anew(page)
    await expect(row.get_by_label("Reason")).to_have_value(REASON)
    await must_be_good(page)
    await row.get_by_role("button", name="Cordon gpu-4").click()
    await expect(row).to_contain_text(f"cordoned by owner@example.org: {REASON}")
    await comes_anew(page)
    await row.get_by_role("button", name="Uncordon gpu-4").click()
    await expect(row.locator("summary")).to_be_visible()
    await expect(row.get_by_label("Reason")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 390])
async def test_without_scripts(meet: Meet, owners_cookies: StorageState, width: int):
    person = await meet(cookies=owners_cookies, scripts=False, width=width)
    await person.open(SERVERS)
    row = person.page.get_by_role("row").filter(has_text="gpu-3")
    await row.locator("summary").click()
    await row.get_by_label("Reason").fill(REASON)
    await row.get_by_role("button", name="Cordon gpu-3").click()
    await expect(row).to_contain_text(f"cordoned by owner@example.org: {REASON}")
    await row.get_by_role("button", name="Uncordon gpu-3").click()
    await expect(row).not_to_contain_text(REASON)
