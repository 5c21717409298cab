"""Every page for every role: who sees it, who is led where, and what each answer carries."""

from __future__ import annotations

from typing import cast
from uuid import UUID

import pytest

from app.domain.observed import ObservedNode
from app.store import people
from app.store.models import AuditRow
from tests.panel.world import HTMX, LIST, Page, Panel, location, row_ids

SERVERS = "/orgs/acme/platform/servers"
USAGE = "/orgs/acme/platform/usage"
PROJECTS = "/orgs/acme/projects"
ABSENT = UUID("0123456789abcdef0123456789abcdef")
HOSTILE = '<script>alert("1")</script>'


@pytest.mark.parametrize("who", ["owner", "admin", "member", "viewer"])
async def test_everybody_sees_the_projects(panel: Panel, who: str):
    async with panel.browser(who) as browser:
        page = Page.of((await browser.get(PROJECTS)).text)
    assert "Vision" in page.text
    assert bool(page.all("a", href=LIST)) is (who in ("owner", "admin"))


@pytest.mark.parametrize("who", ["owner", "admin"])
@pytest.mark.parametrize("path", [LIST, SERVERS, USAGE])
async def test_owners_and_admins_see_the_rest(panel: Panel, who: str, path: str):
    async with panel.browser(who) as browser:
        assert (await browser.get(path)).status_code == 200


REFUSALS = [
    pytest.param("member", "acme", "owner_or_admin_only", "your role is member", id="member"),
    pytest.param("viewer", "acme", "owner_or_admin_only", "your role is viewer", id="viewer"),
    pytest.param("owner", "paused", "feature_disabled", "are not enabled for paused", id="feature-off"),
    pytest.param("owner", "empty", "no_gpu_server", "has no server with a GPU", id="no-server"),
]


@pytest.mark.parametrize(("who", "slug", "code", "words"), REFUSALS)
@pytest.mark.parametrize("page", ["gpu-workloads", "servers", "usage", f"gpu-workloads/{ABSENT}", f"gpus/{ABSENT}"])
async def test_others_are_led_to_the_projects_with_the_reason(
    panel: Panel, who: str, slug: str, code: str, words: str, page: str
):
    async with panel.browser(who) as browser:
        where = location(await browser.get(f"/orgs/{slug}/platform/{page}"))
        assert where == f"/orgs/{slug}/projects?reason={code}"
        assert words in Page.of((await browser.get(where)).text).text


@pytest.mark.parametrize(("who", "slug", "code", "words"), REFUSALS)
async def test_a_refused_submission_leads_there_too(panel: Panel, who: str, slug: str, code: str, words: str):
    path = f"/orgs/{slug}/platform/gpu-workloads"
    async with panel.browser(who) as browser:
        assert location(await browser.post(path, {"image": "busybox"})) == f"/orgs/{slug}/projects?reason={code}"
        answer = await browser.post(path, {"image": "busybox"}, **HTMX)
    assert (answer.status_code, answer.text) == (403, "")
    assert answer.headers["hx-redirect"] == f"/orgs/{slug}/projects?reason={code}"
    assert await AuditRow.filter(action="submit_workload", organization_slug=slug).count() == 2


async def test_a_reason_that_has_gone_away_is_not_shown(panel: Panel):
    await people.set_gpu_workloads_enabled("paused", enabled=True)
    async with panel.browser("owner") as browser:
        page = Page.of((await browser.get("/orgs/paused/projects?reason=feature_disabled")).text)
    assert "refusal" not in page.ids


@pytest.mark.parametrize("path", ["/orgs/acme/projects", LIST, SERVERS, f"{LIST}/live", "/orgs/nowhere/projects"])
async def test_strangers_learn_nothing(panel: Panel, path: str):
    async with panel.browser("stranger") as browser:
        answer = await browser.get(path)
    assert answer.status_code == 404
    assert "Acme" not in answer.text


async def test_a_workload_of_another_organization_is_not_there(panel: Panel):
    theirs = await panel.workload(org="other")
    async with panel.browser() as browser:
        for path in ("", "/log"):
            assert (await browser.get(f"{LIST}/{theirs.id}{path}")).status_code == 404
        assert (await browser.post(f"{LIST}/{theirs.id}/cancel")).status_code == 404


PAGES = ["/login", "/nowhere", "/static/gpuyard.css", "/healthz", PROJECTS, LIST, SERVERS, f"{LIST}/{ABSENT}"]


@pytest.mark.parametrize("path", PAGES)
async def test_every_answer_carries_the_security_headers(panel: Panel, path: str):
    async with panel.browser(None if path == "/login" else "admin") as browser:
        headers = (await browser.get(path)).headers
    policy = {part.split()[0]: part for part in headers["content-security-policy"].split("; ")}
    assert policy["default-src"] == "default-src 'self'"
    assert policy["img-src"] == "img-src 'self' data:"
    for name in ("base-uri", "object-src", "frame-ancestors"):
        assert policy[name] == f"{name} 'none'"
    assert policy["form-action"] == "form-action 'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "strict-transport-security" not in headers
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")


