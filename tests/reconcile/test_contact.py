"""When a cluster is taken for lost, and when it is there again."""

from __future__ import annotations

import pytest

from app.cluster.port import Kind, RefusedError, UnavailableError
from app.reconcile.clusters import Cluster, Lost
from app.reconcile.contact import ContactKeeper
from app.store import clusters
from tests.clock import START
from tests.reconcile.builders import World, seconds

DOWN = UnavailableError("connection refused")
LOST_AFTER = 60


@pytest.fixture
def cluster(world: World) -> Cluster:
    """All of it has been listed."""
    return world.background.clusters[0]


@pytest.fixture
def keeper(world: World, cluster: Cluster) -> ContactKeeper:
    return ContactKeeper(cluster, world.clock, LOST_AFTER)


def lost(cluster: Cluster) -> Lost | None:
    return cluster.contact.lost


def late(cluster: Cluster) -> bool:
    return cluster.contact.is_late


async def look(world: World, keeper: ContactKeeper, *answers: UnavailableError | RefusedError | None) -> None:
    """One look after the other, ten seconds apart; None is a good answer."""
    for answer in answers:
        world.clock.advance(10)
        if answer is not None:
            world.cluster.fail("ping", answer)
        await keeper.look()


async def test_a_cluster_that_answers_is_in_contact(world: World, keeper: ContactKeeper, cluster: Cluster):
    await look(world, keeper, None, None)
    assert (cluster.contact.lost, cluster.contact.last_at) == (None, START + seconds(20))
    assert cluster.is_current


async def test_it_is_lost_when_it_gave_no_answer_for_a_while(world: World, keeper: ContactKeeper, cluster: Cluster):
    await look(world, keeper, None, *[DOWN] * 5)
    assert lost(cluster) is None
    await look(world, keeper, DOWN)
    assert lost(cluster) == Lost(START + seconds(10), "connection refused")
    assert not cluster.is_current


async def test_an_answer_in_between_begins_anew(world: World, keeper: ContactKeeper, cluster: Cluster):
    await look(world, keeper, *[DOWN] * 5, None, *[DOWN] * 5)
    assert lost(cluster) is None


async def test_a_refusal_is_an_answer(world: World, keeper: ContactKeeper, cluster: Cluster):
    await look(world, keeper, *[RefusedError(403, "Forbidden", "no")] * 8)
    assert lost(cluster) is None


async def test_it_is_back_only_once_it_has_been_listed_anew(world: World, keeper: ContactKeeper, cluster: Cluster):
    await look(world, keeper, *[DOWN] * 6)
    cluster.projection.forget_health()
    await look(world, keeper, None)
    assert lost(cluster) is not None
    world.watch()
    await look(world, keeper, DOWN)
    assert lost(cluster) is not None
    await look(world, keeper, None)
    assert lost(cluster) is None


async def test_a_silent_watch_says_nothing(world: World, keeper: ContactKeeper, cluster: Cluster):
    for health in cluster.projection.health.values():
        health.last_event_at = world.clock.monotonic()
    await look(world, keeper, *[None] * 30)
    assert lost(cluster) is None


async def test_a_watch_that_goes_on_failing_loses_contact(world: World, keeper: ContactKeeper, cluster: Cluster):
    pods = cluster.projection.health[Kind.PODS]
    pods.last_event_at = pods.failed_at = world.clock.monotonic()
    pods.failures, pods.last_error = 1, "500 InternalError"
    await look(world, keeper, *[None] * 11)
    assert lost(cluster) is None
    await look(world, keeper, None)
    found = lost(cluster)
    assert found is not None
    assert found.error == "500 InternalError"


async def test_a_cluster_that_can_not_be_listed_is_lost(world: World, keeper: ContactKeeper, cluster: Cluster):
    cluster.projection.forget_health()
    await look(world, keeper, *[None] * 6)
    assert lost(cluster) == Lost(None, "nodes could not be listed")


async def test_others_wait_a_little_for_one_that_is_slow(world: World, keeper: ContactKeeper, cluster: Cluster):
    cluster.projection.forget_health()
    await keeper.look()
    assert not late(cluster)
    world.clock.advance(5)
    await keeper.look()
    assert late(cluster)
    world.watch()
    await keeper.look()
    assert not late(cluster)


async def test_nobody_waits_for_one_that_does_not_answer(world: World, keeper: ContactKeeper, cluster: Cluster):
    cluster.projection.forget_health()
    world.cluster.fail("ping", DOWN)
    await keeper.look()
    assert late(cluster)


async def test_the_last_contact_outlives_a_restart(world: World, keeper: ContactKeeper, cluster: Cluster):
    await look(world, keeper, None, None, *[DOWN] * 6)
    again = Cluster("default", world.cluster, cluster.projection)
    again.projection.forget_health()
    await look(world, ContactKeeper(again, world.clock, LOST_AFTER), *[DOWN] * 6)
    assert lost(again) == Lost(START + seconds(20), "connection refused")


async def test_a_good_contact_is_stored_now_and_then(world: World, keeper: ContactKeeper):
    for _ in range(7):
        await look(world, keeper, None)
    assert await clusters.last_contacts() == {"default": START + seconds(70)}
    await look(world, keeper, None)
    assert await clusters.last_contacts() == {"default": START + seconds(70)}


async def test_a_kind_that_was_listed_since_it_failed_is_seen(world: World, keeper: ContactKeeper, cluster: Cluster):
    """Although its watch has brought nothing yet."""
    pods = cluster.projection.health[Kind.PODS]
    pods.failed_at, pods.failures = world.clock.monotonic(), 1
    pods.last_event_at = world.clock.monotonic() + 1
    await look(world, keeper, *[None] * 30)
    assert (lost(cluster), cluster.contact.last_at) == (None, world.clock.now())
