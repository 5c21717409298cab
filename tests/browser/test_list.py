"""Finding workloads in the list, and what may be asked of them there: with and without scripts, and by keyboard."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import Meet
from tests.browser.person import Person
from tests.browser.test_keyboard import go_to
from tests.e2e.product import Product

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIST = "/orgs/demo/platform/gpu-workloads"
LONG = {"SIM_SECONDS": 600}


def rows_of(page: Page) -> Locator:
    return page.locator("#rows tr.workload")


@pytest.mark.parametrize("scripts", [True, False])
async def test_words_and_expressions_find_and_the_address_says_which(meet: Meet, product: Product, scripts: bool):
    word = uuid4().hex[:8]
    one = (await product.submit(name=f"{word} small", envVars={"SIM_SECONDS": 0.1}))["id"]
    two = (await product.submit(name=f"{word} large", gpuCount=2, envVars={"SIM_SECONDS": 0.1}))["id"]
    person = await meet(scripts=scripts)
    page, keys = person.page, person.page.keyboard
    await person.sign_in("owner")
    await person.open_list()
    await page.get_by_label("Search").focus()
    await keys.type(word)
    await keys.press("Enter")
    await expect(rows_of(page)).to_have_count(2)
    await expect(page).to_have_url(re.compile(rf"\?q={word}$"))
    await page.get_by_label("Search").fill(f"{word} gpuCount>=2")
    await keys.press("Enter")
    await expect(rows_of(page)).to_have_count(1)
    await expect(page.locator(f"#w-{two}")).to_be_visible()
    await page.go_back()
    await expect(rows_of(page)).to_have_count(2)
    await page.get_by_role("link", name="Workload", exact=True).click()
    await expect(rows_of(page).first).to_have_id(f"w-{two}")
    await page.get_by_role("link", name="Workload", exact=True).click()
    await expect(rows_of(page).first).to_have_id(f"w-{one}")
    await page.get_by_role("link", name="timeout", exact=True).click()
    await expect(page.locator("#nothing")).to_be_visible()
    await page.get_by_role("link", name="Clear").click()
    await expect(page).to_have_url(re.compile(r"\?show=timeout&sort=-name$"))


@pytest.mark.parametrize("scripts", [True, False])
async def test_what_is_wrong_is_said_beside_the_box_with_what_was_typed_in_it(meet: Meet, scripts: bool):
    person = await meet(scripts=scripts)
    box = person.page.get_by_label("Search")
    await person.sign_in("owner")
    await person.open_list()
    await box.fill("train gpus>=2")
    await box.press("Enter")
    await expect(person.page.locator("#q-problem")).to_contain_text("At character 7: there is no field 'gpus'")
    await expect(box).to_have_value("train gpus>=2")
    await expect(box).to_be_focused()
    await box.fill("train gpuCount>=2")
    await box.press("Enter")
    await expect(person.page.locator("#q-problem")).to_have_count(0)


async def test_what_leaves_a_filtered_list_is_named_with_what_became_of_it(meet: Meet, product: Product):
    name = uuid4().hex[:8]
    workload = (await product.submit(name=name, envVars=LONG))["id"]
    await product.until(workload, status="RUNNING")
    person = await meet()
    await person.sign_in("owner")
    await person.open(f"{LIST}?q={name}+status%3D%3Drunning")
    await expect(person.page.locator("#live-state")).to_have_text("live")
    await expect(rows_of(person.page)).to_have_count(1)
    await product.cancel(workload)
    await expect(rows_of(person.page)).to_have_count(0)
    await expect(person.page.locator("#left")).to_contain_text(f"No longer on this page: {name} cancelled")
    await expect(person.page.locator("#nothing")).to_be_visible()


async def press(person: Person, action: str, workload_id: str) -> None:
    await person.page.locator(f"#{action}-{workload_id}").click()


@pytest.mark.parametrize("scripts", [True, False])
async def test_suspended_resumed_retried_deleted_and_restored(meet: Meet, product: Product, scripts: bool):
    name = uuid4().hex[:8]
    ahead = (await product.submit(gpuCount=8, envVars=LONG))["id"]  # no other server has eight: the next one waits
    waits = (await product.submit(name=name, gpuCount=8, envVars=LONG))["id"]
    person = await meet(scripts=scripts)
    row = person.page.locator(f"#w-{waits}")
    await person.sign_in("owner")
    await person.open(f"{LIST}?q={name}")
    await press(person, "suspend", waits)
    await expect(row).to_contain_text("suspended")
    await expect(person.page).to_have_url(re.compile(rf"\?q={name}$"))
    await press(person, "resume", waits)
    await expect(row).not_to_contain_text("suspended")
    await press(person, "cancel", waits)
    await expect(row.locator(".badge")).to_have_text("cancelled")
    await press(person, "retry", waits)
    if scripts:
        await person.page.locator("#notice a").click()
    again = await new_one(person, waits)
    await person.open(f"{LIST}?q={name}+status%3D%3Dcancelled")
    await press(person, "delete", waits)
    await expect(row).to_have_count(0)
    await person.page.get_by_role("link", name="deleted", exact=True).click()
    await press(person, "restore", waits)
    await expect(row).to_have_count(0)
    await person.open(f"{LIST}?q={name}")
    await expect(rows_of(person.page)).to_have_count(2)
    for workload_id in (again, ahead):
        await product.cancel(workload_id)


async def new_one(person: Person, old: str) -> str:
    """Of a retry, whose page names the old one; the new one's id."""
    await expect(person.page).to_have_url(re.compile(rf"{LIST}/(?!{old})[0-9a-f-]{{36}}$"))
    await expect(person.page.locator("#workload .facts").first).to_contain_text(old)
    return person.page.url[-36:]


async def test_actions_by_keyboard_leave_the_focus_where_one_was(meet: Meet, product: Product):
    name = uuid4().hex[:8]
    made = [(await product.submit(name=f"{name} {i}", envVars={"SIM_SECONDS": 0.1}))["id"] for i in range(2)]
    for workload_id in made:
        await product.until(workload_id, status="COMPLETED")
    person = await meet()
    await person.sign_in("owner")
    await person.open(f"{LIST}?q={name}&sort=name")
    await expect(person.page.locator("#live-state")).to_have_text("live")
    await go_to(person.page, f"#delete-{made[0]}")
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator(f"#w-{made[0]}")).to_have_count(0)
    await expect(person.page.locator(f"#open-{made[1]}")).to_be_focused()
    await go_to(person.page, f"#delete-{made[1]}")
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator(f"#w-{made[1]}")).to_have_count(0)
    await expect(person.page.locator("#notice a")).to_be_focused()
