"""workloadLogs: from the start or a cursor, live, over all attempts; every byte once; over when the right to it is."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from app.auth import TRUSTED_SECONDS
from app.cluster.port import UnavailableError
from app.domain import log_words
from app.domain.log_walk import Place
from app.domain.workload import Workload
from app.graphql.cursors import log_cursor
from app.reconcile.log_follower import LogChunk, follow
from app.reconcile.logs import LogReader
from app.store import people
from app.store.logs import StoredLog
from tests.api.runs import WAITS_AGAIN, a_run, end, next_run
from tests.api.talk import TRANSPORT_WS, acknowledged, answer_to, hear, init, say, subscribe
from tests.api.world import Api
from tests.clock import START
from tests.log_port import POD, a_stamp
from tests.store.builders import a_stored_workload

LOGS = "subscription($id: UUID!, $after: String) { workloadLogs(id: $id, after: $after) { %s } }"
CHUNK = LOGS % "attempt text cursor gap isLast"
PATIENCE = 60


def kept(api: Api, **changes: Any) -> StoredLog:
    """All that the container wrote."""
    lines = [a_stamp(i) + line for i, line in enumerate(api.port.log.splitlines(keepends=True))]
    return StoredLog(b"".join(lines), **changes)


@asynccontextmanager
async def followed(
    api: Api, workload: Workload, place: Place | None = None, reader: LogReader | None = None
) -> AsyncIterator[AsyncIterator[LogChunk]]:
    """The chunks, without the pauses between them."""
    found = follow(reader or api.services.logs, api.services.commands.bus, workload, place or Place(0))
    async with asyncio.timeout(PATIENCE), aclosing(found) as chunks:
        yield (chunk async for chunk in chunks if chunk is not None)


async def to_the_end(api: Api, workload: Workload, place: Place | None = None) -> list[LogChunk]:
    async with followed(api, workload, place) as chunks:
        return [chunk async for chunk in chunks]


def text_of(chunks: list[LogChunk]) -> bytes:
    return b"".join(chunk.text for chunk in chunks)


async def test_it_is_followed_live_and_ends_once_it_is_kept(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\n"
    async with followed(api, workload) as chunks:
        assert (await anext(chunks)).text == b"one\n"
        api.port.write(b"tw")
        api.port.write(b"o\n")
        assert (await anext(chunks)).text == b"two\n"
        api.port.end()
        await end(api, workload, kept(api))
        last = await anext(chunks)
        assert (last.text, last.is_last, last.gap, last.place.attempt) == (b"", True, False, 1)
        assert await anext(chunks, None) is None
    assert [part.follow for part in api.port.opened] == [True]
    assert api.port.open_now == 0


async def test_what_the_cluster_no_longer_gave_comes_from_what_is_kept(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\ntwo\n"
    api.port.most = 45
    async with followed(api, workload) as chunks:
        assert (await anext(chunks)).text == b"one\n"
        api.port.log += b"three\n"
        await end(api, workload, kept(api))
        api.port.error = UnavailableError("gone")
        assert text_of([chunk async for chunk in chunks]) == b"two\nthree\n"


async def test_a_dropped_connection_loses_and_doubles_nothing(api: Api):
    workload = await a_run(api)
    same = b"2026-11-30T12:00:07.000000001Z "
    api.port.pod, api.port.stamp, api.port.most = POD, lambda _: same, 100
    api.port.log = b"".join(b"line %d\n" % i for i in range(6))
    async with followed(api, workload) as chunks:
        got = b""
        while got != api.port.log:
            got += (await anext(chunks)).text
            assert api.port.log.startswith(got)
            api.port.most += 100
    assert len(api.port.opened) > 1
    assert {part.since for part in api.port.opened[1:]} == {START.replace(second=6)}


async def test_it_goes_on_with_the_next_attempt(api: Api):
    workload = await end(api, await a_run(api), StoredLog(a_stamp(0) + b"first\n"), **WAITS_AGAIN)
    async with followed(api, workload) as chunks:
        assert (await anext(chunks)).text == b"first\n"
        api.port.pod, api.port.log = POD, b"second\n"
        workload = await next_run(api, workload)
        second = await anext(chunks)
        assert (second.text, second.place.attempt) == (b"second\n", 2)
        api.port.end()
        await end(api, workload, kept(api))
        assert (await anext(chunks)).is_last


async def test_it_waits_for_the_first_attempt(api: Api):
    workload = await a_stored_workload(api.organizations["acme"])
    async with followed(api, workload) as chunks:
        coming = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0.2)
        assert not coming.done()
        api.port.pod, api.port.log = POD, b"one\n"
        await next_run(api, workload)
        assert (await coming).text == b"one\n"


async def test_it_waits_for_the_container_and_for_the_cluster(api: Api):
    workload = await a_run(api)
    api.port.error = UnavailableError("down")
    async with followed(api, workload) as chunks:
        coming = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0.2)
        api.port.error, api.port.pod, api.port.log = None, POD, b"one\n"
        assert (await coming).text == b"one\n"


async def test_behind_every_piece_it_can_be_gone_on_with(api: Api):
    """In the log that is kept as in the live one."""
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"".join(b"%d " % i * 500 + b"\n" for i in range(60))
    api.port.end()
    async with followed(api, workload) as chunks:
        live = [await anext(chunks)]
        while text_of(live) != api.port.log:
            live.append(await anext(chunks))
    assert len(live) > 3
    await end(api, workload, kept(api))
    whole = await to_the_end(api, workload)
    for chunks_before in (live, whole):
        for i, chunk in enumerate(chunks_before):
            rest = await to_the_end(api, workload, chunk.place)
            assert text_of(chunks_before[: i + 1]) + text_of(rest) == api.port.log
            assert not any(c.gap for c in rest)


async def test_what_can_not_be_had_is_a_gap(api: Api):
    for log, chunks in (
        (StoredLog(a_stamp(0) + b"x\n", was_cut=True), [(b"x\n", True, False), (b"", False, True)]),
        (StoredLog(why_none=log_words.POD_GONE), [(b"", True, False), (b"", False, True)]),
        (StoredLog(), [(b"", False, True)]),
    ):
        workload = await end(api, await a_run(api), log)
        assert [(c.text, c.gap, c.is_last) for c in await to_the_end(api, workload)] == chunks


async def test_what_was_rotated_away_meanwhile_is_a_gap(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\n"
    async with followed(api, workload) as chunks:
        first = await anext(chunks)
    api.port.log, api.port.stamp = b"three\n", lambda _: a_stamp(2000)
    async with followed(api, workload, first.place) as chunks:
        chunk = await anext(chunks)
    assert (chunk.text, chunk.gap) == (b"three\n", True)


async def test_pieces_are_bounded_and_whatever_was_written_can_be_sent(api: Api, ws_url: str):
    log = StoredLog(a_stamp(0) + b"\xff\0" * 100_000 + b"\n" + a_stamp(1) + "ä€😀".encode() * 20_000 + b"\r\n")
    workload = await end(api, await a_run(api), log)
    text = ""
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(CHUNK, id=str(workload.id)))
        while not (chunk := (await hear(opened))["payload"]["data"]["workloadLogs"])["isLast"]:
            assert 0 < len(chunk["text"].encode()) <= 64 * 1024
            text += chunk["text"]
        assert (await hear(opened))["type"] == "complete"
    assert text == "\ufffd" * 200_000 + "\n" + "ä€😀" * 20_000 + "\r\n"


async def test_who_reads_slowly_leaves_the_rest_where_it_is(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"x" * 10_000_000
    async with followed(api, workload) as chunks:
        for _ in range(4):
            await anext(chunks)
        await asyncio.sleep(0.05)
        assert api.port.pieces_given <= 3


async def test_two_readers_have_nothing_in_common(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\ntwo\n"
    async with followed(api, workload) as first, followed(api, workload) as second:
        assert (await anext(first)).text == b"one\ntwo\n"
        api.port.write(b"three\n")
        assert (await anext(first)).text == b"three\n"
        assert b"".join([(await anext(second)).text]) == b"one\ntwo\nthree\n"
        api.port.write(b"four\n")
        assert (await anext(second)).text == (await anext(first)).text == b"four\n"


async def test_when_too_many_follow_the_next_one_asks_again_and_again(api: Api):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\n"
    reader = replace(api.services.logs, _streams=asyncio.Semaphore(0))
    async with followed(api, workload, reader=reader) as chunks:
        assert (await anext(chunks)).text == b"one\n"
        api.port.write(b"two\n")
        assert (await anext(chunks)).text == b"two\n"
    assert not any(part.follow for part in api.port.opened)


async def test_who_leaves_leaves_no_connection_behind(api: Api, ws_url: str):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\n"
    for is_abrupt in (False, True):
        async with acknowledged(ws_url) as opened:
            await say(opened, subscribe(CHUNK, id=str(workload.id)))
            assert (await hear(opened))["payload"]["data"]["workloadLogs"]["text"] == "one\n"
            assert api.port.open_now == 1
            if is_abrupt:
                opened.transport.abort()
            else:
                await say(opened, {"id": "1", "type": "complete"})
                await until_closed(api)
        await until_closed(api)


async def until_closed(api: Api) -> None:
    async with asyncio.timeout(PATIENCE):
        while api.port.open_now:  # noqa: ASYNC110 — nobody tells
            await asyncio.sleep(0.02)


async def test_it_ends_when_the_right_to_read_does(api: Api, ws_url: str):
    workload = await a_run(api)
    api.port.pod, api.port.log = POD, b"one\n"
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(CHUNK, id=str(workload.id)))
        await hear(opened)
        await people.revoke_token(api.token_ids["admin"], START)
        api.clock.advance(TRUSTED_SECONDS)
        api.port.write(b"secret\n")
        message = await hear(opened)
    assert message["payload"]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    await until_closed(api)


@pytest.mark.parametrize(
    ("who", "code"),
    [("member", "FORBIDDEN"), ("viewer", "FORBIDDEN"), ("manager", "FORBIDDEN"), ("stranger", "NOT_FOUND")],
)
async def test_it_is_for_those_who_may_read_workloads(api: Api, ws_url: str, who: str, code: str):
    workload = await a_run(api)
    _, payload = await answer_to(ws_url, CHUNK, who=who, id=str(workload.id))
    errors = payload["errors"] if isinstance(payload, dict) else payload
    assert errors[0]["extensions"]["code"] == code
    assert api.port.opened == []


async def test_a_cursor_is_taken_for_its_own_workload_only(api: Api, ws_url: str):
    workload = await end(api, await a_run(api), StoredLog(a_stamp(0) + b"x\n"))
    other = await end(api, await a_run(api), StoredLog(a_stamp(0) + b"x\n"))
    _, payload = await answer_to(ws_url, CHUNK, id=str(workload.id))
    cursor = payload["data"]["workloadLogs"]["cursor"]
    _, payload = await answer_to(ws_url, CHUNK, id=str(workload.id), after=cursor)
    assert payload["data"]["workloadLogs"] == {
        "attempt": 1,
        "text": "",
        "cursor": cursor,
        "gap": False,
        "isLast": True,
    }
    for id_, after in ((other.id, cursor), (workload.id, cursor[:-2]), (workload.id, "bm90IG91cnM"), (workload.id, "")):
        _, payload = await answer_to(ws_url, CHUNK, id=str(id_), after=after)
        errors = payload["errors"] if isinstance(payload, dict) else payload
        assert errors[0]["extensions"]["code"] == "BAD_USER_INPUT"


PLACE = Place(1, 2, 2, 1)


@pytest.mark.parametrize("name", [each.name for each in fields(Place)])
@pytest.mark.parametrize("number", [-1, 2**31, 2**63, 10**30])
async def test_a_cursor_with_a_number_out_of_range_is_refused(api: Api, ws_url: str, name: str, number: int):
    workload = await end(api, await a_run(api), StoredLog(a_stamp(0) + b"x\n"))
    cursor = log_cursor(workload.id, replace(PLACE, **{name: number}))
    _, payload = await answer_to(ws_url, CHUNK, id=str(workload.id), after=cursor)
    if name != "attempt" and number == 2**31:  # nanoseconds, lines and bytes may be as many
        assert payload["data"]["workloadLogs"]["attempt"] == 1
        return
    errors = payload["errors"] if isinstance(payload, dict) else payload
    assert errors[0]["extensions"]["code"] == "BAD_USER_INPUT"


async def test_a_client_that_does_not_read_does_not_fill_the_memory(api: Api, ws_url: str):
    """The server waits for the socket, and the log waits where it is."""
    workload = await a_run(api)
    noise = Random(7).randbytes(30_000_000)  # noqa: S311 — nothing that could be compressed away
    api.port.pod, api.port.log = POD, b64encode(noise)
    async with connect(ws_url, subprotocols=[Subprotocol(TRANSPORT_WS)], proxy=None, max_queue=1) as opened:
        await say(opened, init(), subscribe(CHUNK, id=str(workload.id)))
        before, given = -1, 0
        async with asyncio.timeout(PATIENCE):
            while before != given or not given:
                before = given
                await asyncio.sleep(0.3)
                given = api.port.pieces_given
        assert given < len(api.port.log) // api.port.piece // 2, given
        opened.transport.abort()
