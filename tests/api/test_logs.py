"""The log of a workload: live, kept, of the attempt that is asked for; and who may read it."""

from __future__ import annotations

from typing import Any

import pytest

from app.cluster.port import UnavailableError
from app.domain import log_words
from app.domain.workload import Workload
from app.store.logs import StoredLog
from app.store.models import AttemptLogRow
from tests.api.runs import WAITS_AGAIN, a_run, end, next_run
from tests.api.world import WORKLOAD, Api
from tests.log_port import POD, a_stamp
from tests.store.builders import a_stored_workload

LOG = "log%s { attempt text wasCut isComplete whyNone }"


async def log_of(api: Api, workload: Workload, arguments: str = "") -> dict[str, Any]:
    found: dict[str, Any] = (await api.workload(str(workload.id), LOG % arguments))["log"]
    return found


async def test_before_the_first_attempt_there_is_a_sentence(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    assert await log_of(api, workload) == {
        "attempt": None,
        "text": "",
        "wasCut": False,
        "isComplete": False,
        "whyNone": log_words.NOT_STARTED,
    }


async def test_while_it_runs_the_log_is_read_from_the_cluster(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\n\xff\x00\rtwo\n"
    log = await log_of(api, workload)
    assert (log["attempt"], log["text"]) == (1, "one\n\ufffd\ufffd\rtwo\n")
    assert (log["wasCut"], log["isComplete"], log["whyNone"]) == (False, False, None)
    assert (await log_of(api, workload, "(tailLines: 1)"))["text"] == "\ufffd\ufffd\rtwo\n"
    assert (await log_of(api, workload, "(tailLines: 1)"))["wasCut"]
    assert not (await log_of(api, workload, "(tailLines: 2)"))["wasCut"]


async def test_a_cluster_that_does_not_answer_is_named(api: Api):
    workload = await a_run(api)
    api.port.error = UnavailableError("no route to host")
    log = await log_of(api, workload)
    assert (log["text"], log["isComplete"]) == ("", False)
    assert "no route to host" in log["whyNone"]


async def test_what_is_kept_is_shown_when_the_cluster_has_nothing_any_more(api: Api):
    lines = b"".join(a_stamp(i) + b"line %d\n" % i for i in range(3))
    workload = await end(api, await a_run(api), StoredLog(lines, was_cut=True))
    log = await log_of(api, workload)
    assert (log["text"], log["wasCut"], log["isComplete"]) == ("line 0\nline 1\nline 2\n", True, True)
    assert (await log_of(api, workload, "(tailLines: 2)"))["text"] == "line 1\nline 2\n"
    assert api.port.opened == []


async def test_each_attempt_has_its_own(api: Api):
    workload = await end(api, await a_run(api), StoredLog(a_stamp(0) + b"first\n"), **WAITS_AGAIN)
    workload = await next_run(api, workload)
    api.port.pod, api.port.log = POD, b"second\n"
    assert (await log_of(api, workload))["text"] == "second\n"
    assert (await log_of(api, workload, "(attempt: 1)"))["text"] == "first\n"
    assert (await log_of(api, workload, "(attempt: 2)"))["attempt"] == 2
    refusal = await api.refusal(WORKLOAD % (LOG % "(attempt: 3)"), {"org": "acme", "id": str(workload.id)})
    assert (refusal["code"], refusal["fields"][0]["field"]) == ("BAD_USER_INPUT", "attempt")
    assert "it has 2 attempts" in refusal["message"]


async def test_why_there_is_none(api: Api):
    for log, why in (
        (StoredLog(why_none=log_words.POD_GONE), log_words.POD_GONE),
        (StoredLog(), log_words.WROTE_NOTHING),
    ):
        workload = await end(api, await a_run(api), log)
        found = await log_of(api, workload)
        assert (found["text"], found["whyNone"], found["isComplete"]) == ("", why, True)
    await AttemptLogRow.all().delete()
    assert (await log_of(api, workload))["whyNone"] == "The log was kept for 30 days and has been removed since."


@pytest.mark.parametrize("lines", [0, -1, 50_001])
async def test_a_silly_number_of_lines_is_refused(api: Api, lines: int):
    workload = await a_run(api)
    query = WORKLOAD % (LOG % f"(tailLines: {lines})")
    refusal = await api.refusal(query, {"org": "acme", "id": str(workload.id)})
    assert (refusal["code"], refusal["fields"][0]["field"]) == ("BAD_USER_INPUT", "tailLines")


async def test_many_logs_are_too_much_for_one_request(api: Api):
    query = '{ organization(slug: "acme") { workloads(first: %d) { edges { node { log { text } } } } } }'
    refusal = await api.refusal(query % 11)
    assert (refusal["code"], "a log 5900" in refusal["message"]) == ("TOO_COMPLEX", True)
    await api.data(query % 10)


@pytest.mark.parametrize(
    ("who", "code"),
    [("member", "FORBIDDEN"), ("viewer", "FORBIDDEN"), ("stranger", "NOT_FOUND"), ("manager", "FORBIDDEN")],
)
async def test_a_log_is_for_those_who_may_read_workloads(api: Api, who: str, code: str):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"secret\n"
    refusal = await api.refusal(WORKLOAD % (LOG % ""), {"org": "acme", "id": str(workload.id)}, who=who)
    assert refusal["code"] == code
    assert api.port.opened == []
