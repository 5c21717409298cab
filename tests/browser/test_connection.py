"""A dropped connection is shown, and heals: the page catches up with all that happened, without being loaded anew."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.conftest import Meet
from tests.browser.relay import relayed
from tests.e2e.product import Product

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOST = re.compile(r"net::ERR_|Failed to fetch|network error")
NO_NEWS = re.compile(r"^no news since \d\d:\d\d UTC$")


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Product]:
    """One to kill; a polite stop at the end would only take time."""
    product = Product(tmp_path / "data")
    try:
        yield product
        product.kill()
    finally:
        product.end()


async def must_be_live(page: Page) -> None:
    await expect(page.locator("#live-state")).to_have_text("live")
    await expect(page.locator("#live-state")).not_to_have_class(re.compile("stale"))


async def test_a_late_script_does_not_keep_the_page_from_being_live(meet: Meet, product: Product):
    """On a slow line an extension arrives after htmx itself, which would begin without it."""
    person = await meet()
    await person.sign_in("owner")

    async def late(route: Route) -> None:
        await asyncio.sleep(1)
        await route.continue_()

    await person.page.route(re.compile(r"hx-sse"), late)
    await person.open_list()
    await must_be_live(person.page)


async def test_a_first_connection_without_an_answer_is_given_up_for_another(meet: Meet, product: Product):
    person = await meet(allowed=[LOST, re.compile("htmx:error: timeout")])
    await person.sign_in("owner")
    asked: list[str] = []

    async def swallow_the_first(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 1:
            await route.continue_()

    await person.page.route(re.compile(r"/live"), swallow_the_first)
    await person.open_list()
    await must_be_live(person.page)
    await person.page.unroute_all(behavior="ignoreErrors")


async def test_the_list_catches_up_after_the_product_was_killed(meet: Meet, mortal: Product):
    await mortal.start()
    person = await meet(of=mortal, allowed=[LOST])
    await person.sign_in("owner")
    await person.open_list()
    await must_be_live(person.page)
    await person.page.evaluate("window.isTheSamePage = true")
    running = await person.submit(image="busybox", envVars="SIM_SECONDS=600")
    await person.row(running).says("running")
    mortal.kill()
    await expect(person.page.locator("#live-state.stale")).to_have_text(NO_NEWS)
    await mortal.exit(str(running), code=4)
    await mortal.start_again()
    late = await mortal.submit(envVars={"SIM_SECONDS": 0.2})
    await person.row(running).says("completed · exit 4")
    await person.row(late["id"]).says("completed")
    await must_be_live(person.page)
    assert await person.page.evaluate("window.isTheSamePage") is True
    await expect(person.page.locator("#rows tr.workload")).to_have_count(2)


async def test_the_page_of_a_workload_catches_up_too(meet: Meet, mortal: Product):
    await mortal.start()
    person = await meet(of=mortal, allowed=[LOST])
    await person.sign_in("owner")
    workload = await mortal.submit(envVars={"SIM_SECONDS": 600, "SIM_LOG_TEXT": "hello"})
    await person.open(f"/orgs/demo/platform/gpu-workloads/{workload['id']}")
    await expect(person.page.locator("#log-text")).to_contain_text("hello")
    await expect(person.page.locator(".state .badge")).to_have_text("running")
    await person.page.evaluate("window.isTheSamePage = true")
    mortal.kill()
    await expect(person.page.locator("#live-state.stale")).to_have_text(NO_NEWS)
    await mortal.exit(workload["id"])
    await mortal.start_again()
    await expect(person.page.locator(".state .badge")).to_have_text("completed")
    await must_be_live(person.page)
    await expect(person.page.locator("#log-text")).to_contain_text("hello")
    assert await person.page.evaluate("window.isTheSamePage") is True


async def test_silence_is_noticed_too(meet: Meet, product: Product):
    """Nothing arrives and nobody closed the connection. The page's clock is turned on, the rest is real."""
    async with relayed(urlsplit(product.facts["url"]).port or 0) as relay:
        person = await meet(base=relay.url, allowed=[LOST])
        await person.page.clock.install()
        await person.sign_in("owner")
        await person.open_list()
        await must_be_live(person.page)
        relay.cut()
        workload = await product.submit(envVars={"SIM_SECONDS": 0.2})
        await person.page.clock.fast_forward(30_000)
        await expect(person.page.locator("#live-state.stale")).to_have_text(NO_NEWS)
        relay.mend()
        await person.row(workload["id"]).says("completed")
        await must_be_live(person.page)


async def test_a_submission_that_did_not_arrive_is_said(meet: Meet, mortal: Product):
    await mortal.start()
    person = await meet(of=mortal, allowed=[LOST])
    await person.sign_in("owner")
    await person.open_list()
    await must_be_live(person.page)
    mortal.kill()
    await person.page.locator("#image").fill("busybox")
    await person.page.get_by_role("button", name="Submit").click()
    await expect(person.page.locator("#trouble")).to_have_text("The server can't be reached; nothing was sent.")
    await expect(person.page.locator("#image")).to_have_value("busybox")
    await mortal.start_again()
    await must_be_live(person.page)
    await person.submit()
