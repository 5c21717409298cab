"""`gpuyard admin list-servers` and `assign-server`, as an operator types them."""

from __future__ import annotations

import asyncio

import pytest
from typer.testing import CliRunner

from app.cli.operate import admin
from app.domain.server import Cordon
from app.store import servers
from app.store.database import opened
from tests.clock import START
from tests.placement.builders import node
from tests.store.builders import an_organization


async def fill(url: str) -> None:
    async with opened(url):
        await an_organization()
        await an_organization("other", is_default=False)
        await servers.record_nodes("default", [(node("gpu-1"), "acme"), (node("gpu-2", 1), "acme")], START)
        await servers.record_nodes("berlin", [(node("gpu-2"), "")], START)
        await servers.record_nodes("berlin", [], START)
        cordoned = next(it for it in await servers.servers_of("acme") if it.name == "gpu-1")
        flags = cordoned.flags.cordoned(Cordon("acme", "ada", START, "fans"))
        await servers.write_flags(cordoned.id, cordoned.flags, flags)


def typed(*words: str) -> tuple[int, list[str]]:
    """Exit code and what was printed."""
    result = CliRunner().invoke(admin, words)
    return result.exit_code, result.output.splitlines()


@pytest.fixture(autouse=True)
def stored(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(fill(sqlite_url))
    monkeypatch.setenv("GPUYARD_DATABASE_URL", sqlite_url)


def test_an_operator_assigns_a_server_and_clears_it():
    assert typed("list-servers") == (
        0,
        [
            "default/gpu-1 8 GPUs acme by its label, cordoned by ada: fans",
            "berlin/gpu-2 8 GPUs nobody's, gone",
            "default/gpu-2 1 GPU acme by its label",
        ],
    )
    assert typed("assign-server", "gpu-1", "other") == (0, ["server default/gpu-1 is other's by assignment"])
    assert typed("list-servers")[1][0] == (
        "default/gpu-1 8 GPUs other by assignment, cordoned by its former organization"
    )
    assert typed("assign-server", "gpu-1", "--clear") == (0, ["server default/gpu-1 is acme's by its label"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("gpu-1",), "give either an organization or --clear"),
        (("gpu-1", "other", "--clear"), "give either an organization or --clear"),
        (("gpu-1", "nobody"), "there is no organization 'nobody'"),
        (("gpu-2", "other"), "say berlin/gpu-2 or default/gpu-2"),
    ],
)
def test_what_can_not_be_done_is_told(words: tuple[str, ...], told: str):
    code, printed = typed("assign-server", *words)
    assert code == 1
    assert told in " ".join(printed)
