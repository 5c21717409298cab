"""Where there are several clusters, pages say which; where there is one, nobody is bothered with its name."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.reconcile.clusters import Lost
from app.store import servers
from app.store.database import opened
from tests.clock import START, ManualClock
from tests.panel.world import LIST, Page, Panel, build_panel, populate
from tests.placement.builders import node

SERVERS = "/orgs/acme/platform/servers"


@pytest.fixture
async def several(sqlite_url: str, clock: ManualClock) -> AsyncIterator[Panel]:
    async with opened(sqlite_url):
        panel = build_panel(clock, ("default", "munich"))
        await populate(panel)
        await servers.record_nodes("munich", [(node("gpu-1", 4), "acme")], START)
        yield panel


async def texts(panel: Panel, *paths: str) -> list[str]:
    async with panel.browser() as browser:
        return [" ".join(Page.of((await browser.get(path)).text).text.split()) for path in paths]


async def test_a_workload_is_shown_with_its_cluster(several: Panel):
    workload = await several.running(await several.workload())
    [listed, shown] = await texts(several, LIST, f"{LIST}/{workload.id}")
    assert "default/gpu-1" in listed
    assert shown.count("default/gpu-1") == 2  # where it is, and in its attempt


async def test_servers_of_one_name_are_told_apart(several: Panel):
    several.background.clusters[1].contact.lost = Lost(START, "connection refused")
    async with several.browser() as browser:
        html = (await browser.get(SERVERS)).text
    assert 'id="server-default-gpu-1"' in html
    assert 'id="server-munich-gpu-1"' in html
    assert "in cluster munich, which does not answer" in html


async def test_one_cluster_is_not_named(panel: Panel):
    workload = await panel.running(await panel.workload())
    for text in await texts(panel, LIST, f"{LIST}/{workload.id}", SERVERS):
        assert "default" not in text
