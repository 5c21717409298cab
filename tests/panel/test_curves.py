"""The curves on a workload's page: what is drawn, for which time, and what is said where nothing is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.domain import metric_words
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload
from app.store import reads, reports
from app.store.models import AttemptRow
from tests.clock import START
from tests.panel.world import HTMX, LIST, Page, Panel
from tests.reports import a_holder, a_pod_sample, a_report, a_sample, an_inventory

DAY = 24 * 3600


async def tell(panel: Panel, sequence: int, **parts: Any) -> None:
    server_id = await reports.find_server("default", "gpu-1")
    assert server_id
    report = a_report(sequence, at=panel.clock.now(), **parts)
    await reports.keep_report("default", server_id, report, panel.clock.now(), stale_after=90)


async def with_gpus(panel: Panel, *numbers: int, **changes: Any) -> Workload:
    """It executes on these GPUs, and the agent has told so."""
    workload = await panel.running(await panel.workload())
    [attempt] = await reads.attempts_of([workload.id])
    holders = tuple(a_holder(f"{attempt.job_name}-x7k2p", n, **changes) for n in numbers)
    await tell(panel, 1, inventory=an_inventory(), holders=holders)
    return workload


async def sampled(panel: Panel, first: int, *utilization: float | None, gpu: int = 0, every: float = 15) -> None:
    for n, value in enumerate(utilization):
        await tell(panel, first + n, samples=(a_sample(gpu, panel.clock.now(), value, memory_used_mib=2048),))
        panel.clock.advance(every)


async def curves(panel: Panel, workload: Workload, query: str = "") -> Page:
    async with panel.browser() as browser:
        answer = await browser.get(f"{LIST}/{workload.id}/curves{query}", **HTMX)
    assert answer.status_code == 200
    return Page.of(answer.text)


def drawn(page: Page) -> list[str]:
    return [it["id"] for it in page.all("figure")]


async def test_the_curves_of_one_gpu_are_on_the_page(panel: Panel):
    workload = await with_gpus(panel, 0)
    await sampled(panel, 2, 10.0, 30.0, 50.0, 50.0)
    async with panel.browser() as browser:
        page = Page.of((await browser.get(f"{LIST}/{workload.id}")).text)
    assert drawn(page) == ["curve-gpu-utilization", "curve-gpu-memory-used", "curve-gpu-power"]
    assert "GPU-0000: 20 to 50 %" in page.text
    assert "GPU-0000: 2 to 2 GiB" in page.text
    assert len(page.ids) == len(set(page.ids))


async def test_several_gpus_are_shown_together_and_each(panel: Panel):
    workload = await with_gpus(panel, 0, 1)
    for n, value in enumerate((10.0, 20.0, 30.0, 40.0)):
        at = panel.clock.now()
        await tell(panel, 2 + n, samples=(a_sample(0, at, value), a_sample(1, at, 100.0)))
        panel.clock.advance(15)
    page = await curves(panel, workload)
    assert drawn(page)[:3] == ["curve-gpu-utilization", "curve-gpu-memory-used", "curve-gpu-memory-used-each"]
    assert "mean of 2 GPUs: 57.5 to 67.5 %" in page.text
    assert "2 GPUs together: 1.95 to 1.95 GiB" in page.text


async def test_cpu_and_memory_are_shown_beside_what_was_asked_for(panel: Panel):
    """Also where nothing can be told of its GPUs."""
    workload = await with_gpus(panel, 0, is_shared=True)
    await AttemptRow.filter(workload_id=workload.id).update(pod_uid="uid-1")
    for n, cores in enumerate((1.0, 2.0, 3.0, 3.0)):
        sample = a_pod_sample(at=panel.clock.now(), cores=cores, memory_mib=4096)
        await tell(panel, 2 + n, samples=(a_sample(),), pod_samples=(sample,))
        panel.clock.advance(15)
    page = await curves(panel, workload)
    assert drawn(page) == ["curve-cpu", "curve-memory"]
    assert "used: 1.5 to 3 cores; asked for: 4 to 4 cores" in page.text
    assert "used: 4 to 4 GiB; asked for: 16 to 16 GiB" in page.text
    assert page.all("path", **{"class": "line limit"})
    assert metric_words.ALL_SHARED in page.text


async def test_a_hole_in_the_samples_is_a_hole_in_the_line(panel: Panel):
    workload = await with_gpus(panel, 0)
    await sampled(panel, 2, *[50.0] * 8)
    panel.clock.advance(300)
    await sampled(panel, 10, *[50.0] * 8)
    page = await curves(panel, workload)
    path = page.all("path")[0]["d"]
    assert path.count("M") == 2
    assert "not known in" in page.text


async def test_it_is_asked_for_again_while_it_runs_but_not_sent_again(panel: Panel):
    workload = await with_gpus(panel, 0)
    await sampled(panel, 2, 10.0, 30.0)
    page = await curves(panel, workload)
    [follow] = page.all("div", id="follow-curves")
    async with panel.browser() as browser:
        assert (await browser.get(follow["hx-get"], **HTMX)).status_code == 204
        await sampled(panel, 4, 90.0, 90.0)
        assert "20 to 90 %" in (await browser.get(follow["hx-get"], **HTMX)).text
        await panel.ended(await panel.change(workload))
        last = await browser.get(follow["hx-get"], **HTMX)
    assert (last.status_code, "follow-curves" in Page.of(last.text).ids) == (200, False)


async def test_a_window_shows_the_end_of_a_longer_run(panel: Panel):
    workload = await with_gpus(panel, 0)
    await sampled(panel, 2, *[10.0] * 4)
    panel.clock.advance(2 * 3600)
    await sampled(panel, 6, *[90.0] * 4)
    page = await curves(panel, workload)
    links = {a["href"]: a.get("aria-current") for a in page.all("a")}
    assert list(links) == [f"{LIST}/{workload.id}{it}#curves" for it in ("", "?window=15m", "?window=1h")]
    assert links[f"{LIST}/{workload.id}#curves"] == "true"
    assert "10 to 90 %" in page.text
    page = await curves(panel, workload, "?window=15m")
    assert "90 to 90 %" in page.text
    assert page.all("a", href=f"{LIST}/{workload.id}?window=15m#curves", **{"aria-current": "true"})
    assert "?window=15m&have=" in page.all("div", id="follow-curves")[0]["hx-get"]
    assert "10 to 90 %" in (await curves(panel, workload, "?window=century")).text


async def test_why_there_is_none(panel: Panel):
    waits = await panel.workload()
    assert metric_words.NOT_STARTED in (await curves(panel, waits)).text
    failed = {"status": Status.FAILED, "phase": Phase.FAILED, "reason": Reason.IMAGE_PULL_FAILED}
    never = await panel.end(await panel.placed(await panel.workload()), **failed)
    assert metric_words.NEVER_STARTED in (await curves(panel, never)).text
    unknown = await panel.running(await panel.workload())
    assert metric_words.NONE_YET in (await curves(panel, unknown)).text
    panel.clock.advance(120)
    assert metric_words.NO_DEVICE in (await curves(panel, unknown)).text


async def test_a_shared_gpu_is_nobodys(panel: Panel):
    workload = await with_gpus(panel, 0, is_shared=True)
    await sampled(panel, 2, 50.0)
    page = await curves(panel, workload)
    assert metric_words.ALL_SHARED in page.text
    assert drawn(page) == []


async def test_what_is_too_old_was_kept_for_a_time(panel: Panel):
    workload = await with_gpus(panel, 0)
    panel.clock.advance(60)
    workload = await panel.ended(workload)
    assert metric_words.NO_SAMPLES in (await curves(panel, workload)).text
    panel.clock.advance(366 * DAY)
    assert "Samples are kept for 365 days" in (await curves(panel, workload)).text


@pytest.mark.parametrize("who", ["member", "viewer", "stranger", None])
async def test_curves_are_for_owners_and_admins(panel: Panel, who: str | None):
    workload = await with_gpus(panel, 0)
    async with panel.browser(who) as browser:
        answer = await browser.get(f"{LIST}/{workload.id}/curves")
    assert answer.status_code != 200
    assert "figure" not in answer.text


async def test_another_organizations_are_not_there(panel: Panel):
    theirs = await panel.workload(org="other")
    async with panel.browser() as browser:
        assert (await browser.get(f"{LIST}/{theirs.id}/curves")).status_code == 404


def test_words_about_the_time_that_samples_are_kept():
    told = {"started_at": START - timedelta(days=400), "is_over": True, "devices": 1, "shared": 0, "now": START}
    kept = timedelta(days=365)
    assert "365 days" in metric_words.why_no_curves(**told, end=START - kept, kept_for=kept)  # type: ignore[arg-type]
    soon = START - kept + timedelta(seconds=1)
    assert metric_words.why_no_curves(**told, end=soon, kept_for=kept) == metric_words.NO_SAMPLES  # type: ignore[arg-type]
