"""The page of one workload, and its log."""

from __future__ import annotations

from uuid import uuid4

import pytest

from app.cluster.port import ClusterError, RefusedError, UnavailableError
from app.domain import log_words
from app.domain.states import Phase, Reason, Status
from app.domain.workload import Workload, job_name
from app.panel.log import MOST_SHOWN
from app.store import logs, reads
from app.store.logs import StoredLog
from tests.log_port import POD, a_stamp
from tests.panel.world import GPU, HTMX, LIST, Page, Panel


async def page_of(panel: Panel, path: str) -> Page:
    async with panel.browser() as browser:
        answer = await browser.get(path)
    assert answer.status_code == 200
    return Page.of(answer.text)


async def test_a_non_zero_exit_is_unmistakable_although_it_completed(panel: Panel):
    workload = await panel.ended(await panel.running(await panel.workload()), 3)
    for path in (LIST, f"{LIST}/{workload.id}"):
        page = await page_of(panel, path)
        assert page.all("span", **{"class": "badge badge-nonzero"})
        assert "completed · exit 3" in page.text
    assert "ended by itself with exit code 3" in page.text


async def test_a_success_looks_like_one(panel: Panel):
    workload = await panel.ended(await panel.running(await panel.workload()), 0)
    page = await page_of(panel, f"{LIST}/{workload.id}")
    assert page.all("span", **{"class": "badge badge-completed"})
    assert "exit code 0" in page.text
    assert "not that it succeeded" not in page.text


async def test_it_tells_clocks_server_gpus_attempts_and_events(panel: Panel):
    workload = await panel.workload(spec={"project_id": panel.projects["vision"].id, "timeout_seconds": 90})
    panel.clock.advance(20)
    workload = await panel.running(workload)
    panel.clock.advance(30)
    page = await page_of(panel, f"{LIST}/{workload.id}")
    assert "Queue 20 s no limit" in page.text
    assert "Start 0 s limit 30 min" in page.text
    assert "Run 30 s limit 1 min 30 s, reached at 12:01 UTC" in page.text
    assert page.all("code", title=GPU)
    assert "GPU-5ad5c1e0" in page.text
    assert {"attempt-1", f"cancel-{workload.id}", "log", "live"} <= set(page.ids)
    assert "Vision" in page.text
    assert "submitted waits for GPUs" in page.text
    assert "started executing on gpu-1" in page.text


async def test_a_waiting_one_has_one_clock(panel: Panel):
    workload = await panel.workload()
    page = await page_of(panel, f"{LIST}/{workload.id}")
    assert "Queue 0 s no limit" in page.text
    for clock in ("Start", "Run"):
        assert f"{clock} \u2013 limit" in page.text


async def log_of(panel: Panel, workload_id: object, **headers: str) -> str:
    async with panel.browser() as browser:
        return (await browser.get(f"{LIST}/{workload_id}/log", **HTMX, **headers)).text


async def test_the_log_is_text_without_what_terminals_obey(panel: Panel):
    workload = await panel.running(await panel.workload())
    panel.port.pod, panel.port.log = POD, b"\x1b[31mred\x1b[0m <script>\r\n\x1b]0;title\x07ok\xff\x08\n"
    page = Page.of(await log_of(panel, workload.id))
    assert not page.all("script")
    assert "red <script> ok" in page.text
    assert "\x1b" not in page.text
    assert "\ufffd" in page.text
    assert (await page_of(panel, f"{LIST}/{workload.id}")).text.count("red <script>") == 1


async def test_a_long_log_shows_its_end(panel: Panel):
    workload = await panel.running(await panel.workload())
    panel.port.pod, panel.port.log = POD, b"".join(b"line %d\n" % i for i in range(20_000))
    text = await log_of(panel, workload.id)
    assert "there is more before" in text
    assert "line 19999" in text
    assert len(text) < MOST_SHOWN + 2000


async def test_while_it_runs_the_log_is_asked_for_again_but_not_sent_again(panel: Panel):
    workload = await panel.running(await panel.workload())
    panel.port.pod, panel.port.log = POD, b"one\n"
    async with panel.browser() as browser:
        [follow] = Page.of((await browser.get(f"{LIST}/{workload.id}/log")).text).all("div", id="follow")
        assert (await browser.get(follow["hx-get"])).status_code == 204
        panel.port.log += b"two\n"
        assert "two" in (await browser.get(follow["hx-get"])).text
        await panel.ended(workload)
        last = await browser.get(follow["hx-get"])
    assert (last.status_code, "follow" in Page.of(last.text).ids) == (200, False)


WHY_NONE = [
    pytest.param(False, None, log_words.NOT_STARTED, id="waits"),
    pytest.param(True, RefusedError(400, "BadRequest", "x"), "no log yet", id="starts"),
    pytest.param(True, None, log_words.NOT_STARTED, id="no-pod-yet"),
    pytest.param(True, UnavailableError("no answer"), "not available", id="down"),
]


@pytest.mark.parametrize(("is_placed", "error", "words"), WHY_NONE)
async def test_why_there_is_no_log(panel: Panel, is_placed: bool, error: ClusterError | None, words: str):
    workload = await panel.workload()
    if is_placed:
        workload = await panel.placed(workload)
    panel.port.error = error
    assert words in await log_of(panel, workload.id)


