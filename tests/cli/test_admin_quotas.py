"""`gpuyard admin set-quota`, as an operator types it."""

from __future__ import annotations

import asyncio

import pytest

from app.store import people, servers
from app.store.database import opened
from tests.cli.test_admin_servers import typed
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import an_organization


async def fill(url: str) -> None:
    async with opened(url):
        organization = await an_organization()
        await people.add_project(organization.id, "vision", "Vision", START)
        await servers.record_nodes("default", [(node("gpu-1"), "acme")], START)


@pytest.fixture(autouse=True)
def stored(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(fill(sqlite_url))
    monkeypatch.setenv("GPUYARD_DATABASE_URL", sqlite_url)


def test_an_operator_sets_a_quota_and_takes_it_away():
    assert typed("set-quota", "acme", "vision", "--guaranteed", "4", "--max", "8") == (
        0,
        ["project vision: 4 guaranteed, 8 at most"],
    )
    assert typed("set-quota", "acme", "vision") == (0, ["project vision: nothing guaranteed, no maximum"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("acme", "speech"), "acme has no project 'speech'"),
        (("nobody", "vision"), "there is no organization 'nobody'"),
        (("acme", "vision", "--guaranteed", "9", "--max", "8"), "must not be less than what is guaranteed, 9; it is 8"),
    ],
)
def test_what_is_wrong_is_told(words: tuple[str, ...], told: str):
    code, lines = typed("set-quota", *words)
    assert (code, told in " ".join(lines)) == (1, True)


def test_guarantees_beyond_the_servers_are_warned_of():
    code, lines = typed("set-quota", "acme", "vision", "--guaranteed", "9")
    assert (code, "all guarantees together are 9 GPUs" in " ".join(lines)) == (0, True)
