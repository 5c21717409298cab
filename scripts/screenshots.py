"""`make screenshots`: the pictures in docs/images, taken from a demo of their own, with workloads of every kind."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import ROOT, find_chromium, launched
from tests.browser.person import Person
from tests.e2e.product import CANCEL, Product

IMAGES = ROOT / "docs" / "images"
LIST = "/orgs/demo/platform/gpu-workloads"
LARGEST = 180_000
LOG = "\n".join(f"epoch {n:2}/90  loss {7.2 / n**0.5:.3f}  1204 images/s" for n in range(1, 9))
HOUR = 3600

# Oldest first, which is the list from below; each is waited for before the next is submitted.
WORKLOADS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "name": "train resnet50",
            "image": "nvcr.io/nvidia/pytorch:24.05-py3",
            "gpuCount": 4,
            "timeoutSeconds": 6 * HOUR,
            "envVars": {"MODEL_PATH": "/data/model", "BATCH_SIZE": 32, "SIM_SECONDS": HOUR, "SIM_LOG_TEXT": LOG},
        },
        "RUNNING",
    ),
    ({"name": "extract features", "image": "ghcr.io/acme/features:1.8", "envVars": {"SIM_SECONDS": 4}}, "COMPLETED"),
    (
        {
            "name": "evaluate",
            "image": "ghcr.io/acme/evaluate:2.1",
            "envVars": {"SIM_SECONDS": 2, "SIM_EXIT_CODE": 3},
        },
        "COMPLETED",
    ),
    (
        {
            "name": "large batch",
            "image": "ghcr.io/acme/train:0.9",
            "envVars": {"SIM_SECONDS": 2, "SIM_OUTCOME": "oom"},
        },
        "FAILED",
    ),
    ({"name": "render", "image": "ghcr.io/acme/render:3", "envVars": {"SIM_SECONDS": HOUR}}, "CANCELLED"),
    (
        {"name": "finetune llama", "image": "ghcr.io/acme/llm:7", "gpuCount": 8, "envVars": {"SIM_SECONDS": HOUR}},
        "RUNNING",
    ),
    ({"name": "pretrain", "image": "ghcr.io/acme/llm:7", "gpuCount": 8}, "PENDING"),
]


async def main() -> None:
    program = find_chromium()
    if program is None:
        sys.exit("screenshots: no Chromium here; `make chromium` installs Debian's where it may")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpuyard-screenshots-") as folder:
        product = Product(Path(folder) / "data")
        try:
            await product.start()
            ids = [await follow(product, wanted, status) for wanted, status in WORKLOADS]
            async with launched(program) as browser:
                await take(browser, product, f"{LIST}/{ids[0]}")
        finally:
            product.end()


async def follow(product: Product, wanted: dict[str, Any], status: str) -> str:
    """Submit it and wait until it shows what it is there for."""
    workload_id: str = (await product.submit("id", **wanted))["id"]
    if status == "CANCELLED":
        await product.until(workload_id, status="RUNNING")
        await product.ask(CANCEL % "id", {"id": workload_id})
    await product.until(workload_id, status=status, phase="QUEUED" if status == "PENDING" else "")
    return workload_id


async def take(browser: Browser, product: Product, workload: str) -> None:
    person = Person(await browser.new_page(locale="en", timezone_id="UTC", color_scheme="light"), product)
    await person.sign_in("owner")
    await picture(person, LIST, "panel-list", width=1280, height=720)
    await picture(person, workload, "panel-workload", width=1280, height=900)
    await picture(person, LIST, "panel-list-390", width=390, height=844)
    if person.complaints:
        sys.exit("screenshots: the browser complained:\n" + "\n".join(person.complaints))


async def picture(person: Person, path: str, name: str, *, width: int, height: int) -> None:
    page: Page = person.page
    await page.set_viewport_size({"width": width, "height": height})
    await person.open(path)
    await expect(page.locator("#live-state")).to_have_text("live")
    file = IMAGES / f"{name}.png"
    await page.screenshot(path=file, caret="initial")
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size:,} bytes")
    if size > LARGEST:
        sys.exit(f"screenshots: {file.name} is larger than {LARGEST:,} bytes; show less")


if __name__ == "__main__":
    asyncio.run(main())
