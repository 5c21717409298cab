"""The folded part of the form: mounts by row, labels by line, retries, shared memory, CUDA version."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.gpus import GpuRequirements
from app.domain.priority import Priority
from app.domain.volumes import Mount, Volume, VolumeKind
from app.store import volumes
from tests.clock import START
from tests.panel.world import HTMX, LIST, Page, Panel, location, written
from tests.store.builders import newest

NAMES = {priority.words for priority in Priority}
EXTRAS = {
    "image": "busybox",
    "maxRetries": "2",
    "sharedMemory": " 1Gi ",
    "cuda": "12.4",
    "priority": "very low",
    "preemptible": "yes",
    "gpuProducts": " H100,, A100  80GB ",
    "gpuMemory": "40G",
    "computeCapability": "8.0",
    "labels": "team=vision\r\nrun=7",
    "mounts.0.name": "data",
    "mounts.0.path": " /data ",
    "mounts.0.readOnly": "yes",
    "mounts.2.name": "models",
    "mounts.2.path": "/models",
}


@pytest.fixture
async def acme(panel: Panel) -> Panel:
    for name, read_only in (("data", False), ("models", True)):
        volume = Volume(panel.organizations["acme"].id, name, VolumeKind.HOST_PATH, f"/srv/secret/{name}", read_only)
        await volumes.add_volume(volume, START)
    return panel


async def submitted(panel: Panel) -> Any:
    [workload] = await newest(panel.organizations["acme"].id, 10)
    return workload


async def test_what_the_folded_part_says_is_stored_and_shown_on_the_page(acme: Panel):
    async with acme.browser() as browser:
        location(await browser.post(LIST, EXTRAS))
        workload = await submitted(acme)
        page = Page.of((await browser.get(f"{LIST}/{workload.id}")).text)
    spec = workload.spec
    assert spec.mounts == (Mount("data", "/data", read_only=True), Mount("models", "/models"))
    assert spec.labels == (("team", "vision"), ("run", "7"))
    assert (spec.max_retries, spec.shared_memory_bytes, spec.cuda) == (2, 2**30, "12.4")
    assert (spec.priority, spec.preemptible) == (Priority.VERY_LOW, True)
    assert spec.gpu_requirements == GpuRequirements(("H100", "A100 80GB"), 40 * 10**9, (8, 0))
    for words in (
        "Asked for 1 GPU of product H100 or A100 80GB with 40G of memory or more and compute capability 8.0 or higher",
        "Priority very low",
        "Preemptible yes",
        "Retries allowed 2",
        "Shared memory 1Gi",
        "Mounts data at /data (read-only), models at /models",
        "Labels team=vision run=7",
    ):
        assert words in page.text


async def test_the_form_offers_the_organizations_volumes_by_name_only(acme: Panel):
    async with acme.browser() as browser:
        text = (await browser.get(LIST)).text
    page = Page.of(text)
    offered = {option.get("value", "") for option in page.all("option")}
    assert {"data", "models"} <= offered
    assert "models (read-only)" in page.text
    assert "secret" not in text
    assert len(page.all("select", name="mounts.3.name")) == 1
    assert not page.all("details", **{"class": "more", "open": ""})


@pytest.mark.parametrize(("who", "offered"), [("admin", 3), ("owner", 5)])
async def test_the_form_offers_the_priorities_that_one_may_give(panel: Panel, who: str, offered: int):
    async with panel.browser(who) as browser:
        page = Page.of((await browser.get(LIST)).text)
        location(await browser.post(LIST, {"image": "busybox"}))
    assert {it.words for it in list(Priority)[:offered]} == NAMES & {it.get("value") for it in page.all("option")}
    assert (await submitted(panel)).spec.priority is Priority.MEDIUM


async def test_without_volumes_there_is_nothing_to_mount(panel: Panel):
    async with panel.browser() as browser:
        page = Page.of((await browser.get(LIST)).text)
    assert not page.all("select", name="mounts.0.name")
    assert "without: 8Gi per GPU" in page.text


WRONG = [
    ({"mounts.0.path": "data"}, "mounts", "'data' is not an absolute path"),
    ({"mounts.0.path": ""}, "mounts", "ow 1 has the volume 'data' and no path"),
    ({"mounts.0.name": ""}, "mounts", "ow 1 has the path '/data' and no volume"),
    ({"mounts.2.name": "gone"}, "mounts", "here is no volume 'gone' in acme; there are data, models"),
    ({"mounts.2.path": "/data"}, "mounts", "'/data' is given twice"),
    ({"labels": "team"}, "labels", "'team' has no '='"),
    ({"labels": "kubernetes.io/a=b"}, "labels", "is not free to use"),
    ({"priority": "urgent"}, "priority", "ust be one of very low, low, medium, high, very high; it is 'urgent'"),
    ({"maxRetries": "11"}, "maxRetries", "ust be between 0 and 10"),
    ({"maxRetries": "few"}, "maxRetries", "'few' is not a whole number"),
    ({"sharedMemory": "1Ti"}, "sharedMemory", "which it is part of; it is 1Ti"),
    ({"gpuProducts": "H100, -"}, "gpuProducts", "such as H100"),
    ({"gpuMemory": "40"}, "gpuMemory", "ust be between 1Mi and 10Ti"),
    ({"computeCapability": "new"}, "computeCapability", "such as 8.0; it is 'new'"),
    ({"migProfile": "half"}, "migProfile", "such as 1g.10gb; it is 'half'"),
    ({"gpuShared": "yes", "gpuCount": "2"}, "gpuCount", "more shares are never more GPU"),
    ({"cuda": "new"}, "cuda", "ust be a CUDA version such as 12.4"),
]


@pytest.mark.parametrize(("changes", "field", "words"), WRONG, ids=[str(w[0]) for w in WRONG])
@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
async def test_what_is_wrong_is_said_at_its_field_and_everything_typed_is_kept(
    acme: Panel, changes: dict[str, str], field: str, words: str, headers: dict[str, str]
):
    typed, before = {**EXTRAS, **changes}, await written()
    async with acme.browser() as browser:
        answer = await browser.post(LIST, typed, **headers)
    page = Page.of(answer.text)
    assert answer.status_code == 422
    assert [i for i in page.ids if i.endswith("-problem")] == [f"{field}-problem"]
    assert words in page.text
    assert page.value("mounts.2.path") == typed["mounts.2.path"]
    assert page.all("details", **{"class": "more", "open": ""})
    [row] = page.all("input", name="mounts.0.readOnly")
    assert "checked" in row
    after = await written()
    assert {name: after[name] - before[name] for name in ("workloads", "events")} == {"workloads": 0, "events": 0}
