"""The page of one GPU: what it is, how it is, who has and had it, and who may look."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from agent.report import MigInstance
from app.panel.gpus import HISTORY
from app.store import servers
from app.store.gpu_failures import tell_gpu_failures
from app.store.gpu_models import GpuRow
from tests.panel.gpus import GPUS, SERVERS, gpu, pod_of, report, see
from tests.panel.world import HTMX, LIST, Page, Panel, location
from tests.placement.builders import node
from tests.reports import XID_79, a_device, a_holder, a_mig_device, a_sample, an_inventory

HOSTILE = '<script>alert("1")</script>'


async def the_page(panel: Panel, path: str) -> Page:
    async with panel.browser() as browser:
        answer = await browser.get(path)
    assert answer.status_code == 200
    return Page.of(answer.text)


async def one(panel: Panel, **changes: Any) -> Page:
    """The page of GPU 0, which is so; GPU 1 is beside it."""
    see(panel)
    await report(panel, inventory=an_inventory(devices=(a_device(0, **changes), a_device(1))))
    return await the_page(panel, await gpu())


async def test_it_says_what_the_gpu_is(panel: Panel):
    page = await one(panel, serial="1650924", nvlink_peers=("GPU-0001", "GPU-elsewhere"), persistence_mode=True)
    for words in (
        "GPU 0 of gpu-1",
        "free Nobody has it, and its server takes work.",
        "Health ok",
        "UUID GPU-0000",
        "PCI bus 00000000:00:00.0",
        "Product NVIDIA H100",
        "Memory 79.6 GiB",
        "Architecture Hopper",
        "Compute capability 9.0",
        "Serial number 1650924",
        "Persistence mode on",
        "Driver 570.86",
        "CUDA at most 12.8",
        "NVLink to GPU 1 , GPU-elsewhere",
    ):
        assert words in page.text
    assert page.all("a", href=await gpu(1))
    assert page.all("a", href=f"{SERVERS}?q=gpu-1")


async def test_a_failed_one_says_why_and_since_when(panel: Panel):
    panel.clock.advance(600)
    page = await one(panel, health=XID_79)
    assert "Health failed: it has fallen off the bus (fell off the bus) , XID 79, since 10 min ago" in page.text


async def test_a_silent_server_is_told(panel: Panel):
    await one(panel)
    panel.clock.advance(120)
    page = await the_page(panel, await gpu())
    assert (
        "Its server's agent is silent, last report 2 min ago (stale): what follows is what was known then" in page.text
    )


async def test_one_that_is_gone_is_still_there_to_read(panel: Panel):
    await one(panel)
    path = await gpu(1)
    await report(panel, 2, inventory=an_inventory(1))
    assert "has not told of it any more since just now" in (await the_page(panel, path)).text


async def test_it_has_its_slices_with_who_has_them(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload(spec={"name": "train"}))
    holder = replace(a_holder(pod_of(ours)), device="MIG-0-1")
    sliced = a_mig_device()
    sliced = replace(sliced, mig_instances=(*sliced.mig_instances, MigInstance("MIG-0-2", "3g.40gb", None)))
    await report(panel, inventory=an_inventory(devices=(sliced,)), holders=(holder,))
    page = await the_page(panel, await gpu())
    assert "1g.10gb free 9.62 GiB MIG-0-0 1g.10gb ours train 9.62 GiB MIG-0-1 3g.40gb free MIG-0-2" in page.text
    assert "train 1 1g.10gb" in page.text, "in its history too"


async def test_its_history_comes_in_pages_the_latest_first(panel: Panel):
    see(panel)
    for number in range(HISTORY + 1):
        await report(panel, number + 1, inventory=an_inventory(1), holders=(a_holder(f"pod-{number}"),))
        panel.clock.advance(60)
    path = await gpu()
    first, last = await the_page(panel, path), await the_page(panel, f"{path}?page=2")
    assert re.findall(r"gpuyard/pod-(\d+) ", first.text)[1:] == [str(n) for n in range(HISTORY, 0, -1)]
    assert "1 min still" in first.text
    assert first.all("a", href=f"{path}?page=2", rel="next")
    assert re.findall(r"gpuyard/pod-(\d+) ", last.text)[1:] == ["0"]
    assert not last.all("a", rel="next")


async def test_its_history_has_what_workloads_were_told_of_its_failure(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload(spec={"name": "train"}))
    await report(panel, inventory=an_inventory(2), holders=(a_holder(pod_of(ours), 0), a_holder(pod_of(ours), 1)))
    await tell_gpu_failures(ours, {"GPU-0001": "fell off the bus"}, panel.clock.now())
    words = "Its GPU GPU-0001 on gpu-1 is reported as failed: fell off the bus; nothing was stopped."
    assert f"train {words}" in (await the_page(panel, await gpu(1))).text
    assert words not in (await the_page(panel, await gpu(0))).text


async def test_a_slice_that_failed_is_in_the_history_of_its_gpu(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload(spec={"name": "train"}))
    holder = replace(a_holder(pod_of(ours)), device="MIG-0-1")
    await report(panel, inventory=an_inventory(devices=(a_mig_device(),)), holders=(holder,))
    await tell_gpu_failures(ours, {"MIG-0-1": "unhealthy"}, panel.clock.now())
    assert "Its GPU MIG-0-1 on gpu-1 is reported as failed" in (await the_page(panel, await gpu())).text


async def test_a_workload_leads_to_its_gpus_and_they_to_it(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload(spec={"name": HOSTILE}))
    await report(panel, inventory=an_inventory(2), holders=(a_holder(pod_of(ours), 1),))
    path = await gpu(1)
    page = await the_page(panel, path)
    assert f"Used by {HOSTILE}" in page.text
    assert page.all("a", href=f"{LIST}/{ours.id}")
    assert (await the_page(panel, f"{LIST}/{ours.id}")).all("a", href=path)


async def test_a_gpu_that_only_the_cluster_named_is_linked_where_it_is_on_record(panel: Panel):
    see(panel)
    ours = await panel.running(await panel.workload())
    assert not [a for a in (await the_page(panel, f"{LIST}/{ours.id}")).all("a") if a["href"].startswith(GPUS)]
    await report(panel, inventory=an_inventory(devices=(replace(a_device(), uuid=ours.gpus[0]),)))
    gpu_id = (await GpuRow.get(uuid=ours.gpus[0])).id
    assert (await the_page(panel, f"{LIST}/{ours.id}")).all("a", href=f"{GPUS}/{gpu_id}")


async def test_what_has_not_changed_is_not_sent_again(panel: Panel):
    [again] = (await one(panel)).all("div", id="gpu")
    async with panel.browser() as browser:
        panel.clock.advance(10)
        assert (await browser.get(again["hx-get"], **HTMX)).status_code == 204
        await report(panel, 2, inventory=an_inventory(devices=(a_device(health=XID_79), a_device(1))))
        changed = await browser.get(again["hx-get"], **HTMX)
    assert (changed.status_code, changed.text.lstrip()[:14]) == (200, '<div id="gpu" ')


async def test_its_curves_are_of_whoever_had_it(panel: Panel):
    await one(panel)
    for n, value in enumerate((10.0, 30.0, 50.0, 50.0)):
        await report(
            panel, 2 + n, samples=(a_sample(0, panel.clock.now(), value), a_sample(1, panel.clock.now(), 99.0))
        )
        panel.clock.advance(15)
    page = await the_page(panel, await gpu())
    metrics = ("utilization", "memory-used", "power", "temperature")
    assert [it["id"] for it in page.all("figure")] == [f"curve-gpu-{it}" for it in metrics]
    assert "GPU 0: 35 to 35 %" in page.text
    assert "GPU 0: 60 to 60 °C" in page.text
    assert page.all("a", **{"aria-current": "true"})[-1]["href"] == f"{await gpu()}?window=1h#curves"
    assert len(page.ids) == len(set(page.ids))


async def test_curves_come_again_only_where_they_look_different(panel: Panel):
    await one(panel)
    page = await the_page(panel, f"{await gpu()}?window=15m")
    assert "has sent no samples of it in this time" in page.text
    [follow] = page.all("div", id="follow-curves")
    async with panel.browser() as browser:
        assert (await browser.get(follow["hx-get"], **HTMX)).status_code == 204
        await report(panel, 2, samples=(a_sample(0, panel.clock.now()),))
        panel.clock.advance(15)
        assert 'id="curve-gpu-power"' in (await browser.get(follow["hx-get"], **HTMX)).text
    async with panel.browser("stranger") as browser:
        for slug in ("acme", "other"):
            assert (await browser.get(f"{await gpu()}/curves".replace("acme", slug))).status_code == 404


async def test_a_slice_has_a_line_of_its_own(panel: Panel):
    see(panel)
    await report(panel, inventory=an_inventory(devices=(a_mig_device(),)))
    told = (a_sample(0, panel.clock.now(), None), replace(a_sample(0, panel.clock.now(), None), device="MIG-0-1"))
    await report(panel, 2, samples=told)
    panel.clock.advance(15)
    page = await the_page(panel, await gpu())
    assert page.all("figure")[0]["id"] == "curve-gpu-memory-used", "nobody told of utilization"
    assert "GPU 0: 0.977 to 0.977 GiB" in page.text
    assert "slice 2 (1g.10gb): 0.977 to 0.977 GiB" in page.text
    assert "slice 1" not in page.text


async def handed_over(panel: Panel) -> UUID:
    """A GPU that a workload of acme's has, on a server that is another organization's by now."""
    ours = await panel.running(await panel.workload(spec={"name": "secret"}))
    await report(panel, inventory=an_inventory(1), holders=(a_holder(pod_of(ours)),))
    await servers.record_nodes("default", [(node("gpu-1", 8), "other"), (node("gpu-2", 2), "acme")], panel.clock.now())
    return ours.id


async def test_another_organization_is_not_told_whose_work_it_is(panel: Panel):
    workload_id = await handed_over(panel)
    path = (await gpu()).replace("acme", "other")
    async with panel.browser("stranger") as browser:
        page = (await browser.get(path)).text
        servers_page = (await browser.get(SERVERS.replace("acme", "other"))).text
    for html in (page, servers_page):
        assert "in use" in html
        for word in ("secret", str(workload_id), workload_id.hex):
            assert word not in html
    async with panel.browser() as browser:
        assert (await browser.get(await gpu())).status_code == 404, "it is not acme's any more"
        ours = Page.of((await browser.get(f"{LIST}/{workload_id}")).text)
    assert not ours.all("a", href=await gpu())


async def test_strangers_and_unknown_gpus_look_the_same(panel: Panel):
    await one(panel)
    known, unknown = await gpu(), f"{GPUS}/{UUID(int=7)}"
    async with panel.browser("stranger") as browser:
        answers = [
            await browser.get(path.replace("acme", slug)) for path in (known, unknown) for slug in ("acme", "other")
        ]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert not [answer for answer in answers if "GPU-0000" in answer.text or "H100" in answer.text]
    async with panel.browser() as browser:
        for path in (unknown, f"{GPUS}/not-an-id", f"{known}?page=0"):
            assert (await browser.get(path)).status_code == 404


@pytest.mark.parametrize("who", ["member", "viewer"])
async def test_those_who_may_not_are_led_to_the_projects(panel: Panel, who: str):
    await one(panel)
    async with panel.browser(who) as browser:
        assert location(await browser.get(await gpu())) == "/orgs/acme/projects?reason=owner_or_admin_only"
