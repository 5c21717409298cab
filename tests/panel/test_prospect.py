"""What is said beside the form's button of what would become of the request; and of a waiting workload's place."""

from __future__ import annotations

from app.cluster.port import Kind
from tests.panel.test_submit import EXAMPLE
from tests.panel.world import HTMX, LIST, Page, Panel, written
from tests.placement.builders import node
from tests.store.builders import newest

CHECK = f"{LIST}/check"


def show(panel: Panel, gpus: int) -> None:
    """The cluster is seen to have a server with so many GPUs."""
    projection = panel.background.clusters[0].projection
    for kind in Kind:
        projection.begin_list(kind)
        projection.replace(kind, [node("gpu-1", gpus)] if kind is Kind.NODES else [])
        projection.health[kind].synced = True


async def test_htmx_is_answered_with_where_it_would_run_and_nothing_is_submitted(panel: Panel):
    show(panel, 4)
    async with panel.browser() as browser:
        before = await written()
        answer = await browser.post(CHECK, EXAMPLE, **HTMX)
    assert (answer.status_code, "<form" in answer.text) == (200, False)
    assert Page.of(answer.text).text == "Would start now, on gpu-1."
    assert await written() == before


async def test_what_would_wait_is_told_why_and_what_would_help(panel: Panel):
    show(panel, 4)
    async with panel.browser() as browser:
        answer = await browser.post(CHECK, {**EXAMPLE, "gpuCount": "6"}, **HTMX)
    words = Page.of(answer.text).text
    assert "Needs 6 GPUs" in words
    assert "It would be no. 1 of 1 in the queue." in words
    assert "fits now on gpu-1 with 4 GPUs" in words


async def test_what_is_wrong_is_told_and_what_was_typed_stays(panel: Panel):
    show(panel, 4)
    async with panel.browser() as browser:
        answer = await browser.post(CHECK, {**EXAMPLE, "image": "", "cpu": "many"}, **HTMX)
        assert "image" in Page.of(answer.text).text.lower()
        page = Page.of((await browser.post(CHECK, {**EXAMPLE, "cpu": "many"})).text)
    assert page.value("cpu") == "many"
    assert "'many' is not a quantity" in page.text


async def test_without_a_script_the_page_comes_back_as_it_was_filled_in_with_the_answer(panel: Panel):
    show(panel, 4)
    async with panel.browser() as browser:
        answer = await browser.post(CHECK, {**EXAMPLE, "gpuCount": "3"})
    page = Page.of(answer.text)
    assert (answer.status_code, page.value("gpuCount"), page.value("image")) == (200, "3", EXAMPLE["image"])
    assert "Would start now, on gpu-1." in page.text
    [button] = page.all("button", id="check")
    assert button["formaction"] == CHECK
    assert await newest(panel.organizations["acme"].id, 10) == []


async def test_before_it_is_known_what_the_cluster_has_that_is_said(panel: Panel):
    async with panel.browser() as browser:
        answer = await browser.post(CHECK, EXAMPLE, **HTMX)
    assert "not known yet" in Page.of(answer.text).text


async def test_the_list_and_the_page_tell_where_a_workload_stands(panel: Panel):
    show(panel, 0)
    workload = await panel.workload()
    async with panel.browser() as browser:
        assert "no. 1" in Page.of((await browser.get(LIST)).text).text
        words = Page.of((await browser.get(f"{LIST}/{workload.id}")).text).text
    assert "In the queue no. 1 of 1" in words
