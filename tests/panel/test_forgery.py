"""Every state-changing request: a token of our own form, and no sign of another site."""

from __future__ import annotations

import pytest

from tests.panel.world import HTMX, LIST, Panel, location, written

SAME_ORIGIN = {"sec-fetch-site": "same-origin"}
OWN = [
    pytest.param({}, id="a-program-sends-neither"),
    pytest.param({"origin": "http://gpuyard"}, id="own-origin"),
    pytest.param({"origin": "https://gpuyard"}, id="own-host-behind-a-proxy"),
    pytest.param(SAME_ORIGIN, id="same-origin"),
    pytest.param({"sec-fetch-site": "none"}, id="typed-address"),
]
FOREIGN = [
    pytest.param({"origin": "http://evil.example"}, id="foreign-origin"),
    pytest.param({"origin": "null"}, id="opaque-origin"),
    pytest.param({"origin": "http://gpuyard.evil.example"}, id="longer-host"),
    pytest.param({"origin": "http://gpuyard:8000"}, id="another-port"),
    pytest.param({"sec-fetch-site": "cross-site"}, id="cross-site"),
    pytest.param({"sec-fetch-site": "same-site"}, id="same-site"),
    pytest.param({"sec-fetch-site": "same-origin", "origin": "http://evil.example"}, id="contradiction"),
]


@pytest.mark.parametrize("headers", OWN)
async def test_a_form_with_its_token_is_taken(panel: Panel, headers: dict[str, str]):
    async with panel.browser() as browser:
        assert "accepted=" in location(await browser.post(LIST, {"image": "busybox"}, **headers))


@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_foreign_request_is_refused_although_the_token_is_right(panel: Panel, headers: dict[str, str]):
    workload = await panel.workload()
    before = await written()
    async with panel.browser() as browser:
        for path in (LIST, f"{LIST}/{workload.id}/cancel", "/logout"):
            answer = await browser.post(path, {"image": "busybox"}, **headers)
            assert (answer.status_code, "came from another site" in answer.text) == (403, True)
        assert (await browser.get(LIST)).status_code == 200
    assert await written() == before


@pytest.mark.parametrize("token", ["", "0" * 64, "é"], ids=["none", "another", "odd"])
async def test_a_form_without_the_right_token_is_refused(panel: Panel, token: str):
    workload = await panel.workload()
    before = await written()
    async with panel.browser() as browser:
        for path in (LIST, f"{LIST}/{workload.id}/cancel", "/logout"):
            answer = await browser.post(path, {"image": "busybox"}, token=token, **SAME_ORIGIN)
            assert (answer.status_code, "form has expired" in answer.text) == (403, True)
    assert await written() == before


async def test_the_token_of_another_session_is_not_taken(panel: Panel):
    async with panel.browser() as browser, panel.browser("owner") as other:
        assert (await browser.post(LIST, {"image": "busybox"}, token=other.form_token)).status_code == 403


async def test_the_token_may_come_in_a_header(panel: Panel):
    async with panel.browser() as browser:
        headers = {"x-form-token": browser.form_token, **HTMX}
        assert (await browser.post(LIST, {"image": "busybox"}, token="", **headers)).status_code == 200


@pytest.mark.parametrize("headers", [SAME_ORIGIN, {"origin": "http://gpuyard"}])
async def test_signing_in_needs_no_token_where_the_browser_vouches(panel: Panel, headers: dict[str, str]):
    async with panel.browser(None) as browser:
        answer = await browser.post("/login", {"email": "a@b.c", "password": "x"}, **headers)
    assert answer.status_code == 422


@pytest.mark.parametrize("headers", [{}, {"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}])
async def test_signing_in_is_refused_otherwise(panel: Panel, headers: dict[str, str]):
    async with panel.browser(None) as browser:
        answer = await browser.post("/login", {"email": "a@b.c", "password": "x"}, **headers)
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/login", "/logout", LIST, f"{LIST}/live", "/orgs/acme/projects"])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_refused(panel: Panel, path: str, method: str):
    async with panel.browser() as browser:
        assert (await browser.client.request(method, path)).status_code == 405


async def test_nothing_is_cancelled_by_a_link(panel: Panel):
    workload = await panel.workload()
    async with panel.browser() as browser:
        assert (await browser.get(f"{LIST}/{workload.id}/cancel")).status_code == 405
