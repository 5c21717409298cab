"""Cordoning and assigning a server: who may, what is written, and who is told."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from app.commands import administer
from app.commands.flag_server import cordon_server, uncordon_server
from app.domain.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError, PreconditionFailedError
from app.domain.people import Principal, Role, Scope
from app.store import servers
from app.store.database import Database
from app.store.models import AuditRow
from app.store.servers import ServerRecord
from tests.clock import START, ManualClock
from tests.placement.builders import node
from tests.store.builders import an_organization
from tests.store.desk import Desk, a_desk, refusals

OWNER = "owner@example.org"


@pytest.fixture
async def desk(database: Database, clock: ManualClock) -> Desk:
    return await a_desk(clock)


async def the_server(slug: str = "acme", name: str = "gpu-1") -> ServerRecord:
    [found] = [it for it in await servers.servers_of(slug) if it.name == name]
    return found


async def last_note() -> tuple[str, ...]:
    row = await AuditRow.all().order_by("-id").first()
    assert row is not None
    return row.actor, row.action, row.organization_slug, row.outcome, row.target, row.detail


async def test_a_cordon_says_who_when_and_why(desk: Desk):
    before = await the_server()
    context = desk.context
    after = await cordon_server(context, desk.person(), before.id, " fans ")
    assert after == await the_server()
    assert after.cordon is not None
    assert (after.cordon.by, after.cordon.at, after.cordon.reason) == (OWNER, START, "fans")
    assert (before.flags.version, after.flags.version, desk.woken) == (1, 2, ["queue"])
    expected = (OWNER, "cordon_server", "acme", "done", str(before.id), "default/gpu-1 fans")
    assert await last_note() == expected


async def test_asking_again_changes_nothing(desk: Desk):
    server = await the_server()
    first = await cordon_server(desk.context, desk.person(), server.id, "fans")
    desk.clock.advance(60)
    assert await cordon_server(desk.context, desk.person(Role.ADMIN), server.id, "fans", version=1) == first
    lifted = await uncordon_server(desk.context, desk.person(), server.id)
    assert (lifted.cordon, lifted.flags.version) == (None, 3)
    assert await uncordon_server(desk.context, desk.person(), server.id, version=1) == lifted


async def test_another_reason_takes_the_place_of_the_first(desk: Desk):
    server = await the_server()
    await cordon_server(desk.context, desk.person(), server.id, "fans")
    desk.clock.advance(60)
    cordon = (await cordon_server(desk.context, desk.person(Role.ADMIN), server.id, "disk")).cordon
    assert cordon is not None
    assert (cordon.by, cordon.at, cordon.reason) == ("admin@example.org", START + timedelta(minutes=1), "disk")


async def test_who_read_an_older_version_is_told_what_is(desk: Desk):
    server = await the_server()
    await cordon_server(desk.context, desk.person(), server.id, "fans", version=1)
    with pytest.raises(
        ConflictError, match=r"since version 1; it is at version 2, cordoned by owner@example.org: fans"
    ):
        await cordon_server(desk.context, desk.person(), server.id, "disk", version=1)
    with pytest.raises(ConflictError, match="since version 9"):
        await uncordon_server(desk.context, desk.person(), server.id, version=9)
    assert (await the_server()).flags.version == 2


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"role": Role.MEMBER}, ForbiddenError),
        ({"scopes": frozenset({Scope.WORKLOADS_READ, Scope.WORKLOADS_WRITE})}, ForbiddenError),
        ({"roles": {uuid4(): Role.OWNER}}, NotFoundError),
    ],
)
async def test_who_may_not_changes_nothing_and_is_noted(desk: Desk, changes: dict[str, object], error: type[Exception]):
    server = await the_server()
    person: Principal = desk.person(**changes)  # type: ignore[arg-type]
    for command in (
        cordon_server(desk.context, person, server.id, "x"),
        uncordon_server(desk.context, person, server.id),
    ):
        with pytest.raises(error):
            await command
    assert await the_server() == server
    assert [row[1:3] for row in await refusals()] == [("cordon_server", "acme"), ("uncordon_server", "acme")]


async def test_what_is_wrong_changes_nothing(desk: Desk):
    with pytest.raises(NotFoundError, match=r"no server .* that you may see"):
        await cordon_server(desk.context, desk.person(), UUID(int=9), "x")
    with pytest.raises(NotFoundError, match=r"no server .* that you may see"):
        await cordon_server(desk.context, desk.person(), (await the_server("other", "big")).id, "x")
    with pytest.raises(InvalidInputError, match="reason: must have at most 200"):
        await cordon_server(desk.context, desk.person(), (await the_server()).id, "x" * 201)
    assert await servers.flag_changes() == 3


async def test_the_feature_must_be_on(database: Database, clock: ManualClock):
    desk = await a_desk(clock, enabled=False)
    with pytest.raises(PreconditionFailedError):
        await cordon_server(desk.context, desk.person(), (await the_server()).id, "x")


async def test_an_operator_assigns_a_server_and_lets_the_label_decide_again(desk: Desk):
    await an_organization("other", is_default=False)
    server = await the_server()
    await cordon_server(desk.context, desk.person(), server.id, "fans")
    given = await administer.assign_server("gpu-1", "other", START)
    assert (given.organization_slug, given.flags.version) == ("other", 3)
    assert given.cordon is not None
    assert (given.cordon.by, given.cordon.reason) == ("", "")
    assert (await last_note())[1:] == ("assign_server", "other", "done", "", "default/gpu-1 from acme")
    assert await servers.largest_server("acme") == ("gpu-2", 1)
    with pytest.raises(NotFoundError):
        await uncordon_server(desk.context, desk.person(), server.id)
    assert await administer.assign_server("default/gpu-1", "other", START) == given
    back = await administer.assign_server("gpu-1", "", START)
    assert (back.organization_slug, back.flags.assigned_to, back.cordon) == ("acme", "", back.flags.cordon)
    assert (await last_note())[1:3] == ("clear_assignment", "acme")


async def test_an_assignment_that_can_not_be_made(desk: Desk):
    await servers.record_nodes("second", [(node("gpu-1"), "acme")], START)
    for name, slug, error, words in (
        ("gpu-7", "acme", NotFoundError, "no server 'gpu-7' on record"),
        ("gpu-1", "acme", InvalidInputError, "say default/gpu-1 or second/gpu-1"),
        ("second/gpu-1", "nobody", NotFoundError, "no organization 'nobody'"),
    ):
        with pytest.raises(error, match=words):
            await administer.assign_server(name, slug, START)
    assert {it.flags.assigned_to for it in await administer.list_servers()} == {""}
