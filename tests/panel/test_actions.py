"""What may be asked of a workload: in the list and on its page, with htmx and without."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

from app.domain.actions import Action
from app.domain.priority import Priority
from app.domain.states import Phase, Status
from app.domain.workload import Resources, Workload
from app.panel import urls
from app.store.models import AuditRow, WorkloadRow
from tests.panel.world import HTMX, LIST, Browser, Page, Panel, location, row_ids, stored


async def act(browser: Browser, action: Action, workload: Workload, **wanted: str) -> None:
    location(await browser.post(f"{LIST}/{workload.id}/{action}", wanted))


async def waiting(panel: Panel) -> Workload:
    return await panel.workload()


async def held(panel: Panel) -> Workload:
    workload = await panel.workload()
    async with panel.browser() as browser:
        await act(browser, Action.SUSPEND, workload)
    return await stored(workload.id)


async def running(panel: Panel) -> Workload:
    return await panel.running(await panel.workload())


async def ended(panel: Panel) -> Workload:
    return await panel.ended(await running(panel))


async def deleted(panel: Panel) -> Workload:
    workload = await ended(panel)
    async with panel.browser() as browser:
        await act(browser, Action.DELETE, workload)
    return await stored(workload.id)


Make = Callable[[Panel], Awaitable[Workload]]
STATES: list[tuple[Make, set[Action]]] = [
    (waiting, {Action.CANCEL, Action.SUSPEND}),
    (held, {Action.CANCEL, Action.RESUME}),
    (running, {Action.CANCEL, Action.SUSPEND}),
    (ended, {Action.RETRY, Action.DELETE}),
    (deleted, {Action.RETRY, Action.RESTORE}),
]


def buttons(html: str, workload: Workload) -> set[Action]:
    """Of which there is a form, with a button that names the workload."""
    page = Page.of(html)
    found = {action for action in Action if page.all("button", id=f"{action}-{workload.id}")}
    for action in found:
        [button] = page.all("button", id=f"{action}-{workload.id}")
        assert button["aria-label"] == f"{action.value.capitalize()} {workload.spec.name}"
        assert page.all("form", action=f"{LIST}/{workload.id}/{action}", method="post")
    return found


@pytest.mark.parametrize(("make", "offered"), STATES)
async def test_what_the_state_allows_is_offered_and_nothing_else(panel: Panel, make: Make, offered: set[Action]):
    workload = await make(panel)
    lists = f"{LIST}?show=deleted" if workload.deleted_at else LIST
    async with panel.browser() as browser:
        for path in (lists, f"{LIST}/{workload.id}"):
            found = buttons((await browser.get(path)).text, workload)
            assert found - {Action.PRIORITIZE} == offered
            is_page, is_over = path != lists, workload.status.is_terminal
            assert (Action.PRIORITIZE in found) is (is_page and not is_over)


@pytest.mark.parametrize("origin", ["list", "workload"])
@pytest.mark.parametrize(("make", "offered"), STATES)
async def test_without_htmx_each_leads_back_and_is_done(panel: Panel, make: Make, offered: set[Action], origin: str):
    for action in sorted(offered - {Action.RETRY}):
        workload = await make(panel)
        async with panel.browser() as browser:
            where = location(await browser.post(f"{LIST}/{workload.id}/{action}", {"from": origin}))
            assert where == (LIST if origin == "list" else f"{LIST}/{workload.id}")
            page = (await browser.get(f"{LIST}/{workload.id}")).text
        assert action not in buttons(page, workload)


async def test_who_cancelled_is_noted(panel: Panel):
    workload = await panel.workload()
    async with panel.browser() as browser:
        await act(browser, Action.CANCEL, workload)
    after = await stored(workload.id)
    assert (after.status, after.cancelled_by) == (Status.CANCELLED, "admin@example.org")


async def test_back_to_the_list_as_it_was_filtered(panel: Panel):
    query = "show=live&q=train&sort=name"
    async with panel.browser() as browser:
        for referer, expected in (
            (f"http://gpuyard{LIST}?{query}", f"{LIST}?{query}"),
            ("http://gpuyard/orgs/acme/projects?x=1", LIST),
            (f"http://evil.example{LIST}", LIST),
        ):
            path = f"{LIST}/{(await panel.workload()).id}/cancel"
            assert location(await browser.post(path, {"from": "list"}, referer=referer)) == expected


async def test_the_row_comes_back_alone(panel: Panel):
    workload = await running(panel)
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{workload.id}/cancel", {"from": "list"}, **HTMX)
    assert answer.text.lstrip().startswith(f'<hx-partial hx-target="#w-{workload.id}" hx-swap="outerMorph"><tr')
    assert row_ids(answer.text) == [str(workload.id)]
    assert "cancelling" in answer.text
    assert "<button" not in answer.text
    assert (await stored(workload.id)).cancel_requested_at is not None


async def test_the_page_of_the_workload_gets_its_part(panel: Panel):
    workload = await panel.workload()
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{workload.id}/cancel", {"from": "workload"}, **HTMX)
    assert answer.text.lstrip().startswith('<hx-partial hx-target="#workload" hx-swap="outerMorph"><div id="workload">')
    assert "cancelled by admin@example.org" in answer.text


async def test_suspended_and_resumed(panel: Panel):
    workload = await panel.workload()
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{workload.id}/suspend", {"from": "list"}, **HTMX)
        assert buttons(answer.text, workload) == {Action.CANCEL, Action.RESUME}
        assert (await stored(workload.id)).phase is Phase.SUSPENDED
        await act(browser, Action.RESUME, workload)
    assert (await stored(workload.id)).phase is Phase.RESUMING


async def test_what_runs_is_stopping_and_the_person_may_still_cancel(panel: Panel):
    workload = await running(panel)
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{workload.id}/suspend", {"from": "list"}, **HTMX)
    assert buttons(answer.text, workload) == {Action.CANCEL}
    assert "suspend asked for by admin@example.org" in Page.of(answer.text).text
    assert (await stored(workload.id)).phase is Phase.STOPPING


async def test_another_priority_is_given_on_the_page_and_shown_in_the_list(panel: Panel):
    workload = await panel.workload()
    path = f"{LIST}/{workload.id}/prioritize"
    async with panel.browser() as browser:
        location(await browser.post(path, {"from": "workload", "priority": "very low"}))
        page, listed = Page.of((await browser.get(f"{LIST}/{workload.id}")).text), await browser.get(LIST)
        answer = await browser.post(path, {"from": "workload", "priority": "high"}, **HTMX)
        none = await browser.post(path, {"from": "workload"}, **HTMX)
    assert "Must be one of very low, low" in Page.of(none.text).text, "no choice is not taken as medium"
    assert (await stored(workload.id)).spec.priority is Priority.VERY_LOW
    [chosen] = [option for option in page.all("option") if "selected" in option]
    assert chosen["value"] == "very low"
    assert "Priority very low" in page.text
    assert "very low priority" in Page.of(listed.text).text
    assert "Priorities above medium are given by owners of acme; your role is admin" in Page.of(answer.text).text


async def test_a_retry_leads_to_the_new_one_which_names_the_old(panel: Panel):
    old = await ended(panel)
    async with panel.browser() as browser:
        where = location(await browser.post(f"{LIST}/{old.id}/retry", {"from": "list"}))
        page = Page.of((await browser.get(where)).text)
    assert where != f"{LIST}/{old.id}"
    assert page.all("a", href=f"{LIST}/{old.id}")
    assert "Retry of" in page.text


async def test_a_retry_is_linked_beside_the_list_and_the_same_form_makes_one(panel: Panel):
    old = await ended(panel)
    async with panel.browser() as browser:
        key = re.findall(r'name="requestKey" value="([0-9a-f]{32})"', (await browser.get(f"{LIST}/{old.id}")).text)
        form = {"from": "list", "requestKey": key[0]}
        answers = [(await browser.post(f"{LIST}/{old.id}/retry", form, **HTMX)).text for _ in range(2)]
    links = {a["href"] for answer in answers for a in Page.of(answer).all("a")} - {f"{LIST}/{old.id}"}
    assert len(links) == 1
    assert await WorkloadRow.filter(retry_of=old.id).count() == 1
    assert row_ids(answers[0]) == [str(old.id)]


async def test_what_is_deleted_or_restored_leaves_its_list(panel: Panel):
    workload = await ended(panel)
    async with panel.browser() as browser:
        for action, here, there in (
            ("delete", LIST, f"{LIST}?show=deleted"),
            ("restore", f"{LIST}?show=deleted", LIST),
        ):
            assert row_ids((await browser.get(here)).text) == [str(workload.id)]
            answer = await browser.post(f"{LIST}/{workload.id}/{action}", {"from": "list"}, **HTMX)
            assert f'<hx-partial hx-target="#w-{workload.id}" hx-swap="delete">' in answer.text
            assert row_ids(answer.text) == []
            assert Page.of(answer.text).all("a", href=f"{LIST}/{workload.id}")
            assert row_ids((await browser.get(here)).text) == []
            assert row_ids((await browser.get(there)).text) == [str(workload.id)]


@pytest.mark.parametrize("origin", ["list", "workload"])
@pytest.mark.parametrize(
    ("make", "action", "words"),
    [
        (ended, Action.CANCEL, "has ended already: completed"),
        (ended, Action.SUSPEND, "has ended already: completed"),
        (running, Action.RESUME, "isn't suspended"),
        (running, Action.RETRY, "has not ended"),
        (waiting, Action.DELETE, "has not ended"),
    ],
)
async def test_what_the_state_does_not_allow_is_said(panel: Panel, make: Make, action: Action, words: str, origin: str):
    workload = await make(panel)
    path = f"{LIST}/{workload.id}/{action}"
    async with panel.browser() as browser:
        answer = await browser.post(path, {"from": origin}, **HTMX)
        assert words in Page.of(answer.text).text
        answer = await browser.post(path, {"from": origin})
        assert (answer.status_code, words in Page.of(answer.text).text) == (409, True)
    assert await stored(workload.id) == workload
    notes = await AuditRow.filter(action=f"{action}_workload", target=str(workload.id))
    assert [note.outcome for note in notes] == ["CONFLICT", "CONFLICT"]


async def test_what_no_server_can_hold_is_not_retried(panel: Panel):
    big = await panel.ended(await panel.running(await panel.workload(spec={"resources": Resources(16, 4000, 2**30)})))
    async with panel.browser() as browser:
        answer = await browser.post(f"{LIST}/{big.id}/retry", {"from": "list"}, **HTMX)
    assert answer.status_code == 200
    assert "16 GPUs on one server were asked for" in Page.of(answer.text).text


@pytest.mark.parametrize("action", urls.ACTIONS)
@pytest.mark.parametrize("who", ["member", "viewer"])
async def test_others_may_not(panel: Panel, who: str, action: Action):
    workload = await panel.workload()
    async with panel.browser(who) as browser:
        assert "reason=owner_or_admin_only" in location(await browser.post(f"{LIST}/{workload.id}/{action}"))
    assert await stored(workload.id) == workload


@pytest.mark.parametrize("action", urls.ACTIONS)
async def test_each_needs_the_form_token_and_a_post(panel: Panel, action: Action):
    workload = await panel.workload()
    async with panel.browser() as browser:
        assert (await browser.post(f"{LIST}/{workload.id}/{action}", token="")).status_code == 403
        assert (await browser.get(f"{LIST}/{workload.id}/{action}")).status_code == 405
    assert await stored(workload.id) == workload