async def test_behind_tls_browsers_are_told_to_stay_there(panel: Panel):
    async with panel.browser(None, base="https://gpuyard") as browser:
        headers = (await browser.get("/login")).headers
    assert headers["strict-transport-security"] == "max-age=31536000"


async def test_files_named_with_their_digest_may_be_kept(panel: Panel):
    async with panel.browser(None) as browser:
        page = Page.of((await browser.get("/login")).text)
        for name in [a["href"] for a in page.all("link")] + [a["src"] for a in page.all("script")]:
            answer = await browser.get(name)
            assert answer.status_code == 200, name
            assert "immutable" in answer.headers["cache-control"]


async def test_pages_have_no_inline_script_or_style_and_no_foreign_address(panel: Panel):
    await panel.running(await panel.workload())
    async with panel.browser() as browser:
        for path in ("/login", PROJECTS, LIST, SERVERS, USAGE, "/nowhere"):
            page = Page.of((await browser.get(path)).text)
            assert all(a.get("src") for a in page.all("script"))
            assert not page.all("style")
            for _, attributes in page.tags:
                assert not {"style", "onclick", "hx-on"} & attributes.keys()
                for name in ("href", "src", "action"):
                    assert attributes.get(name, "/").startswith(("/", "#"))


async def test_ids_are_unique_on_every_page(panel: Panel):
    workload = await panel.running(await panel.workload(spec={"env_vars": (("A", "1"),)}))
    await panel.workload()
    async with panel.browser() as browser:
        for path in (PROJECTS, LIST, f"{LIST}/{workload.id}", SERVERS, USAGE, "/nowhere", "/logout"):
            ids = Page.of((await browser.get(path)).text).ids
            assert len(ids) == len(set(ids)), path


async def test_every_input_has_a_label_and_every_page_a_heading(panel: Panel):
    async with panel.browser() as browser:
        page = Page.of((await browser.get(LIST)).text)
    labelled = {a["for"] for a in page.all("label")}
    inputs = [a for tag in ("input", "select", "textarea") for a in page.all(tag) if a.get("type") != "hidden"]
    assert {a["id"] for a in inputs} == labelled
    assert len(page.all("h1")) == 1
    assert page.all("a", href="#main")


async def test_what_people_and_images_are_called_is_text(panel: Panel):
    name, image = HOSTILE, "busybox:1.36"
    spec = {"name": name, "image": image, "env_vars": (("A", HOSTILE),), "args": (HOSTILE,)}
    workload = await panel.workload(spec=spec, message=HOSTILE, submitted_by=HOSTILE)
    await people.add_project(panel.organizations["acme"].id, "hostile", HOSTILE, panel.clock.now())
    async with panel.browser() as browser:
        for path in (LIST, f"{LIST}/{workload.id}", PROJECTS, f"{LIST}?accepted={workload.id}"):
            html = (await browser.get(path)).text
            assert "<script>" not in html, path
            assert HOSTILE in Page.of(html).text, path


async def test_an_unknown_page_is_a_page(panel: Panel):
    async with panel.browser() as browser:
        answer = await browser.get("/orgs/acme/nothing")
    assert answer.status_code == 404
    assert "Back to your projects" in answer.text


async def test_a_failure_is_a_page_with_a_number_and_without_details(panel: Panel):
    panel.background.clusters[0].projection._nodes["x"] = cast("ObservedNode", None)  # a defect of ours
    async with panel.browser() as browser:
        answer = await browser.get(SERVERS)
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "Traceback" not in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]


async def test_the_list_is_newest_first_and_goes_on(panel: Panel):
    made = []
    for _ in range(52):
        panel.clock.advance(1)
        made.append(str((await panel.workload()).id))
    async with panel.browser() as browser:
        first = (await browser.get(LIST)).text
        [older] = Page.of(first).all("a", rel="next")
        second = (await browser.get(older["href"])).text
    assert row_ids(first) + row_ids(second) == made[::-1]
    assert Page.of(second).all("a", href=LIST)


async def test_filters(panel: Panel):
    waiting, running = await panel.workload(), await panel.running(await panel.workload())
    ended = await panel.ended(await panel.running(await panel.workload()))
    wanted = {"all": {waiting, running, ended}, "live": {waiting, running}, "ended": {ended}, "pending": {waiting}}
    async with panel.browser() as browser:
        for show, workloads in wanted.items():
            found = set(row_ids((await browser.get(f"{LIST}?show={show}")).text))
            assert found == {str(w.id) for w in workloads}, show


async def test_servers_show_what_is_on_record_and_what_is_free(panel: Panel):
    async with panel.browser() as browser:
        page = Page.of((await browser.get(SERVERS)).text)
        fragment = (await browser.get(SERVERS, **HTMX)).text
    assert "unknown of 8" in page.text
    assert "the cluster does not show it" in page.text
    assert fragment.lstrip().startswith('<div id="servers"')
    assert "<html" not in fragment
