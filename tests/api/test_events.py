"""workloadEvents: replay, then live; nothing lost or doubled; over when the right to it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle
from typing import Any
from uuid import UUID

from gql import Client, GraphQLRequest
from gql.transport.websockets import WebsocketsTransport

from app.auth import TRUSTED_SECONDS
from app.domain.people import Role
from app.graphql.cursors import event_cursor
from app.store import people, reads
from app.store.models import UserRow
from tests.api.talk import TRANSPORT_WS, acknowledged, answer_to, following, hear, say, subscribe
from tests.api.world import CANCEL, EVENTS, Api, secret
from tests.clock import START
from tests.store.builders import a_stored_workload

COUNT = 300


async def write(api: Api, count: int, *, pause: float = 0.0) -> None:
    acme = api.organizations["acme"]
    for _ in range(count):
        await a_stored_workload(acme)
        api.services.commands.bus.wake_events(acme.id)
        await asyncio.sleep(pause)


def place(api: Api, sequence: int) -> str:
    return event_cursor(api.organizations["acme"].id, sequence)


async def stored(api: Api) -> list[str]:
    """The cursors of all events, in order."""
    return [place(api, event.sequence) for event in await reads.events_after(api.organizations["acme"].id, 0, 10_000)]


async def taken(events: AsyncIterator[dict[str, Any]], count: int) -> list[str]:
    """The cursors of the next ones."""
    return [(await anext(events))["cursor"] for _ in range(count)]


async def test_without_a_cursor_it_begins_now(api: Api, ws_url: str):
    await write(api, 3)
    async with following(ws_url) as events:
        follower = asyncio.ensure_future(anext(events))
        submitted: list[str] = []
        while not follower.done():  # nothing tells when it has begun
            submitted.append((await api.submit())["id"])
            await asyncio.wait([follower], timeout=0.2)
        event = await follower
    assert event["workloadId"] in submitted
    assert (event["type"], event["status"]) == ("SUBMITTED", "PENDING")


async def test_behind_a_cursor_everything_is_replayed_and_then_followed(api: Api, ws_url: str):
    await write(api, 5)
    cursors = await stored(api)
    async with following(ws_url, cursors[1]) as events:
        replayed = [await anext(events) for _ in range(3)]
        workload = await api.submit()
        await api.data(CANCEL, {"id": workload["id"]})
        live = [await anext(events) for _ in range(2)]
    assert [e["cursor"] for e in replayed] == cursors[2:]
    assert [(e["workloadId"], e["type"]) for e in live] == [(workload["id"], "SUBMITTED"), (workload["id"], "ENDED")]


async def test_a_replay_is_longer_than_one_read(api: Api, ws_url: str):
    await asyncio.gather(*(write(api, 50) for _ in range(10)))
    async with following(ws_url, place(api, 0)) as events:
        seen = await taken(events, 500)
    assert seen == await stored(api)


async def test_nothing_is_lost_or_doubled_over_reconnects_while_others_write(api: Api, ws_url: str):
    writers = asyncio.gather(*(write(api, COUNT // 3, pause=0.001) for _ in range(3)))
    seen, lengths = [place(api, 0)], cycle([1, 7, 30, 2, 13])
    while len(seen) <= COUNT:
        async with following(ws_url, seen[-1], is_abrupt=len(seen) % 2 == 0) as events:
            seen += await taken(events, min(next(lengths), COUNT + 1 - len(seen)))
    await writers
    assert seen[1:] == await stored(api)


async def test_many_followers_see_the_same(api: Api, ws_url: str):
    async def follow() -> list[str]:
        async with following(ws_url, place(api, 0)) as events:
            return await taken(events, 40)

    followers = [asyncio.create_task(follow()) for _ in range(20)]
    await write(api, 40, pause=0.001)
    seen = await asyncio.gather(*followers)
    assert seen == [await stored(api)] * 20


async def test_other_organizations_events_are_not_told(api: Api, ws_url: str):
    await a_stored_workload(api.organizations["other"])
    async with following(ws_url, place(api, 0)) as events:
        mine = await api.submit()
        assert (await anext(events))["workloadId"] == mine["id"]


async def test_the_workload_beside_an_event_is_the_present_one(api: Api, ws_url: str):
    query = EVENTS.replace("workloadId", "workload { status }")
    async with acknowledged(ws_url) as opened:
        await say(opened, subscribe(query, org="acme", after=place(api, 0)))
        workload = await api.submit()
        first = await hear(opened)
        await api.data(CANCEL, {"id": workload["id"]})
        second = await hear(opened)
    told = [message["payload"]["data"]["workloadEvents"] for message in (first, second)]
    assert [event["workload"]["status"] for event in told] == ["PENDING", "CANCELLED"]


async def test_a_real_client_library_follows(api: Api, ws_url: str):
    transport = WebsocketsTransport(
        url=ws_url,
        init_payload={"authorization": f"Bearer {secret('admin')}"},
        subprotocols=[TRANSPORT_WS],
        connect_args={"proxy": None},
    )
    request = GraphQLRequest(EVENTS, variable_values={"org": "acme", "after": place(api, 0)})
    await write(api, 3)
    seen: list[Any] = []
    async with Client(transport=transport, fetch_schema_from_transport=True) as session:
        async for result in session.subscribe(request):
            seen.append(result["workloadEvents"]["cursor"])
            if len(seen) == 3:
                break
    assert seen == await stored(api)


async def test_a_follower_that_leaves_is_forgotten(api: Api, ws_url: str):
    bus = api.services.commands.bus
    async with following(ws_url, place(api, 0)) as events:
        await api.submit()
        await anext(events)
        assert bus._tails
    async with asyncio.timeout(60):
        while bus._tails:  # noqa: ASYNC110 — nothing tells of it
            await asyncio.sleep(0.01)


async def ended_by(api: Api, url: str, take_away: Any) -> dict[str, Any]:
    """The error that ends a subscription after `take_away`, once the trust in its caller is used up."""
    async with acknowledged(url) as opened:
        await say(opened, subscribe(EVENTS, org="acme", after=place(api, 0)))
        await write(api, 1)
        assert (await hear(opened))["payload"]["data"]
        await take_away
        api.clock.advance(TRUSTED_SECONDS)
        await write(api, 1)
        message = await hear(opened)
        assert (await hear(opened))["type"] == "complete"
    assert message["payload"]["data"] is None
    [error] = message["payload"]["errors"]
    found: dict[str, Any] = error["extensions"]
    return found


async def test_it_ends_when_the_token_is_revoked(api: Api, ws_url: str):
    assert await ended_by(api, ws_url, people.revoke_token(api.token_ids["admin"], START)) == {
        "code": "UNAUTHENTICATED"
    }


async def test_it_ends_when_the_role_is_taken_away(api: Api, ws_url: str):
    user = await UserRow.get(email="admin@example.org")
    lowered = people.set_membership(api.organizations["acme"].id, user.id, Role.VIEWER, START)
    assert await ended_by(api, ws_url, lowered) == {"code": "FORBIDDEN"}


async def test_it_ends_when_the_feature_is_switched_off(api: Api, ws_url: str):
    off = people.set_gpu_workloads_enabled("acme", enabled=False)
    expected = {"code": "PRECONDITION_FAILED", "precondition": "feature_disabled"}
    assert await ended_by(api, ws_url, off) == expected


async def test_a_token_that_expires_ends_everything_else_on_the_socket_too(api: Api, ws_url: str):
    async with acknowledged(ws_url, "brief") as opened:
        await say(opened, subscribe("{ viewer { name } }"))
        assert (await hear(opened))["payload"]["data"]["viewer"]["name"] == "admin@example.org"
        assert (await hear(opened))["type"] == "complete"
        api.clock.advance(3600)
        await say(opened, subscribe("{ viewer { name } }"))
        assert (await hear(opened))["payload"]["errors"][0]["extensions"] == {"code": "UNAUTHENTICATED"}


async def test_who_may_not_follow_is_told(api: Api, ws_url: str):
    for who, org, code in (
        ("member", "acme", "FORBIDDEN"),
        ("viewer", "acme", "FORBIDDEN"),
        ("manager", "acme", "FORBIDDEN"),
        ("admin", "other", "NOT_FOUND"),
        ("admin", "paused", "PRECONDITION_FAILED"),
        ("admin", "empty", "PRECONDITION_FAILED"),
    ):
        kind, payload = await answer_to(ws_url, EVENTS, who=who, org=org)
        assert (kind, payload["data"]) == ("next", None)
        assert payload["errors"][0]["extensions"]["code"] == code


async def test_a_cursor_that_was_not_given_out_is_refused(api: Api, ws_url: str):
    forged = [
        "",
        "x",
        event_cursor(UUID(int=1), -1),
        event_cursor(UUID(int=1), 2**63),
        event_cursor(UUID(int=1), 10**100),
    ]
    for cursor in [*forged, event_cursor(UUID(int=1), 3) + "=", UUID(int=0).hex]:
        _, payload = await answer_to(ws_url, EVENTS, org="acme", after=cursor)
        assert payload["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT", cursor
