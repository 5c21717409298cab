"""Every page, at a desk and on a phone, in light and dark: axe-core finds nothing, and nothing scrolls sideways."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
from typing import Any, Literal

import pytest
import pytest_asyncio
from playwright.async_api import Page, StorageState, expect

from tests.browser.chromium import AXE
from tests.browser.conftest import Meet
from tests.e2e.product import Product

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOT_FOUND = re.compile("status of 404")
LIST = "/orgs/demo/platform/gpu-workloads"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1280, 390)
LONG = "registry.example.org/a-rather/deep/path/of/folders/with-a-very-long-name-that-nobody-would-type:2026-11-30"
AT_THE_DOOR = {"sign-in": "/login", "error": "/orgs/demo/projects/nothing-here"}
INSIDE = {
    "projects": "/orgs/demo/projects",
    "no-projects": "/orgs/empty/projects",
    "led-away": "/orgs/paused/platform/gpu-workloads",
    "list": LIST,
    "empty-list": f"{LIST}?show=timeout",
    "search": f"{LIST}?q=gpuCount%3E%3D1&sort=name",
    "wrong-search": f"{LIST}?q=gpus%3E%3D1",
    "deleted": f"{LIST}?show=deleted",
    "servers": "/orgs/demo/platform/servers",
    "usage": "/orgs/demo/platform/usage",
    "sign-out": "/logout",
    "not-found": "/orgs/nobodys/projects",
}
KINDS: dict[str, dict[str, Any]] = {
    "running": {"gpuCount": 2, "envVars": {"SIM_SECONDS": 600, "SIM_LOG_TEXT": "x" * 300, "A_" + "LONG_" * 20: 1}},
    "completed": {"image": LONG, "envVars": {"SIM_SECONDS": 0.2}},
    "nonzero": {"envVars": {"SIM_SECONDS": 0.2, "SIM_EXIT_CODE": 3}},
    "failed": {"envVars": {"SIM_SECONDS": 0.2, "SIM_OUTCOME": "oom"}},
    "pulling": {"image": LONG, "name": "n" * 80, "envVars": {"SIM_OUTCOME": "image-missing"}},
}

# The next tick makes it live again, so that its look is taken at once.
CLOSE = """live => {
  live.dispatchEvent(new CustomEvent('htmx:sse:close', {bubbles: true, detail: {reason: 'ended'}}));
  return document.getElementById('live-state').className;
}"""
ENDS = {"failed": "FAILED", "cancelled": "CANCELLED"}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gpus(product: Product) -> list[str]:
    """The ids of all, once the agent has told of every server."""
    async with asyncio.timeout(60):
        while True:
            answer = await product.ask('{ organization(slug: "demo") { servers { gpuCount gpus { id } } } }')
            servers = answer["data"]["organization"]["servers"]
            if all(len(it["gpus"]) == it["gpuCount"] for it in servers):
                return [gpu["id"] for it in servers for gpu in it["gpus"]]
            await asyncio.sleep(0.1)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def workloads(product: Product) -> dict[str, str]:
    """One of each look; the address of each."""
    whole = await product.submit(gpuCount=8, envVars={"SIM_SECONDS": 600})
    await product.until(whole["id"], status="RUNNING")
    made = {kind: (await product.submit(**wanted))["id"] for kind, wanted in KINDS.items()}
    made |= {"waiting": (await product.submit(gpuCount=8))["id"], "cancelled": (await product.submit())["id"]}
    await product.cancel(made["cancelled"])
    for kind in ("completed", "nonzero", "failed", "cancelled"):
        await product.until(made[kind], status=ENDS.get(kind, "COMPLETED"))
    return {kind: f"{LIST}/{workload_id}" for kind, workload_id in made.items()}


async def must_be_good(page: Page) -> None:
    """In every look of the page that is open."""
    if not AXE.exists():
        pytest.skip("no axe-core in node_modules: run `make setup`")
    await page.evaluate(AXE.read_text())
    for scheme in SCHEMES:
        for width in WIDTHS:
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            await page.set_viewport_size({"width": width, "height": 900})
            found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            said = [f"{it['id']}: {[node['html'][:200] for node in it['nodes']]}" for it in found["violations"]]
            assert not said, f"{scheme}, {width} px: {said}"
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} px wide at {width} px"


@pytest.mark.parametrize("name", AT_THE_DOOR)
async def test_before_signing_in(meet: Meet, name: str):
    person = await meet(allowed=[NOT_FOUND])
    await person.open(AT_THE_DOOR[name])
    await must_be_good(person.page)


@pytest.mark.parametrize("name", INSIDE)
async def test_inside(meet: Meet, owners_cookies: StorageState, workloads: dict[str, str], name: str):
    person = await meet(allowed=[NOT_FOUND], cookies=owners_cookies)
    await person.open(INSIDE[name])
    await must_be_good(person.page)


NEWS_IN_A_MORPH = """async () => {
  const main = document.getElementById('main'), news = main.innerHTML.replace('As a table', 'As another table');
  document.querySelector('figure details').open = true;
  await htmx.swap({target: main, text: news, swap: 'innerMorph', sourceElement: main});
}"""


async def test_a_table_that_was_opened_stays_open_when_news_come(
    meet: Meet, owners_cookies: StorageState, workloads: dict[str, str]
):
    person = await meet(cookies=owners_cookies)
    await person.open(INSIDE["usage"])
    await person.page.evaluate(NEWS_IN_A_MORPH)
    table = person.page.locator("figure details")
    await expect(table.locator("summary")).to_have_text("As another table")
    await expect(table).to_have_attribute("open", "")
    await must_be_good(person.page)


COVERED = """() => {
  const edge = document.querySelector('section.list').getBoundingClientRect().right;
  return document.querySelector('table.workloads').getBoundingClientRect().right - edge;
}"""


async def test_nothing_of_the_list_lies_under_the_form(
    meet: Meet, owners_cookies: StorageState, workloads: dict[str, str]
):
    person = await meet(cookies=owners_cookies)
    await person.open_list()
    for width in (1920, 1280, 1279, 1200, 960, 959, 761):
        await person.page.set_viewport_size({"width": width, "height": 900})
        assert await person.page.evaluate(COVERED) <= 1, width
        assert await person.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("kind", [*KINDS, "waiting", "cancelled"])
async def test_a_workload(meet: Meet, owners_cookies: StorageState, workloads: dict[str, str], kind: str):
    person = await meet(cookies=owners_cookies)
    await person.open(workloads[kind])
    await expect(person.page.locator("#live-state")).to_have_text("live")
    for closed in await person.page.locator("main details:not([open]) summary").all():
        await closed.click()
    await must_be_good(person.page)


async def test_a_gpu(meet: Meet, owners_cookies: StorageState, gpus: list[str]):
    person = await meet(cookies=owners_cookies)
    await person.open(f"/orgs/demo/platform/gpus/{gpus[0]}")
    await expect(person.page.get_by_role("heading", name="GPU 0")).to_be_visible()
    await must_be_good(person.page)


async def test_the_form_with_everything_wrong_and_then_accepted(meet: Meet, owners_cookies: StorageState):
    person = await meet(cookies=owners_cookies)
    page = person.page
    await person.open_list()
    await page.locator(".more summary").click()
    await page.locator("#submit form").evaluate("form => form.noValidate = true")
    for name in ("image", "tag", "gpuCount", "timeoutSeconds", "cpu", "memory"):
        await page.locator(f"#{name}").fill("0" if name.endswith(("Count", "Seconds")) else "!")
    await page.locator("#envVars").fill("=1")
    await page.get_by_role("button", name="Submit").click()
    await expect(page.locator("#memory-problem")).to_be_visible()
    await must_be_good(page)
    await page.set_viewport_size({"width": 1280, "height": 900})
    await person.submit(
        image="busybox", tag="", gpuCount="1", timeoutSeconds="60", cpu="", memory="", envVars="SIM_SECONDS=0.1"
    )
    await must_be_good(page)


async def test_the_menu_and_a_lost_connection(meet: Meet, owners_cookies: StorageState, workloads: dict[str, str]):
    person = await meet(cookies=owners_cookies)
    await person.open_list()
    await person.page.locator(".menu summary").click()
    assert "stale" in await person.page.locator("#live").evaluate(CLOSE)
    await must_be_good(person.page)


async def test_a_wrong_password(meet: Meet):
    person = await meet()
    await person.open("/login")
    await person.page.get_by_label("Email").fill("somebody@example.org")
    await person.page.get_by_label("Password").fill("wrong")
    await person.page.get_by_role("button", name="Sign in").click()
    await expect(person.page.locator("#problem")).to_be_visible()
    await must_be_good(person.page)


async def test_who_belongs_nowhere(meet: Meet, product: Product):
    person = await meet()
    email, password = leave_alone(product)
    await person.sign_in_as(email, password)
    await expect(person.page.get_by_role("heading", name="No organization yet")).to_be_visible()
    await must_be_good(person.page)


def leave_alone(product: Product) -> tuple[str, str]:
    """A person who was taken out of their only organization; there is no command for that yet."""
    email, password, database = "alone@example.org", "a long password", product.data / "gpuyard.db"
    command = ["admin", "create-user", email, "--organization", "demo", "--role", "viewer"]
    settings = {"GPUYARD_DATABASE_URL": f"sqlite:///{database}", "GPUYARD_NEW_PASSWORD": password}
    subprocess.run([sys.executable, "-m", "app", *command], check=True, env=os.environ | settings)
    with sqlite3.connect(database, timeout=60) as rows:
        rows.execute("DELETE FROM memberships WHERE user_id = (SELECT id FROM users WHERE email = ?)", (email,))
    rows.close()
    return email, password
