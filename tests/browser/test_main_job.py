"""The panel's main job in a browser, with and without scripts: sign in, submit, follow to the end, read, cancel."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Meet

pytestmark = pytest.mark.asyncio(loop_scope="session")

EXAMPLE = {
    "image": "nvidia/cuda:12.2.0-base-ubuntu22.04",
    "tag": "latest",
    "gpuCount": "1",
    "timeoutSeconds": "3600",
    "envVars": "MODEL_PATH=/data/model BATCH_SIZE=32",
}
LONG = "SIM_SECONDS=600"
# Notes every word that a new row's badge ever showed, and that the page was not loaded anew.
WATCH = """() => {
  window.isTheSamePage = true;
  window.badges = {};
  const look = () => document.querySelectorAll("#rows tr.workload").forEach((row) => {
    const said = (window.badges[row.id] ??= []), word = row.querySelector(".badge").textContent;
    if (said.at(-1) !== word) said.push(word);
  });
  look();
  const all = {childList: true, subtree: true, characterData: true};
  new MutationObserver(look).observe(document.getElementById("rows"), all);
}"""


async def watch(page: Page) -> None:
    await expect(page.locator("#live-state")).to_have_text("live")
    await page.evaluate(WATCH)


async def badges_of(page: Page, workload_id: UUID) -> list[str]:
    assert await page.evaluate("window.isTheSamePage") is True, "the page was loaded anew"
    said: list[str] = await page.evaluate("id => window.badges[id]", f"w-{workload_id}")
    return said


async def test_the_example_is_followed_live_and_its_log_read(meet: Meet):
    person = await meet()
    page = person.page
    await person.sign_in("owner")
    await page.get_by_role("link", name="GPU workloads").click()
    await watch(page)
    await page.locator("#image").press_sequentially("nvidia/cuda")
    await expect(page.locator("#image-hint")).to_have_text(re.compile(r"runs\s+nvidia/cuda\s*$"))
    workload_id = await person.submit(**EXAMPLE | {"envVars": f"{EXAMPLE['envVars']} {LONG}"})
    await person.row(workload_id).says("running")
    await person.product.exit(str(workload_id))
    await person.row(workload_id).says("completed")
    assert await badges_of(page, workload_id) in (["pending", "running", "completed"], ["running", "completed"])
    await person.row(workload_id).open()
    await expect(page.locator("#log-text")).to_contain_text("line 5 of 5")
    await expect(page.locator("#workload .facts").first).to_contain_text("nvidia/cuda:12.2.0-base-ubuntu22.04")
    await page.get_by_text("Environment (3)").click()
    await expect(page.locator("#environment")).to_contain_text("/data/model")


async def test_the_page_of_a_workload_is_live_with_its_log(meet: Meet):
    person = await meet()
    await person.sign_in("admin")
    await person.open_list()
    workload_id = await person.submit(image="busybox", envVars=f"{LONG} SIM_LOG_LINES=6000")
    await person.page.locator("#accepted a").click()
    await expect(person.page.locator("#live-state")).to_have_text("live")
    await person.page.evaluate("window.isTheSamePage = true")
    await expect(person.page.locator(".state .badge")).to_have_text("running")
    await expect(person.page.locator("#log-text")).to_contain_text("line 1 of 6000")
    await expect(person.page.locator("#log-text")).to_contain_text("line 20 of 6000")
    await person.product.exit(str(workload_id))
    await expect(person.page.locator(".state .badge")).to_have_text("completed")
    await expect(person.page.locator("#log-text")).to_contain_text("line 6000 of 6000")
    await expect(person.page.locator("ol.events")).to_contain_text("ended with exit code 0")
    assert await person.page.evaluate("window.isTheSamePage") is True
    assert str(workload_id) in person.page.url


async def test_a_workload_is_cancelled_live(meet: Meet):
    person = await meet()
    await person.sign_in("admin")
    await person.open_list()
    await watch(person.page)
    workload_id = await person.submit(image="busybox", envVars=LONG)
    row = person.row(workload_id)
    await row.says("running")
    await row.cancel()
    await row.says("cancelled")
    said = await badges_of(person.page, workload_id)
    assert said.index("running") < said.index("cancelled") == len(said) - 1
    await expect(person.page.locator(row.selector).get_by_role("button", name="Cancel")).to_have_count(0)


async def test_without_scripts_all_of_it_works_too(meet: Meet):
    person = await meet(scripts=False)
    await person.sign_in("owner")
    await person.page.get_by_role("link", name="GPU workloads").click()
    workload_id = await person.submit(**EXAMPLE)
    doomed_id = await person.submit(image="busybox", envVars=LONG)
    await person.row(workload_id).says_after_reloads("completed")
    await person.row(doomed_id).says_after_reloads("running")
    await person.row(doomed_id).cancel()
    await person.row(doomed_id).says_after_reloads("cancelled")
    await person.row(workload_id).open()
    await expect(person.page.locator("#log-text")).to_contain_text("line 5 of 5")
    await expect(person.page.locator("#live-state")).to_contain_text("as of")


@pytest.mark.parametrize("scripts", [True, False])
async def test_a_cancel_on_the_page_of_the_workload(meet: Meet, scripts: bool):
    person = await meet(scripts=scripts)
    await person.sign_in("owner")
    await person.open_list()
    workload_id = await person.submit(image="busybox", envVars=LONG)
    await person.page.locator("#accepted a").click()
    await person.page.get_by_role("button", name="Cancel").click()
    await expect(person.page.get_by_role("button", name="Cancel")).to_have_count(0)
    await person.product.until(str(workload_id), status="CANCELLED")
    if not scripts:
        await person.page.reload()
    await expect(person.page.locator(".state .badge")).to_have_text("cancelled")


async def test_signing_out(meet: Meet):
    person = await meet()
    await person.sign_in("member")
    await person.page.locator(".menu summary").click()
    await person.page.get_by_role("button", name="Sign out").click()
    await expect(person.page).to_have_url(re.compile(r"/login$"))
    await person.open("/orgs/demo/projects")
    await expect(person.page).to_have_url(re.compile(r"/login\?next=%2Forgs%2Fdemo%2Fprojects$"))
