"""Debian's Chromium, driven by Playwright; Playwright's own browsers are never downloaded.

`python -m tests.browser.chromium`, part of `make test`, installs Debian's package where it may. The fixtures in
conftest.py install nothing: they skip with the reason where there is no browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@asynccontextmanager
async def launched(program: str) -> AsyncIterator[Browser]:
    """A browser with a profile folder of its own, which goes with it. Root's can't have a sandbox."""
    arguments = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


def provide() -> str:
    """Installs Debian's Chromium where there is none and this user may; says in a sentence what tests will use."""
    if find_chromium() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *arguments], check=False, stdout=subprocess.DEVNULL)
    return find_chromium() or "none, so the panel's browser tests are skipped"


if __name__ == "__main__":
    print(f"Chromium for tests: {provide()}")
