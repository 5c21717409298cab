"""The servers' page as a map: a cell for each GPU, in words and marks, with who has it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from agent.report import DeviceHealth, DriverState, Health, HealthReason
from app.cluster.port import Kind
from app.domain.agents import InventorySource
from app.panel.server_listing import PAGE
from app.store import servers
from tests.clock import START
from tests.panel.gpus import SERVERS, gpu, pod_of, put_on_record, report, see
from tests.panel.world import HTMX, Browser, Page, Panel
from tests.placement.builders import node, pod
from tests.reports import XID_79, a_device, a_holder, a_mig_device, an_inventory

NAMES = [*(f"gpu-{n:03}" for n in range(PAGE + 1)), "gpu-1", "gpu-2"]
HOT = DeviceHealth(Health.WARNING, HealthReason.THERMAL, "too hot", START)


async def page_of(browser: Browser, query: str = "") -> Page:
    return Page.of((await browser.get(SERVERS + query)).text)


async def the_page(panel: Panel, query: str = "") -> Page:
    async with panel.browser() as browser:
        return await page_of(browser, query)


def cells(page: Page) -> list[tuple[str, str]]:
    """State and words of each, in order."""
    found = [a for tag, a in page.tags if tag in ("a", "span") and "aria-label" in a and a.get("class", "")[:2] == "g "]
    return [(a["class"].removeprefix("g "), a["aria-label"]) for a in found]


def legend(page: Page) -> dict[str, int]:
    [text] = re.findall(r"Map (.*?) gpu-", page.text)
    return {words: int(count) for words, count in re.findall(r"([a-z][a-z ]*) (\d+)", text)}


async def test_a_cell_says_what_its_gpu_is_and_leads_to_it(panel: Panel):
    see(panel)
    ours, theirs = await panel.running(await panel.workload(spec={"name": "train"})), await panel.workload(org="other")
    theirs = await panel.running(theirs)
    devices = [a_device(n) for n in range(5)] + [a_device(5, health=XID_79), a_device(6, health=HOT), a_device(7)]
    holders = (
        a_holder(pod_of(ours), 1),
        a_holder(pod_of(ours), 2),
        a_holder("notebook", 3, namespace="lab"),
        a_holder(pod_of(theirs), 4),
        a_holder(pod_of(ours), 5),
    )
    await report(panel, inventory=an_inventory(devices=tuple(devices)), holders=holders)
    page = await the_page(panel)
    assert cells(page)[:8] == [
        ("free", "GPU 0: free"),
        ("ours", "GPU 1: ours; train"),
        ("ours", "GPU 2: ours; train"),
        ("foreign", "GPU 3: foreign; lab/notebook"),
        ("in_use", "GPU 4: in use"),
        ("failed", "GPU 5: failed; fell off the bus; train"),
        ("warning", "GPU 6: warning; too hot"),
        ("free", "GPU 7: free"),
    ]
    assert legend(page) == {"free": 4, "ours": 2, "foreign": 1, "in use": 1, "warning": 1, "failed": 1}
    assert page.all("a", href=await gpu(3))
    assert page.all("a", href=f"/orgs/acme/platform/gpu-workloads/{ours.id}")
    assert "1\u20132, 5 train" in page.text
    assert "3 lab/notebook" in page.text
    assert str(theirs.id) not in str(page.tags)


async def test_gpus_of_which_no_agent_tells_are_counted(panel: Panel):
    see(panel, node("gpu-1", 8, allocatable_gpus=(("nvidia.com/gpu", 7),)), node("gpu-2", 2, is_cordoned=True))
    page = await the_page(panel)
    assert [state for state, _ in cells(page)] == ["free"] * 7 + ["failed"] + ["closed"] * 2
    assert cells(page)[0][1] == "A GPU: free"


async def test_a_silent_server_is_stale_with_the_time(panel: Panel):
    see(panel)
    panel.background.board.inventory.source = InventorySource.AGENT
    await report(panel, inventory=an_inventory(8))
    await report(panel, node="gpu-2", inventory=an_inventory(2))
    panel.clock.advance(1000)
    await report(panel, 2, node="gpu-2")
    page = await the_page(panel)
    assert legend(page) == {"free": 2, "stale": 8}
    assert "without a fresh report of its node agent, last report 16 min ago (lost)" in page.text
    assert "unhealthy" not in page.text


async def test_before_an_agent_reports_nothing_is_known(panel: Panel):
    see(panel)
    panel.background.board.inventory.source = InventorySource.AGENT
    assert legend(await the_page(panel)) == {"unknown": 10}


async def test_where_the_driver_fails_nothing_is_known(panel: Panel):
    see(panel)
    await report(panel, inventory=an_inventory(8))
    await report(panel, 2, inventory=an_inventory(8, state=DriverState.MISMATCH, message="580 and 570"))
    assert legend(await the_page(panel))["unknown"] == 8


async def test_the_smaller_number_counts_and_the_difference_is_told(panel: Panel):
    see(panel)
    await report(panel, inventory=an_inventory(devices=(*map(a_device, range(7)), a_device(7, health=XID_79))))
    page = await the_page(panel)
    assert "9 of 10 GPUs free" in page.text
    words = "the cluster offers 8 GPUs, the node agent knows 7 whole GPUs in order; the smaller number counts"
    assert words in page.text.lower().replace("gpus", "GPUs").replace("gpu ", "GPU ")


async def test_a_gpu_in_mig_mode_is_split(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload(spec={"name": "train"}))
    holder = replace(a_holder(pod_of(ours)), device="MIG-0-1")
    await report(panel, inventory=an_inventory(devices=(a_mig_device(), a_device(1))), holders=(holder,))
    page = await the_page(panel)
    assert cells(page)[0] == ("ours", "GPU 0: ours; 1g.10gb free, 1g.10gb ours train")
    assert [a["class"] for a in page.all("i")] == ["free", "ours"]
    assert "0 (1g.10gb) train" in page.text


async def test_shared_gpus_show_their_shares(panel: Panel):
    shares = (("nvidia.com/gpu.shared", 8),)
    await put_on_record(panel, [node("gpu-1", capacity_gpus=shares, allocatable_gpus=shares)])
    ours = await panel.running(await panel.workload(spec={"name": "train"}))
    holders = (a_holder(pod_of(ours), is_shared=True), a_holder("notebook", namespace="lab", is_shared=True))
    await report(panel, inventory=an_inventory(2), holders=holders)
    page = await the_page(panel)
    assert cells(page)[:2] == [
        ("ours", "GPU 0: ours; 2 of 4 shares in use; lab/notebook, train"),
        ("free", "GPU 1: free; 0 of 4 shares in use"),
    ]
    assert [a["data-shares"] for a in page.all("small") if "data-shares" in a] == ["2/4", "0/4"]
    assert "0 (share) train" in page.text


async def test_a_workload_that_is_over_has_nothing_though_the_agent_has_not_told(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload())
    await report(panel, inventory=an_inventory(8), holders=(a_holder(pod_of(ours)),))
    await panel.ended(ours)
    assert legend(await the_page(panel))["free"] == 10


async def test_what_has_not_changed_is_not_sent_again(panel: Panel):
    see(panel)
    await report(panel, inventory=an_inventory(8))
    async with panel.browser() as browser:
        [again] = [a["hx-get"] for a in (await page_of(browser)).all("div", id="servers")]
        panel.clock.advance(10)
        assert (await browser.get(again, **HTMX)).status_code == 204
        await report(panel, 2, holders=(a_holder("notebook", 3),))
        changed = await browser.get(again, **HTMX)
    assert changed.status_code == 200
    assert "gpuyard/notebook" in changed.text


@pytest.fixture
async def many(panel: Panel) -> Panel:
    """Three servers more than a page has; the agent of one tells of a failed GPU."""
    await put_on_record(panel, [node(name, 2) for name in NAMES])
    await report(panel, node="gpu-007", inventory=an_inventory(devices=(a_device(0, health=XID_79), a_device(1))))
    return panel


def shown(page: Page) -> list[str]:
    return [a["id"].removeprefix("server-") for a in page.all("tr") if a.get("id", "").startswith("server-gpu")]


async def test_many_servers_come_in_pages_with_the_sums_of_all(many: Panel):
    async with many.browser() as browser:
        first = await page_of(browser)
        [further] = first.all("a", rel="next")
        last = Page.of((await browser.get(further["href"])).text)
    assert shown(first) + shown(last) == NAMES
    assert [len(shown(first)), len(cells(first))] == [PAGE, 2 * PAGE]
    for page in (first, last):
        assert f"{2 * PAGE + 5} of {2 * PAGE + 6} GPUs free" in page.text
        assert legend(page) == {"free": 2 * PAGE + 5, "failed": 1}
    assert not last.all("a", rel="next")


async def test_servers_are_found_by_name_and_by_what_their_gpus_are(many: Panel):
    async with many.browser() as browser:
        assert shown(await page_of(browser, "?q=GPU-04")) == NAMES[40:50]
        failed = await page_of(browser, "?show=failed")
        nothing = await page_of(browser, "?q=nowhere")
    assert shown(failed) == ["gpu-007"]
    assert failed.all("a", href=SERVERS)
    assert shown(nothing) == []
    assert "No server here matches" in nothing.text


@pytest.mark.parametrize("query", ["?page=0", "?page=x", "?page=9999999", "?show=broken"])
async def test_what_there_is_not_is_not_found(panel: Panel, query: str):
    async with panel.browser() as browser:
        assert (await browser.get(SERVERS + query)).status_code == 404


async def test_a_cordon_leads_back_to_the_same_page(many: Panel):
    server = next(it for it in await servers.all_servers() if it.name == "gpu-2")
    async with many.browser() as browser:
        page = await page_of(browser, "?page=2")
        [form] = page.all("form", action=f"{SERVERS}/{server.id}/cordon?page=2")
        answer = await browser.post(form["action"], {"version": "1"})
    assert answer.headers["location"] == f"{SERVERS}?page=2"


async def test_what_pods_ask_for_before_the_agent_tells_who_has_it(panel: Panel):
    see(panel)
    panel.background.clusters[0].projection.replace(Kind.PODS, [pod("gpu-1", gpus=3)])
    await report(panel, inventory=an_inventory(8), holders=(a_holder("theirs", 2),))
    assert "5 of 8 free" in (page := await the_page(panel)).text
    assert "2 GPUs asked for; who has them, its agent has not told yet" in page.text
