"""The submission form: what it sends on, what it says back, and that it keeps what was typed."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.domain.workload import job_name
from tests.panel.world import HTMX, LIST, Browser, Page, Panel, location, stored, written
from tests.store.builders import newest

EXAMPLE = {
    "image": "nvidia/cuda:12.2.0-base-ubuntu22.04",
    "tag": "latest",
    "gpuCount": "1",
    "timeoutSeconds": "3600",
    "envVars": "MODEL_PATH=/data/model BATCH_SIZE=32",
}


async def submitted(panel: Panel) -> Any:
    [workload] = await newest(panel.organizations["acme"].id, 10)
    return workload


async def test_the_example_of_the_specification(panel: Panel):
    async with panel.browser() as browser:
        where = location(await browser.post(LIST, EXAMPLE))
        page = Page.of((await browser.get(where)).text)
    workload = await submitted(panel)
    assert where == f"{LIST}?accepted={workload.id}"
    assert f"Workload {workload.id} Job {job_name(workload.id, 1)}" in page.text
    assert workload.spec.image == EXAMPLE["image"]
    assert workload.spec.env_vars == (("MODEL_PATH", "/data/model"), ("BATCH_SIZE", "32"))
    assert (workload.spec.timeout_seconds, workload.spec.resources.gpu_count) == (3600, 1)
    assert workload.submitted_by == "admin@example.org"


async def test_htmx_gets_a_fresh_form_with_id_and_job(panel: Panel):
    async with panel.browser() as browser:
        answer = await browser.post(LIST, EXAMPLE, **HTMX)
    workload, page = await submitted(panel), Page.of(answer.text)
    assert (answer.status_code, "<html" in answer.text) == (200, False)
    assert f"Workload {workload.id} Job {job_name(workload.id, 1)}" in page.text
    assert (page.value("image"), page.value("timeoutSeconds")) == ("", "3600")


async def test_the_untouched_form_has_the_defaults(panel: Panel):
    async with panel.browser() as browser:
        page = Page.of((await browser.get(LIST)).text)
    assert (page.value("timeoutSeconds"), page.value("gpuCount"), page.value("startTimeoutSeconds")) == (
        "3600",
        "1",
        "1800",
    )
    assert "without: 4 per GPU" in page.text
    assert "without: 16Gi per GPU" in page.text
    [image] = page.all("input", name="image")
    assert "required" in image
    assert not page.all("details", **{"class": "more", "open": ""})


async def test_everything_of_the_folded_part_is_taken(panel: Panel):
    more = {
        "name": "night run",
        "command": "python -c 'import this'",
        "args": "--epochs 3",
        "cpu": "500m",
        "memory": "2Gi",
        "startTimeoutSeconds": "60",
        "queueTimeoutSeconds": "7200",
        "projectId": str(panel.projects["vision"].id),
    }
    async with panel.browser() as browser:
        location(await browser.post(LIST, {**EXAMPLE, **more}))
    spec = (await submitted(panel)).spec
    assert (spec.name, spec.command, spec.args) == ("night run", ("python", "-c", "import this"), ("--epochs", "3"))
    assert (spec.resources.cpu_millis, spec.resources.memory_bytes) == (500, 2 * 2**30)
    assert (spec.start_timeout_seconds, spec.queue_timeout_seconds) == (60, 7200)
    assert spec.project_id == panel.projects["vision"].id


async def test_quotes_protect_and_line_ends_part(panel: Panel):
    async with panel.browser() as browser:
        location(await browser.post(LIST, {"image": "busybox", "envVars": "A='x y'\r\nB=\"$HOME\"\r\nC="}))
    assert (await submitted(panel)).spec.env_vars == (("A", "x y"), ("B", "$HOME"), ("C", ""))


async def refused(browser: Browser, form: dict[str, str], *, htmx: bool = True) -> tuple[httpx2.Response, Page]:
    before = await written()
    answer = await browser.post(LIST, form, **(HTMX if htmx else {}))
    assert await written() == before
    return answer, Page.of(answer.text)


@pytest.mark.parametrize("image", ["", "   "])
@pytest.mark.parametrize("htmx", [True, False])
async def test_a_blank_image_is_refused_in_place_and_the_form_is_kept(panel: Panel, image: str, htmx: bool):
    typed = {**EXAMPLE, "image": image, "gpuCount": "2", "args": "<b>&"}
    async with panel.browser() as browser:
        answer, page = await refused(browser, typed, htmx=htmx)
    assert answer.status_code == 422
    assert ("<html" in answer.text) is not htmx
    assert "An image is required" in page.text
    assert "image-problem" in page.ids
    for name in ("image", "tag", "gpuCount", "timeoutSeconds", "args"):
        assert page.value(name) == typed[name]
    assert EXAMPLE["envVars"] in page.text
    [focused] = [a for tag, a in page.tags if "autofocus" in a]
    assert (focused["name"], focused["aria-invalid"]) == ("image", "true")


WRONG = [
    ("image", "Not An Image", "is not a repository name"),
    ("tag", "not a tag", "is not a tag"),
    ("tag", "11.8", "already has tag"),
    ("gpuCount", "9", "the largest server on record, gpu-1, has 8"),
    ("gpuCount", "0", "ust be between 1 and"),
    ("gpuCount", "two", "'two' is not a whole number"),
    ("gpuCount", "9" * 50, "is not a whole number"),
    ("timeoutSeconds", "-1", "ust be between 1 and"),
    ("timeoutSeconds", "1.5", "is not a whole number"),
    ("envVars", "NOPE", "has no '='"),
    ("envVars", "A='open", "can't be read"),
    ("envVars", "1A=x", "is not a variable name"),
    ("envVars", "CUDA_VISIBLE_DEVICES=0", "is set by the GPU device plugin"),
    ("projectId", "vision", "is no project"),
    ("projectId", "0123456789abcdef0123456789abcdef", "has no project"),
    ("name", "x" * 101, "at most 100 printable characters"),
    ("command", "echo 'open", "can't be read"),
    ("cpu", "many", "is not a quantity"),
    ("memory", "1Ki", "ust be between"),
    ("startTimeoutSeconds", "0", "ust be between 1 and"),
    ("queueTimeoutSeconds", "soon", "is not a whole number"),
]


@pytest.mark.parametrize(("field", "value", "words"), WRONG)
async def test_what_is_wrong_is_said_at_its_field(panel: Panel, field: str, value: str, words: str):
    async with panel.browser() as browser:
        answer, page = await refused(browser, {**EXAMPLE, field: value})
    assert answer.status_code == 422
    assert words in page.text
    assert [i for i in page.ids if i.endswith("-problem")] == [f"{field}-problem"]
    is_folded = field not in ("image", "tag", "gpuCount", "timeoutSeconds", "envVars", "projectId")
    assert bool(page.all("details", **{"class": "more", "open": ""})) is is_folded


async def test_everything_wrong_is_told_at_once(panel: Panel):
    typed = {"image": "", "gpuCount": "two", "envVars": "NOPE", "cpu": "many", "timeoutSeconds": "0"}
    async with panel.browser() as browser:
        _, page = await refused(browser, typed)
    wanted = {f"{name}-problem" for name in typed}
    assert {i for i in page.ids if i.endswith("-problem")} == wanted


async def test_the_same_form_sent_twice_is_one_workload(panel: Panel):
    async with panel.browser() as browser:
        key = Page.of((await browser.get(LIST)).text).value("requestKey")
        for _ in range(2):
            answer = await browser.post(LIST, {**EXAMPLE, "requestKey": key}, **HTMX)
        assert "had been sent already" in answer.text
        other = await browser.post(LIST, {**EXAMPLE, "requestKey": key, "gpuCount": "2"}, **HTMX)
    assert (other.status_code, "was used for another request" in other.text) == (409, True)
    assert Page.of(other.text).value("gpuCount") == "2"
    assert Page.of(other.text).value("requestKey") != key
    assert await submitted(panel)


async def test_a_link_to_what_was_accepted_shows_only_ones_own(panel: Panel):
    theirs = await panel.workload(org="other")
    async with panel.browser() as browser:
        for text in (str(theirs.id), "nonsense", "0123456789abcdef0123456789abcdef"):
            assert "accepted" not in Page.of((await browser.get(f"{LIST}?accepted={text}")).text).ids


PREVIEWS = [
    ("nvidia/cuda:12.2.0-base-ubuntu22.04", "latest", "runs nvidia/cuda:12.2.0-base-ubuntu22.04"),
    ("busybox", "1.36", "runs busybox:1.36"),
    ("busybox", "", "runs busybox"),
    ("", "", "The reference that will run is shown here."),
    ("busybox:1", "2", "already has tag"),
    ("<i>", "", "'<i>' in '<i>' is not a repository name"),
]


@pytest.mark.parametrize(("image", "tag", "words"), PREVIEWS)
async def test_the_preview_of_the_reference(panel: Panel, image: str, tag: str, words: str):
    async with panel.browser() as browser:
        answer = await browser.client.get(f"{LIST}/reference", params={"image": image, "tag": tag}, headers=HTMX)
    assert answer.status_code == 200
    assert words in Page.of(answer.text).text
    assert "<i>" not in answer.text


async def test_files_and_floods_of_fields_are_refused(panel: Panel):
    async with panel.browser() as browser:
        many = {f"f{i}": "x" for i in range(100)}
        assert (await browser.post(LIST, many)).status_code == 400
        files = {"image": ("a.txt", b"x")}
        assert (await browser.client.post(LIST, files=files)).status_code == 400


async def test_a_workload_that_waits_says_why(panel: Panel):
    workload = await panel.workload(message="needs 8 GPUs on one server; the largest free block is 2, on gpu-2")
    async with panel.browser() as browser:
        for path in (LIST, f"{LIST}/{workload.id}"):
            assert "eeds 8 GPUs on one server; the largest free block is 2" in (await browser.get(path)).text
    assert (await stored(workload.id)).message.startswith("needs 8")
