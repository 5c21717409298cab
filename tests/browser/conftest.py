"""A real Chromium and a running product, one of each a session; people who use them, one or more a test.

A test fails when a browser complained: script errors, violations of the content security policy, answers of 500.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection

import pytest
import pytest_asyncio
from playwright.async_api import Browser, StorageState

from tests.browser.chromium import find_chromium, launched
from tests.browser.person import Person
from tests.e2e.product import Product

Meet = Callable[..., Awaitable[Person]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium here: run `make chromium`, or install Debian's package chromium")
    async with launched(program) as browser:
        yield browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def product(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    """For tests that leave it whole. Where there is no browser, there is no use for it."""
    product = Product(tmp_path_factory.mktemp("product") / "data")
    try:
        await product.start()
        yield product
    finally:
        product.end()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def owners_cookies(browser: Browser, product: Product) -> StorageState:
    """For tests that are not about signing in."""
    owner = Person(await browser.new_page(), product)
    await owner.sign_in("owner")
    cookies = await owner.page.context.storage_state()
    await owner.must_be_content()
    return cookies


@pytest_asyncio.fixture(loop_scope="session")
async def meet(browser: Browser, product: Product) -> AsyncIterator[Meet]:
    """Somebody with a browser of their own."""
    met: list[Person] = []

    async def make(
        *,
        scripts: bool = True,
        width: int = 1280,
        of: Product | None = None,
        base: str = "",
        allowed: Collection[re.Pattern[str]] = (),
        cookies: StorageState | None = None,
    ) -> Person:
        context = await browser.new_context(
            java_script_enabled=scripts,
            viewport={"width": width, "height": 900},
            locale="en",
            timezone_id="UTC",
            storage_state=cookies,
        )
        met.append(Person(await context.new_page(), of or product, allowed, base))
        return met[-1]

    yield make
    for person in met:
        await person.must_be_content()
