"""Somebody at a browser: what they do on the panel's pages, and what the browser had to complain about."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from playwright.async_api import ConsoleMessage, Page, Request, Response, expect

from tests.e2e.product import Product

PATIENCE_MS = 60_000  # only a machine that is very busy needs it
# Chromium reports every refused request; that a form was refused is what some tests are about.
REFUSED_FORM = re.compile(r"status of 422")

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Person:
    """`allowed`: what this person's browser may complain about."""

    page: Page
    product: Product
    allowed: Collection[re.Pattern[str]] = ()
    base: str = ""
    complaints: list[str] = field(default_factory=list)
    posted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.base = self.base or self.product.facts["url"]
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("response", self._see)
        self.page.on("request", self._note)

    def _hear(self, message: ConsoleMessage) -> None:
        is_allowed = any(pattern.search(message.text) for pattern in (REFUSED_FORM, *self.allowed))
        if message.type in ("error", "warning") and not is_allowed:
            self.complaints.append(f"{message.type}: {message.text} ({message.location['url']})")

    def _see(self, response: Response) -> None:
        if response.status >= 500:
            self.complaints.append(f"{response.status} {response.url}")

    def _note(self, request: Request) -> None:
        if request.method == "POST":
            self.posted.append(request.url)

    async def open(self, path: str) -> None:
        await self.page.goto(f"{self.base}{path}")

    async def open_list(self) -> None:
        await self.open("/orgs/demo/platform/gpu-workloads")

    async def sign_in(self, role: str = "owner") -> None:
        [user] = [user for user in self.product.facts["users"] if user["role"] == role]
        await self.sign_in_as(user["email"], user["password"])

    async def sign_in_as(self, email: str, password: str) -> None:
        await self.open("/login")
        await self.page.get_by_label("Email").fill(email)
        await self.page.get_by_label("Password").fill(password)
        await self.page.get_by_role("button", name="Sign in").click()
        await expect(self.page.get_by_role("heading", name="Sign in")).to_have_count(0)

    async def submit(self, **typed: str) -> UUID:
        """Fill in the form by the labels' inputs and send it; the new workload's id, as the page shows it."""
        for name, text in typed.items():
            await self.page.locator(f"#{name}").fill(text)
        said = self.page.locator("#accepted")
        before = await said.locator("dd").first.inner_text() if await said.count() else ""
        await self.page.get_by_role("button", name="Submit").click()
        await expect(said).to_contain_text("Submitted")
        await expect(said.locator("dd").first).not_to_have_text(before)
        workload_id = UUID(await said.locator("dd").first.inner_text())
        await expect(said).to_contain_text(f"gw-{workload_id.hex}-1")
        return workload_id

    def row(self, workload_id: UUID | str) -> Row:
        return Row(self.page, f"#w-{workload_id}")

    async def must_be_content(self) -> None:
        await self.page.context.close()
        assert not self.complaints, "\n".join(self.complaints)


@dataclass(frozen=True)
class Row:
    """A workload's row in the list."""

    page: Page
    selector: str

    async def says(self, text: str) -> None:
        await expect(self.page.locator(f"{self.selector} .badge")).to_have_text(text)

    async def says_after_reloads(self, text: str) -> None:
        """For a page without scripts."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while await self.page.locator(f"{self.selector} .badge").inner_text() != text:
                await self.page.wait_for_timeout(150)
                await self.page.reload()

    async def open(self) -> None:
        await self.page.locator(f"{self.selector} a").first.click()

    async def cancel(self) -> None:
        await self.page.locator(f"{self.selector} button", has_text="Cancel").click()