async def test_a_removed_job_took_its_log_along(panel: Panel):
    workload = await panel.ended(await panel.running(await panel.workload()))
    assert log_words.POD_GONE in await log_of(panel, workload.id)
    panel.port.pod, panel.port.error = POD, RefusedError(404, "NotFound", "pod not found")
    assert log_words.POD_GONE in await log_of(panel, workload.id)


async def test_what_never_started_has_no_log(panel: Panel):
    failed = {"status": Status.FAILED, "phase": Phase.FAILED, "reason": Reason.IMAGE_PULL_FAILED}
    workload = await panel.end(await panel.placed(await panel.workload()), **failed)
    assert log_words.NEVER_STARTED in await log_of(panel, workload.id)


async def test_an_empty_log_is_said_to_be_empty(panel: Panel):
    workload = await panel.running(await panel.workload())
    panel.port.pod = POD
    assert log_words.EMPTY in await log_of(panel, workload.id)
    workload = await panel.ended(workload)
    assert log_words.WROTE_NOTHING in await log_of(panel, workload.id)


async def two_attempts(panel: Panel) -> Workload:
    """The first has ended and its log is kept; the second executes."""
    waits = {"status": Status.PENDING, "phase": Phase.QUEUED, "reason": Reason.BACKING_OFF}
    workload = await panel.end(await panel.running(await panel.workload()), **waits)
    [attempt] = await reads.attempts_of([workload.id])
    await logs.store_log(attempt, StoredLog(a_stamp(0) + b"first\xff\n", was_cut=True), panel.clock.now())
    return await panel.running(workload)


async def test_what_is_kept_is_shown_when_the_job_is_gone_for_each_attempt(panel: Panel):
    workload = await two_attempts(panel)
    panel.port.pod, panel.port.log = POD, b"second\n"
    page = await page_of(panel, f"{LIST}/{workload.id}")
    links = [a["href"] for a in page.all("a") if "attempt=" in a.get("href", "") and "log.txt" not in a["href"]]
    assert links == [f"{LIST}/{workload.id}?attempt={n}#log" for n in (1, 2)]
    assert page.all("a", href=links[1], **{"aria-current": "true"})
    assert ("second" in page.text, "first" in page.text, "follow" in page.ids) == (True, False, True)
    panel.port.pod, panel.port.error = None, UnavailableError("the Job is gone, and so is the cluster")
    page = await page_of(panel, links[0])
    assert ("first" in page.text, "there is more before" in page.text, "follow" in page.ids) == (True, True, False)
    assert page.all("a", href=links[0], **{"aria-current": "true"})
    assert page.all("div", id="log")[0]["hx-get"] == f"{LIST}/{workload.id}/log?attempt=1"


async def test_one_attempt_needs_no_choice(panel: Panel):
    workload = await panel.running(await panel.workload())
    panel.port.pod, panel.port.log = POD, b"x\n"
    assert not [a for a in (await page_of(panel, f"{LIST}/{workload.id}")).all("a") if "?attempt" in a["href"][:60]]


async def test_the_log_can_be_downloaded_as_text(panel: Panel):
    workload = await two_attempts(panel)
    panel.port.pod, panel.port.log = POD, b"<script>\r\n\x1b[31m\0" + b"long " * 100_000 + b"\n"
    async with panel.browser() as browser:
        [link] = [a["href"] for a in Page.of((await browser.get(f"{LIST}/{workload.id}")).text).all("a", download="")]
        answer = await browser.get(link)
        kept = await browser.get(f"{LIST}/{workload.id}/log.txt?attempt=1")
    assert answer.text == "<script>\r\n\x1b[31m\ufffd" + "long " * 100_000 + "\n"
    assert kept.content == "first\ufffd\n".encode()
    for response, attempt in ((answer, 2), (kept, 1)):
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        assert response.headers["x-content-type-options"] == "nosniff"
        name = f'attachment; filename="{job_name(workload.id, attempt)}.log"'
        assert response.headers["content-disposition"] == name


async def test_a_log_that_is_not_there_is_no_empty_file(panel: Panel):
    waiting, running = await panel.workload(), await panel.running(await panel.workload())
    panel.port.error = UnavailableError("no route to host")
    async with panel.browser() as browser:
        answers = [await browser.get(f"{LIST}/{w.id}/log.txt") for w in (waiting, running)]
        strange = await browser.get(f"{LIST}/{uuid4()}/log.txt")
    assert [answer.status_code for answer in (*answers, strange)] == [404, 404, 404]
    assert log_words.NOT_STARTED in answers[0].text
    assert log_words.unavailable("no route to host") in Page.of(answers[1].text).text


@pytest.mark.parametrize("who", ["member", "viewer", "stranger", None])
async def test_a_log_is_for_owners_and_admins(panel: Panel, who: str | None):
    workload = await panel.running(await panel.workload())
    panel.port.pod, panel.port.log = POD, b"secret\n"
    async with panel.browser(who) as browser:
        answer = await browser.get(f"{LIST}/{workload.id}/log.txt")
    assert answer.status_code != 200
    assert (panel.port.opened, "secret" in answer.text) == ([], False)
