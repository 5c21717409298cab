"""Live pages: what streams say, that nothing is missed over a reconnect, and how they end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from app.auth import TRUSTED_SECONDS, sessions
from app.domain.people import Role
from app.domain.workload import Workload
from app.panel.live import TICK_SECONDS
from app.store import people
from app.store.models import UserRow
from tests.panel.reader import Stream, reading
from tests.panel.world import GPU, LIST, Page, Panel, row_ids

LIVE = f"{LIST}/live"


def partials(html: str, *swaps: str) -> str:
    found = re.findall(r'<hx-partial hx-target="[^"]+" hx-swap="([^"]+)">(.*?)</hx-partial>', html, re.DOTALL)
    return "".join(inner for swap, inner in found if swap in swaps)


def added(html: str) -> list[str]:
    return row_ids(partials(html, "afterbegin", "afterend"))


def whole(html: str) -> list[str]:
    """The rows of a message that tells all of them anew."""
    return row_ids(partials(html, "innerMorph"))


def changed(html: str) -> list[str]:
    return row_ids(partials(html, "outerMorph"))


def gone(html: str) -> list[str]:
    return re.findall(r'<hx-partial hx-target="#w-([0-9a-f-]+)" hx-swap="delete">', html)


async def live_url(panel: Panel, path: str = LIST) -> str:
    """What the page connects to."""
    async with panel.browser() as browser:
        [live] = Page.of((await browser.get(path)).text).all("div", id="live")
    return live["hx-sse:connect"]


@asynccontextmanager
async def following(panel: Panel, served: str, path: str = LIST) -> AsyncIterator[Stream]:
    """A stream that has told all of the page: whatever it tells from here on has changed since."""
    async with reading(panel, served, re.sub("have=[^&]+", "have=", await live_url(panel, path))) as stream:
        await stream.swapped()
        yield stream


async def test_a_new_row_comes_then_changes_and_is_spoken_of(panel: Panel, served: str):
    async with following(panel, served) as stream:
        workload = await panel.workload()
        assert added((await stream.swapped()).data) == [str(workload.id)]
        workload = await panel.running(workload)
        panel.bus.wake_events(workload.organization_id)
        message = await stream.swapped()
        assert (changed(message.data), added(message.data)) == ([str(workload.id)], [])
        assert "train: running" in Page.of(message.data).text
        assert GPU in message.data


async def test_the_head_of_a_stream(panel: Panel, served: str):
    async with reading(panel, served, LIVE) as stream:
        headers = stream.response.headers
    assert headers["content-type"].startswith("text/event-stream")
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
    assert "default-src 'self'" in headers["content-security-policy"]


async def test_what_happened_between_page_and_stream_is_told(panel: Panel, served: str):
    seen = await panel.workload()
    url = await live_url(panel)
    panel.clock.advance(1)
    workload = await panel.workload()
    async with reading(panel, served, url) as stream:
        assert whole((await stream.swapped()).data) == [str(workload.id), str(seen.id)]


async def is_told_nothing(panel: Panel, stream: Stream) -> bool:
    """The second tick comes after the first look."""
    first = await stream.next()
    panel.clock.advance(TICK_SECONDS)
    return (first.event, (await stream.next()).event) == ("tick", "tick")


async def test_a_page_that_shows_what_is_true_is_told_nothing(panel: Panel, served: str):
    await panel.workload()
    async with reading(panel, served, await live_url(panel)) as stream:
        assert await is_told_nothing(panel, stream)


async def test_a_dropped_stream_goes_on_where_it_was(panel: Panel, served: str):
    async with following(panel, served) as stream:
        seen = await panel.workload()
        message = await stream.swapped()
    url, last = await live_url(panel), {"last-event-id": message.id}
    async with reading(panel, served, url, **last) as stream:
        assert await is_told_nothing(panel, stream)
    missed = [await panel.workload() for _ in range(3)]
    async with reading(panel, served, url, **last) as stream:
        assert set(whole((await stream.swapped()).data)) == {str(w.id) for w in (seen, *missed)}


async def test_a_detail_without_an_event_is_told(panel: Panel, served: str):
    workload = await panel.running(await panel.workload())
    async with following(panel, served) as stream:
        await panel.change(workload, gpus=(GPU, "GPU-99999999-0000"))
        message = await stream.swapped()
    assert changed(message.data) == [str(workload.id)]
    assert "GPU-99999999-0000" in message.data


async def test_with_a_filter_rows_come_and_go_and_what_became_of_them_is_said(panel: Panel, served: str):
    workload = await panel.running(await panel.workload())
    running, ended = f"{LIST}?show=running", f"{LIST}?q=exitCode==0"
    async with following(panel, served, running) as one, following(panel, served, ended) as other:
        await panel.ended(workload)
        message = await one.swapped()
        assert gone(message.data) == [str(workload.id)]
        assert "No longer on this page: train completed" in Page.of(message.data).text
        assert Page.of(message.data).all("a", href=f"{LIST}/{workload.id}")
        assert added((await other.swapped()).data) == [str(workload.id)]


async def test_what_newer_ones_push_out_goes_without_a_word_and_the_next_page_begins_with_it(panel: Panel, served: str):
    made = await several(panel, 50)
    async with following(panel, served) as stream:
        [new] = await several(panel, 1)
        message = await stream.swapped()
        assert (added(message.data), gone(message.data)) == ([str(new.id)], [str(made[0].id)])
        page = Page.of(message.data)
    assert "No longer" not in page.text
    [link] = page.all("a", rel="next")
    async with panel.browser() as browser:
        assert row_ids((await browser.get(link["href"])).text) == [str(made[0].id)]


async def test_a_row_that_moves_in_the_order_is_told_with_all_of_them(panel: Panel, served: str):
    first, second = await several(panel, 2)
    await panel.running(first)
    async with following(panel, served, f"{LIST}?sort=-startedAt") as stream:
        panel.clock.advance(1)
        await panel.running(second)
        panel.bus.wake_events(first.organization_id)
        assert whole((await stream.swapped()).data) == [str(second.id), str(first.id)]


async def test_an_older_page_takes_no_new_rows(panel: Panel, served: str):
    made = await several(panel, 51)
    async with panel.browser() as browser:
        [older] = Page.of((await browser.get(LIST)).text).all("a", rel="next")
    async with following(panel, served, older["href"]) as stream:
        await panel.workload()
        await panel.change(made[0], message="needs more")
        message = await stream.swapped()
    assert (added(message.data), changed(message.data)) == ([], [str(made[0].id)])


@pytest.mark.parametrize("have", ["x", "9" * 40, "²"])
async def test_whoever_shows_something_else_is_told_all(panel: Panel, served: str, have: str):
    workload = await panel.ended(await panel.running(await panel.workload()))
    async with reading(panel, served, f"{LIVE}?have={have}") as stream:
        assert whole((await stream.swapped()).data) == [str(workload.id)]


async def several(panel: Panel, count: int) -> list[Workload]:
    """The oldest first."""
    made: list[Workload] = []
    for _ in range(count):
        panel.clock.advance(1)
        made.append(await panel.workload())
    return made


async def test_the_page_of_one_workload(panel: Panel, served: str):
    workload = await panel.workload()
    async with reading(panel, served, await live_url(panel, f"{LIST}/{workload.id}")) as stream:
        assert 'hx-target="#workload" hx-swap="outerMorph"' in (await stream.swapped()).data
        assert (await stream.next()).event == "changed"
        await panel.running(workload)
        panel.bus.wake_events(workload.organization_id)
        message = await stream.swapped()
        assert "Executing on gpu-1." in message.data
        assert "train: running" in Page.of(message.data).text


async def test_it_gives_signs_of_life(panel: Panel, served: str):
    async with reading(panel, served, await live_url(panel)) as stream:
        first = await stream.next()
        panel.clock.advance(TICK_SECONDS)
        second = await stream.next()
    assert [m.event for m in (first, second)] == ["tick", "tick"]
    assert (first.data, second.data) == ("2026-11-30T12:00:00Z", "2026-11-30T12:00:10Z")


async def sign_out(panel: Panel) -> None:
    await UserRow.filter(email="admin@example.org").update(disabled_at=panel.clock.now())


async def take_role_away(panel: Panel) -> None:
    await people.set_membership(panel.organizations["acme"].id, panel.users["admin"], Role.VIEWER, panel.clock.now())


async def switch_off(panel: Panel) -> None:
    await people.set_gpu_workloads_enabled("acme", enabled=False)


async def wait_for_days(panel: Panel) -> None:
    panel.clock.advance(sessions.ABSOLUTE_LIMIT.total_seconds())


@pytest.mark.parametrize("lose_it", [sign_out, take_role_away, switch_off, wait_for_days])
async def test_it_ends_soon_after_the_right_to_look(
    panel: Panel, served: str, lose_it: Callable[[Panel], Awaitable[None]]
):
    async with reading(panel, served, LIVE) as stream:
        await stream.next()
        await lose_it(panel)
        panel.clock.advance(TRUSTED_SECONDS)
        await panel.workload()
        *_, said, bye = await stream.rest()
    assert "You are signed out" in said.data
    assert bye.event == "bye"
    assert "<tr" not in said.data


async def test_signing_out_ends_it_too(panel: Panel, served: str):
    async with reading(panel, served, LIVE) as stream:
        await stream.next()
        secret = re.findall("gpuyard_session=(.*)", stream.response.request.headers["cookie"])[0]
        await sessions.end(secret)
        panel.clock.advance(TRUSTED_SECONDS)
        assert (await stream.rest())[-1].event == "bye"


async def test_at_shutdown_it_ends_by_itself_and_asks_the_page_back(panel: Panel, served: str):
    async with reading(panel, served, LIVE) as stream:
        await stream.next()
        panel.streams.end_all()
        last = (await stream.rest())[-1]
    assert (last.event, last.retry) == ("restart", "1000")


async def test_when_the_browser_goes_nobody_is_waited_for(panel: Panel, served: str):
    async with reading(panel, served, LIVE) as stream:
        await stream.next()
        assert len(panel.streams._signals) == 1
    async with asyncio.timeout(60):
        while panel.streams._signals:  # noqa: ASYNC110 — nothing tells of it
            await asyncio.sleep(0.02)
    assert not panel.bus._tails


async def test_whoever_may_not_look_gets_a_status_and_no_stream(panel: Panel):
    accept = {"accept": "text/event-stream"}
    async with panel.browser("member") as browser:
        assert (await browser.get(LIVE, **accept)).status_code == 403
    async with panel.browser(None) as browser:
        answer = await browser.get(LIVE, **accept)
    assert (answer.status_code, "location" in answer.headers) == (401, False)
