"""What is refused, and where the page says so: led away with the reason, wrong fields in place, a bad end in red."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Meet

pytestmark = pytest.mark.asyncio(loop_scope="session")

LED_AWAY = [
    ("viewer", "demo", "owner_or_admin_only", "for owners and admins of demo; your role is viewer"),
    ("member", "demo", "owner_or_admin_only", "for owners and admins of demo; your role is member"),
    ("owner", "paused", "feature_disabled", "not enabled"),
    ("owner", "empty", "no_gpu_server", "no server"),
]


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize(("role", "slug", "reason", "words"), LED_AWAY, ids=[f"{it[0]}-{it[1]}" for it in LED_AWAY])
async def test_who_may_not_see_it_is_led_away_with_the_reason(
    meet: Meet, scripts: bool, role: str, slug: str, reason: str, words: str
):
    person = await meet(scripts=scripts)
    await person.sign_in(role)
    await person.open(f"/orgs/{slug}/platform/gpu-workloads")
    await expect(person.page).to_have_url(re.compile(rf"/orgs/{slug}/projects\?reason={reason}$"))
    await expect(person.page.get_by_role("alert").first).to_contain_text(words)


async def test_a_viewer_is_offered_no_link(meet: Meet):
    person = await meet()
    await person.sign_in("viewer")
    await expect(person.page.get_by_role("heading", name="Projects")).to_be_visible()
    await expect(person.page.get_by_role("link", name="GPU workloads", exact=True)).to_have_count(0)


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("typed", ["", "   "])
async def test_a_blank_image_is_refused_before_anything_is_sent(meet: Meet, scripts: bool, typed: str):
    person = await meet(scripts=scripts)
    await person.sign_in("owner")
    await person.open_list()
    person.posted.clear()
    await person.page.locator("#image").fill(typed)
    await person.page.locator("#envVars").fill("A=1")
    await person.page.get_by_role("button", name="Submit").click()
    await expect(person.page.locator("#image:invalid")).to_be_focused()
    await expect(person.page.locator("#envVars")).to_have_value("A=1")
    assert person.posted == []


@pytest.mark.parametrize("scripts", [True, False])
async def test_what_only_the_server_knows_is_said_beside_the_field(meet: Meet, scripts: bool):
    person = await meet(scripts=scripts)
    page = person.page
    await person.sign_in("owner")
    await person.open_list()
    await page.locator("#image").fill("Not An Image")
    await page.locator("#envVars").fill("1A=x 'B=2 3'")
    await page.get_by_role("button", name="Submit").click()
    await expect(page.locator("#image-problem")).to_be_visible()
    await expect(page.locator("#envVars-problem")).to_contain_text("1A")
    await expect(page.locator("#image")).to_be_focused()
    await expect(page.locator("#image")).to_have_attribute("aria-invalid", "true")
    assert "image-problem" in (await page.locator("#image").get_attribute("aria-describedby") or "")
    await expect(page.locator("#envVars")).to_have_value("1A=x 'B=2 3'")
    await person.submit(image="busybox", envVars="")


@pytest.mark.parametrize("scripts", [True, False])
async def test_a_wrong_password(meet: Meet, scripts: bool):
    person = await meet(scripts=scripts)
    await person.open("/login")
    await person.page.get_by_label("Email").fill("owner@example.org")
    await person.page.get_by_label("Password").fill("wrong")
    await person.page.get_by_role("button", name="Sign in").click()
    await expect(person.page.get_by_role("alert").first).to_have_text("The address or the password is wrong.")
    await expect(person.page.get_by_label("Email")).to_have_value("owner@example.org")
    await expect(person.page.get_by_label("Password")).to_be_focused()


async def test_nobody_takes_an_exit_code_for_a_success(meet: Meet):
    person = await meet()
    page = person.page
    await person.sign_in("owner")
    await person.open_list()
    bad = await person.submit(image="busybox", envVars="SIM_SECONDS=0.3 SIM_EXIT_CODE=3")
    good = await person.submit(image="busybox", envVars="SIM_SECONDS=0.3")
    await person.row(bad).says("completed · exit 3")
    await person.row(good).says("completed")
    colours = [
        await page.locator(f"#w-{it} .badge").evaluate("it => getComputedStyle(it).backgroundColor")
        for it in (bad, good)
    ]
    assert colours[0] != colours[1]
    await person.row(bad).open()
    await expect(page.locator("#workload .problem")).to_contain_text("exit code 3")
    await expect(page.locator("#workload .facts .bad")).to_have_text("3")
