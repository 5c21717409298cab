"""Everything can be done without a mouse, and it is always to be seen where one is."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Meet

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_STEPS = 120
# Focus has to look different: an outline, or a shadow around it.
IS_SEEN = """() => {
  const it = document.activeElement, look = getComputedStyle(it), box = it.getBoundingClientRect();
  const isMarked = (look.outlineStyle !== "none" && look.outlineWidth !== "0px") || look.boxShadow !== "none";
  return isMarked && box.width > 0 && box.height > 0;
}"""
NAME = "() => document.activeElement.outerHTML.slice(0, 120)"


async def go_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press the key until the focus is there; on the way, it is visible at each step."""
    for _ in range(MOST_STEPS):
        await page.keyboard.press(key)
        if await page.evaluate("selector => document.activeElement.matches(selector)", selector):
            break
        if not await page.evaluate("document.activeElement === document.body"):
            assert await page.evaluate(IS_SEEN), f"no mark of focus on {await page.evaluate(NAME)}"
    else:
        pytest.fail(f"{key} never leads to {selector}")


async def test_the_main_job_by_keyboard(meet: Meet):
    person = await meet()
    page, keys = person.page, person.page.keyboard
    [user] = [user for user in person.product.facts["users"] if user["role"] == "admin"]
    await person.open("/login")
    await keys.type(user["email"])
    await keys.press("Tab")
    await keys.type(user["password"])
    await keys.press("Enter")
    await expect(page.get_by_role("heading", name="Projects")).to_be_visible()
    await go_to(page, 'header a[href$="gpu-workloads"]')
    await keys.press("Enter")
    await expect(page.locator("#live-state")).to_have_text("live")
    await go_to(page, "#image")
    await keys.type("busybox")
    await go_to(page, "#envVars")
    await keys.type("SIM_SECONDS=600")
    await go_to(page, "#submit button")
    await keys.press("Enter")
    await expect(page.locator("#accepted")).to_be_focused()
    await cancel_by_keyboard(page, UUID(await page.locator("#accepted dd").first.inner_text()))


async def cancel_by_keyboard(page: Page, workload_id: UUID) -> None:
    """The focus stays in the row, though the button is gone."""
    await expect(page.locator(f"#w-{workload_id} .badge")).to_have_text("running")
    await go_to(page, f"#cancel-{workload_id}", "Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(f"#w-{workload_id} .badge")).to_have_text("cancelled")
    await expect(page.locator(f"#open-{workload_id}")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"{workload_id}$"))


async def test_the_first_step_skips_to_the_content(meet: Meet):
    person = await meet()
    await person.sign_in("owner")
    await person.open_list()
    await person.page.keyboard.press("Tab")
    skip = person.page.get_by_role("link", name="Skip to content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator("#main")).to_be_focused()


async def test_typing_goes_on_while_the_list_moves(meet: Meet):
    person = await meet()
    page = person.page
    await person.sign_in("owner")
    await person.open_list()
    await expect(page.locator("#live-state")).to_have_text("live")
    await page.locator("#envVars").press_sequentially("A=1 ")
    workload = await person.product.submit(envVars={"SIM_SECONDS": 600})
    await person.row(workload["id"]).says("running")
    await page.locator("#envVars").press_sequentially("B=2")
    await person.product.exit(workload["id"])
    await person.row(workload["id"]).says("completed")
    await expect(page.locator("#envVars")).to_be_focused()
    await expect(page.locator("#envVars")).to_have_value("A=1 B=2")
