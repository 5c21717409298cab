"""What an API server, or something between, may answer instead of an answer."""

from __future__ import annotations

import gzip
import zlib

import pytest

from app.cluster.answers import MAX_RETRY_AFTER, error_of
from app.cluster.kubernetes_port import KubernetesPort
from app.cluster.port import GoneError, Kind, UnavailableError
from tests.cluster.builders import JOB, NAMESPACE, node_json
from tests.cluster.scripted_api import Answer, ScriptedApi, answer, failure, stream

NODES = "/api/v1/nodes"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PAGE = b'{"metadata": {"resourceVersion": "7"}, "items": []}'
HTML = b"<html><h1>502 Bad Gateway</h1></html>"
NOW = "Mon, 30 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("1.5", 1.5),
        ("Mon, 30 Nov 2026 12:00:09 GMT", 9),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER),
        ("86400", MAX_RETRY_AFTER),
        ("1e400", MAX_RETRY_AFTER),
        ("9" * 5000, MAX_RETRY_AFTER),
        ("-3", 0),
        ("nan", None),
        ("soon", None),
        ("", None),
    ],
)
def test_how_long_to_wait(given: str, seconds: float | None):
    error = error_of(429, None, {"Retry-After": given, "Date": NOW})
    assert isinstance(error, UnavailableError)
    assert error.retry_after == seconds


def test_a_date_without_the_servers_own_says_nothing():
    error = error_of(503, None, {"Retry-After": "Mon, 30 Nov 2026 12:00:09 GMT"})
    assert isinstance(error, UnavailableError)
    assert error.retry_after is None


def test_a_status_may_say_it_too():
    error = error_of(429, {"kind": "Status", "details": {"retryAfterSeconds": 4}}, {})
    assert isinstance(error, UnavailableError)
    assert error.retry_after == 4


@pytest.mark.parametrize(
    "given",
    [
        Answer(200, [HTML]),
        Answer(502, [HTML]),
        Answer(200, []),
        Answer(200, [PAGE[:20]]),
        Answer(200, [b"[]"]),
        Answer(200, [b'"text"']),
        Answer(200, [b"null"]),
        Answer(200, [b'{"items": 7, "metadata": {"resourceVersion": "1"}}']),
        Answer(200, [b'{"items": [], "metadata": 7}']),
        Answer(200, [b'{"items": []}']),
        Answer(200, [b"[" * 100_000]),
        Answer(200, [b'{"items": "\xff"}']),
        Answer(200, [gzip.compress(PAGE * 100)[:-20]], {"Content-Encoding": "gzip"}),
        Answer(200, [b"no gzip at all"], {"Content-Encoding": "gzip"}),
        Answer(200, [PAGE], {"Content-Encoding": "deflate"}),
        Answer(302, [HTML], {"Location": "/login"}),
        Answer(302, [HTML], {"Location": "http://[nowhere"}),
        Answer(308, [HTML], {"Location": NODES}),
        Answer(418, [HTML], {"Content-Length": "2"}),
        Answer(500, [b"x" * 2_000_000]),
        Answer(500, [gzip.compress(b"x" * 50_000_000)], {"Content-Encoding": "gzip"}),
    ],
)
async def test_no_answer_is_no_answer(port: KubernetesPort, api: ScriptedApi, given: Answer):
    api.on("GET", NODES, given)
    api.on("GET", "/login", Answer(200, [HTML]))
    api.on("GET", f"{JOBS}/{JOB}", given)
    for call in (port.list_all(Kind.NODES), port.find(JOB)):
        with pytest.raises(UnavailableError) as caught:
            await call
        assert len(caught.value.message) < 700
        assert "<html>" not in caught.value.message


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(PAGE)), ("deflate", zlib.compress(PAGE)), ("identity", PAGE)],
    ids=["gzip", "deflate", "identity"],  # not the bytes: gzip's begin with the time, which is another in each worker
)
async def test_a_compressed_answer(port: KubernetesPort, api: ScriptedApi, encoding: str, body: bytes):
    api.on("GET", NODES, Answer(200, [body], {"Content-Encoding": encoding}))
    assert (await port.list_all(Kind.NODES)).resource_version == "7"


async def test_a_page_that_would_take_too_much_memory_is_asked_for_in_smaller_ones(
    port: KubernetesPort, api: ScriptedApi
):
    """Here a bomb: small on the wire. In earnest 500 pods of a stranger with a megabyte of annotations each."""
    bomb = gzip.compress(b'{"items": ["' + b"x" * 80_000_000 + b'"]}')
    whole = answer({"metadata": {"resourceVersion": "7"}, "items": [node_json("a")]})
    api.on("GET", NODES, Answer(200, [bomb], {"Content-Encoding": "gzip"}), whole)
    assert len((await port.list_all(Kind.NODES)).items) == 1
    await port.list_all(Kind.NODES)
    assert [request.query["limit"] for request in api.requests] == ["2", "1", "1"]


async def test_it_takes_too_much_memory_one_by_one_too(port: KubernetesPort, api: ScriptedApi):
    bomb = gzip.compress(b" " * 80_000_000)
    api.on("GET", NODES, Answer(200, [bomb], {"Content-Encoding": "gzip"}))
    with pytest.raises(UnavailableError, match="more than 67108864 bytes"):
        await port.list_all(Kind.NODES)


async def test_a_list_that_takes_longer_than_its_first_page_lives_is_asked_for_in_larger_ones(
    port: KubernetesPort, api: ScriptedApi
):
    first = answer({"metadata": {"resourceVersion": "7", "continue": "more"}, "items": [node_json("a")]})
    whole = answer({"metadata": {"resourceVersion": "9"}, "items": [node_json("a")]})
    api.on("GET", NODES, first, failure(410, "Expired"), first, failure(410, "Expired"), whole)
    for _ in range(2):
        with pytest.raises(GoneError):
            await port.list_all(Kind.NODES)
    assert (await port.list_all(Kind.NODES)).resource_version == "9"
    assert [request.query["limit"] for request in api.requests] == ["2", "2", "4", "4", "8"]


async def test_a_watch_event_of_three_megabytes(port: KubernetesPort, api: ScriptedApi):
    large = node_json("a", 8) | {"status": {"images": ["x" * 1024] * 3072}}
    api.on("GET", NODES, stream({"type": "MODIFIED", "object": large}), watch=True)
    [event] = [event async for event in port.watch(Kind.NODES, "5")]
    assert (event.resource_version, event.item and event.item.name) == ("8", "a")


@pytest.mark.parametrize("given", [Answer(200, [HTML, b"\n"]), Answer(200, [b"7\n"]), Answer(200, [b'{"type": 7}\n'])])
async def test_a_watch_answered_with_a_page(port: KubernetesPort, api: ScriptedApi, given: Answer):
    api.on("GET", NODES, given, watch=True)
    with pytest.raises(GoneError):
        _ = [event async for event in port.watch(Kind.NODES, "5")]


async def test_a_watch_that_was_cut_in_a_line_tells_what_was_whole(port: KubernetesPort, api: ScriptedApi):
    whole = stream({"type": "ADDED", "object": node_json("a", 8)}).body
    api.on("GET", NODES, Answer(200, [*whole, b'{"type": "ADDED", "obj']), watch=True)
    assert [event.resource_version async for event in port.watch(Kind.NODES, "5")] == ["8"]
