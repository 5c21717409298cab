"""Signing in and out: cookies, limits, throttling, and where one is led afterwards."""

from __future__ import annotations

from datetime import timedelta
from http.cookies import Morsel, SimpleCookie

import httpx2
import pytest

from app.auth import sessions
from app.auth.secrets import hash_token
from app.auth.throttle import ACCOUNT_TRIES
from app.domain.people import Role
from app.store.models import AuditRow, SessionRow, UserRow
from tests.panel.conftest import PASSWORD
from tests.panel.world import Browser, Page, Panel, add_person, location

PROJECTS = "/orgs/acme/projects"


@pytest.fixture
async def ada(panel: Panel, password_hash: str) -> dict[str, str]:
    """What she types."""
    await add_person(panel, "ada", Role.OWNER, "acme", password_hash=password_hash)
    return {"email": "Ada@example.org ", "password": PASSWORD}


def cookie(response: httpx2.Response, name: str) -> Morsel[str]:
    [found] = [m for h in response.headers.get_list("set-cookie") for m in SimpleCookie(h).values() if m.key == name]
    return found


async def sign_in(browser: Browser, typed: dict[str, str], **more: str) -> httpx2.Response:
    page = Page.of((await browser.get("/login")).text)
    return await browser.post("/login", {**typed, **more}, token=page.value("form_token"))


async def test_the_start_page_leads_to_sign_in_and_then_to_the_projects(panel: Panel, ada: dict[str, str]):
    async with panel.browser(None) as browser:
        assert location(await browser.get("/")) == "/login"
        assert location(await sign_in(browser, ada)) == "/"
        assert location(await browser.get("/")) == PROJECTS
        assert location(await browser.get("/login")) == "/"
        assert location(await browser.get("/orgs/acme")) == PROJECTS
        assert (await browser.get(PROJECTS)).status_code == 200
    assert await AuditRow.filter(action="sign_in", actor="ada@example.org").count() == 1


async def test_whoever_belongs_to_no_organization_is_told_so(panel: Panel):
    async with panel.browser("nobody") as browser:
        assert "belong to no organization" in (await browser.get("/")).text


@pytest.mark.parametrize(
    ("scheme", "name", "is_secure"),
    [("http", "gpuyard_session", False), ("https", "__Host-gpuyard_session", True)],
)
async def test_the_cookie(panel: Panel, ada: dict[str, str], scheme: str, name: str, is_secure: bool):
    async with panel.browser(None, base=f"{scheme}://gpuyard") as browser:
        made = cookie(await sign_in(browser, ada), name)
    assert (made["httponly"], made["samesite"], made["path"], made["domain"]) == (True, "lax", "/", "")
    assert bool(made["secure"]) is is_secure
    assert int(made["max-age"]) == 7 * 86400
    assert len(made.value) >= 43
    [row] = await SessionRow.all()
    assert row.secret_hash == hash_token(made.value)


async def test_behind_tls_the_plain_cookie_is_not_looked_at(panel: Panel):
    secret = await panel.secret("admin")
    async with panel.browser(None, base="https://gpuyard") as browser:
        browser.client.cookies.set("gpuyard_session", secret)
        assert location(await browser.get("/")) == "/login"


async def test_signing_in_again_ends_the_session_before(panel: Panel, ada: dict[str, str]):
    planted = await panel.secret("admin")
    async with panel.browser(None) as browser:
        browser.client.cookies.set("gpuyard_session", planted)
        answer = await browser.post("/login", ada, **{"sec-fetch-site": "same-origin"})
        assert cookie(answer, "gpuyard_session").value != planted
    assert await sessions.resume(planted, panel.clock.now()) is None


@pytest.mark.parametrize("wrong", [{"password": "guess"}, {"email": "grace@example.org"}, {"email": "a\0b"}])
async def test_a_wrong_password_and_an_unknown_account_get_the_same_words(
    panel: Panel, ada: dict[str, str], wrong: dict[str, str]
):
    async with panel.browser(None) as browser:
        answer = await sign_in(browser, {**ada, **wrong})
    assert answer.status_code == 422
    assert "The address or the password is wrong." in answer.text
    assert "gpuyard_session" not in answer.headers.get("set-cookie", "")
    assert await SessionRow.all().count() == 0


async def test_a_disabled_account_and_one_without_a_password_are_refused(panel: Panel, ada: dict[str, str]):
    await UserRow.filter(email="ada@example.org").update(disabled_at=panel.clock.now())
    async with panel.browser(None) as browser:
        assert (await sign_in(browser, ada)).status_code == 422
        assert (await sign_in(browser, {"email": "owner@example.org", "password": ""})).status_code == 422


