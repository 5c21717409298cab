"""The usage page: GPU-hours by whom and when, as picture, table and file; numbers of the moment; who sees them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from app.cluster.port import Kind
from app.domain.usage import Period, UsageGroup, Used
from app.domain.workload import Workload
from app.panel.usage_query import UsageQuery
from app.panel.usage_views import Counted, usage_csv
from tests.clock import START
from tests.domain.builders import a_submission
from tests.panel.test_curves import sampled, with_gpus
from tests.panel.world import HTMX, Page, Panel
from tests.placement.builders import node

USAGE = "/orgs/acme/platform/usage"
HOUR = 3600
NO_HEADERS: Mapping[str, str] = {}


async def ran(
    panel: Panel, hours: float, *, gpus: int = 1, project: str = "", who: str = "ada@example.org"
) -> Workload:
    spec: dict[str, Any] = {"project_id": panel.projects[project].id} if project else {}
    spec["resources"] = replace(a_submission().resources, gpu_count=gpus)
    workload = await panel.running(await panel.workload(spec=spec, submitted_by=who))
    panel.clock.advance(hours * HOUR)
    return await panel.ended(workload)


async def page_of(panel: Panel, query: str = "", status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Page:
    async with panel.browser() as browser:
        answer = await browser.get(USAGE + query, **headers)
    assert answer.status_code == status, answer.text
    return Page.of(answer.text)


async def test_gpu_hours_by_project_with_totals(panel: Panel):
    await ran(panel, 1, gpus=4, project="vision")
    await ran(panel, 1)
    page = await page_of(panel)
    assert "Project GPU-hours Share Workloads Vision 4 80 % 1 no project 1 20 % 1 Total 5 100 % 2" in page.text
    assert page.all("figure", id="gpu-hours")
    assert "2026-11-30, Vision: 4 GPU-hours" in page.text
    assert page.all("a", href=USAGE, **{"aria-current": "page"})


async def test_what_the_address_asks_for(panel: Panel):
    await ran(panel, 2, who="ada@example.org")
    panel.clock.advance(24 * HOUR)
    await ran(panel, 1, project="vision", who="eve@example.org")
    page = await page_of(panel, "?by=submitter&period=month&from=2026-11-30&to=2026-12-01")
    assert "ada@example.org 2 67 % 1 eve@example.org 1 33 % 1 Total 3 100 % 2" in page.text
    assert "2026-11, ada@example.org: 2 GPU-hours" in page.text
    assert "2026-12, eve@example.org: 1 GPU-hours" in page.text
    assert [a["value"] for a in page.all("option") if "selected" in a] == ["submitter", "month", ""]
    assert page.value("from") == "2026-11-30"
    one_day = await page_of(panel, "?from=2026-12-01&to=2026-12-01&project=vision")
    assert "Vision 1 100 % 1 Total 1 100 % 1" in one_day.text


async def test_a_time_without_any(panel: Panel):
    page = await page_of(panel, "?from=2020-01-01&to=2020-01-02")
    assert "No GPU was used in this time." in page.text
    assert not page.all("figure")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("by=colour", "“by” is 'colour'; it can be project, submitter, product"),
        ("from=yesterday", "“from” is 'yesterday'; a day is written as 2026-11-30"),
        ("from=2026-11-02&to=2026-11-01", "“to” 2026-11-01 is before 2026-11-02"),
        ("from=2000-01-01&to=2009-12-01", "makes more than 400 periods"),
        ("project=theirs", "“project” is 'theirs', and there is none of that name"),
        ("idle=5", "“idle” is '5'; it can be 900"),
    ],
)
async def test_what_can_not_be_understood_is_said(panel: Panel, query: str, words: str):
    await ran(panel, 1)
    page = await page_of(panel, f"?{query}", status=422)
    assert words in page.text
    assert not page.all("figure")
    assert "Allocated" in page.text


async def test_many_groups_end_in_the_others(panel: Panel):
    for n in range(10):
        await ran(panel, 1 + n / 10, who=f"p{n}@example.org")
    page = await page_of(panel, "?by=submitter")
    assert "3 others" in page.text
    assert "3 others: 0 to 3.3 GPU-hours" in page.text


async def test_the_table_as_a_file(panel: Panel):
    await ran(panel, 1.5, gpus=2, project="vision")
    async with panel.browser() as browser:
        [link] = Page.of((await browser.get(USAGE)).text).all("a", download="")
        answer = await browser.get(link["href"])
        wrong = await browser.get(f"{USAGE}.csv?by=colour")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="gpu-hours-acme-2026-11-01-2026-11-30.csv"' in answer.headers["content-disposition"]
    [row] = csv.DictReader(io.StringIO(answer.text))
    assert row == {
        "start": "2026-11-30T00:00:00+00:00",
        "end": "2026-12-01T00:00:00+00:00",
        "project": "vision",
        "gpu_hours": "3.0000",
        "gpu_seconds": "10800",
        "workloads": "1",
    }
    assert (wrong.status_code, "it can be project" in wrong.text) == (400, True)


def test_a_spreadsheet_computes_nothing_of_it():
    query = UsageQuery(UsageGroup.SUBMITTER, Period.DAY, date(2026, 11, 30), date(2026, 11, 30), 900)
    used = Used(START, START, ("=1+1",), 60, 1)
    assert ",'=1+1," in usage_csv(Counted([], [used], [used], 60, 1), query)


async def test_numbers_of_the_moment(panel: Panel):
    panel.background.clusters[0].projection.replace(Kind.NODES, [node("gpu-1", 8), node("gpu-2", 2)])
    await with_gpus(panel, 0)
    await panel.workload()
    await sampled(panel, 2, *[0.0] * 70)
    text = (await page_of(panel)).text
    assert "0 of 10 GPUs 1 to workloads of this organization: 10 %" in text, "the cluster shows no pod here"
    assert "Allocated and idle 1 gpu-1: 1; known" in text
    assert "Waiting for a server 1 workload 5 to 30 min 1" in text
    assert "Allocated and idle 0 Known" in (await page_of(panel, "?idle=3600")).text


async def test_the_numbers_are_asked_for_again_alone(panel: Panel):
    [figures] = (await page_of(panel, "?idle=3600")).all("div", id="figures")
    again = await page_of(panel, figures["hx-get"].removeprefix(USAGE), headers=HTMX)
    assert again.ids == ["figures"]
    assert again.all("a", **{"aria-current": "true"})[0]["href"].endswith("idle=3600#now")


@pytest.mark.parametrize("path", [USAGE, f"{USAGE}.csv"])
@pytest.mark.parametrize(("who", "status"), [("member", 303), ("viewer", 303), ("stranger", 404), (None, 303)])
async def test_it_is_for_owners_and_admins(panel: Panel, path: str, who: str | None, status: int):
    async with panel.browser(who) as browser:
        answer = await browser.get(path)
    assert answer.status_code == status
    assert "GPU-hours" not in answer.text
