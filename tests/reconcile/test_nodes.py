"""Servers on record, as the loop writes them down."""

from __future__ import annotations

from app.bus import Bus
from app.cluster.port import Kind
from app.reconcile.nodes import NodeRecorder
from app.store import servers
from tests.placement.builders import node
from tests.reconcile.builders import World
from tests.store.builders import an_organization


def recorder(world: World) -> NodeRecorder:
    return NodeRecorder(world.background.clusters[0], world.clock)


async def names(slug: str) -> dict[str, bool]:
    """Each server's name, and whether it is there."""
    return {record.name: record.gone_at is None for record in await servers.servers_of(slug)}


async def test_each_node_belongs_to_the_organization_its_label_names(world: World):
    await an_organization("other", is_default=False)
    world.cluster.nodes = {n.name: n for n in (node("a", pool="acme"), node("b", pool="other"), node("c", pool=""))}
    world.watch()
    await recorder(world).record()
    assert await names("acme") == {"a": True, "c": True, "gpu-1": False}
    assert await names("other") == {"b": True}


async def test_nothing_is_called_gone_before_the_nodes_were_listed(world: World):
    world.restart(Bus())
    await recorder(world).record()
    assert await names("acme") == {"gpu-1": True}
    world.watch(Kind.PODS)
    await recorder(world).record()
    assert await names("acme") == {"gpu-1": True}


async def test_a_node_that_goes_stays_on_record_and_may_come_back(world: World):
    there = world.cluster.nodes.copy()
    world.cluster.nodes = {}
    world.watch()
    await recorder(world).record()
    assert await names("acme") == {"gpu-1": False}
    world.cluster.nodes = there
    world.watch()
    await recorder(world).record()
    assert await names("acme") == {"gpu-1": True}


async def test_a_changed_label_moves_the_server(world: World):
    world.cluster.nodes["gpu-1"] = node("gpu-1", pool="other")
    world.watch()
    await recorder(world).record()
    assert (await names("acme"), await names("other")) == ({}, {"gpu-1": True})