async def test_too_many_tries_are_refused_even_with_the_right_password(panel: Panel, ada: dict[str, str]):
    async with panel.browser(None) as browser:
        for _ in range(ACCOUNT_TRIES):
            await sign_in(browser, {**ada, "password": "guess"})
        answer = await sign_in(browser, ada)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "901")
        assert "Too many tries" in answer.text
        panel.clock.advance(901)
        assert location(await sign_in(browser, ada)) == "/"


@pytest.mark.parametrize(
    ("after", "led_to"),
    [
        ("/orgs/acme/platform/servers", "/orgs/acme/platform/servers"),
        ("/orgs/acme/platform/gpu-workloads?show=live", "/orgs/acme/platform/gpu-workloads?show=live"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/\t/evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/logout", "/"),
        ("/login?next=/login", "/"),
    ],
)
async def test_after_signing_in_one_is_led_back_but_never_away(
    panel: Panel, ada: dict[str, str], after: str, led_to: str
):
    async with panel.browser(None) as browser:
        assert location(await sign_in(browser, ada, next=after)) == led_to


async def test_a_page_that_needs_a_session_leads_to_sign_in_and_back(panel: Panel):
    async with panel.browser(None) as browser:
        where = location(await browser.get("/orgs/acme/platform/gpu-workloads?show=live"))
        assert where == "/login?next=%2Forgs%2Facme%2Fplatform%2Fgpu-workloads%3Fshow%3Dlive"
        page = Page.of((await browser.get(where)).text)
    assert page.value("next") == "/orgs/acme/platform/gpu-workloads?show=live"


async def test_htmx_is_told_and_never_given_the_sign_in_page(panel: Panel):
    here = {"hx-request": "true", "hx-current-url": "http://gpuyard/orgs/acme/platform/servers"}
    async with panel.browser(None) as browser:
        answer = await browser.get("/orgs/acme/platform/servers", **here)
    assert (answer.status_code, answer.text) == (401, "")
    assert answer.headers["hx-redirect"] == "/login?next=%2Forgs%2Facme%2Fplatform%2Fservers"


async def test_signing_out_ends_the_session_and_the_cookie(panel: Panel):
    async with panel.browser() as browser:
        secret = browser.client.cookies["gpuyard_session"]
        assert "Sign out" in (await browser.get("/logout")).text
        answer = await browser.post("/logout")
        assert location(answer) == "/login"
        assert cookie(answer, "gpuyard_session")["max-age"] == "0"
        assert location(await browser.get(PROJECTS)).startswith("/login")
        assert location(await browser.post("/logout")) == "/login"
        assert location(await browser.get("/logout")) == "/login"
    assert await sessions.resume(secret, panel.clock.now()) is None


async def test_a_session_ends_after_twelve_idle_hours(panel: Panel):
    async with panel.browser() as browser:
        for _ in range(3):
            panel.clock.advance(11 * 3600)
            assert (await browser.get(PROJECTS)).status_code == 200
        panel.clock.advance(12 * 3600)
        assert location(await browser.get(PROJECTS)).startswith("/login")


async def test_a_page_left_open_does_not_keep_a_session_alive(panel: Panel):
    async with panel.browser() as browser:
        panel.clock.advance(11 * 3600)
        polled = await browser.get("/orgs/acme/platform/servers", **{"hx-request": "true"})
        assert polled.status_code == 200
        panel.clock.advance(3600)
        assert location(await browser.get(PROJECTS)).startswith("/login")


async def test_a_session_ends_after_seven_days_in_any_case(panel: Panel):
    async with panel.browser() as browser:
        for _ in range(7 * 24 // 8 - 1):
            panel.clock.advance(8 * 3600)
            assert (await browser.get(PROJECTS)).status_code == 200
        panel.clock.advance(8 * 3600)
        assert location(await browser.get(PROJECTS)).startswith("/login")


async def test_a_disabled_person_is_out_at_the_next_request(panel: Panel):
    async with panel.browser() as browser:
        await UserRow.filter(email="admin@example.org").update(disabled_at=panel.clock.now())
        assert location(await browser.get(PROJECTS)).startswith("/login")


async def test_sessions_that_are_over_are_forgotten_at_the_next_sign_in(panel: Panel):
    await panel.secret("admin")
    panel.clock.moment += timedelta(hours=13)
    await panel.secret("owner")
    assert await SessionRow.all().count() == 1
