"""What is removed by itself: dependents, old events, surplus pods, expired Jobs, the content of namespaces."""

from __future__ import annotations

from pathlib import Path

from app.simcluster.defaults import default_namespace
from app.simcluster.inside.jobs import TRACKING
from app.simcluster.meta import finalizers_of
from app.simcluster.resources import EVENTS, JOBS, NAMESPACES, PODS
from tests.simcluster.world import World


def test_background_lets_the_job_go_first(world: World):
    key = world.run(seconds=100)
    world.pass_time(2)
    world.delete(JOBS, "default/job", "Background")
    assert world.store.get(JOBS, "default/job") is None
    assert "deletionTimestamp" in world.pod(key)["metadata"]
    world.pass_time(1)
    assert world.store.get(PODS, key) is None


def test_foreground_lets_the_pods_go_first(world: World):
    key = world.run(seconds=100)
    world.pass_time(2)
    world.delete(JOBS, "default/job", "Foreground")
    assert finalizers_of(world.job()) == ["foregroundDeletion"]
    world.pass_time(1)
    assert world.store.get(PODS, key) is None
    assert world.store.get(JOBS, "default/job") is None


def test_orphaned_pods_go_on(world: World):
    key = world.run(seconds=100)
    world.pass_time(2)
    world.delete(JOBS, "default/job", "Orphan")
    pod = world.pod(key)
    assert world.store.get(JOBS, "default/job") is None
    assert "ownerReferences" not in pod["metadata"]
    assert TRACKING not in finalizers_of(pod)
    assert "running" in world.state(key)


def test_an_object_whose_owner_never_was_is_removed(world: World):
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "ghost", "uid": "nobody"}
    metadata = {"name": "lost", "namespace": "default", "ownerReferences": [owner]}
    world.store.create(EVENTS, {"metadata": metadata, "involvedObject": {}})
    world.settle()
    assert world.store.get(EVENTS, "default/lost") is None


def test_a_finished_job_goes_after_its_time(world: World):
    world.run(seconds=1, spec={"ttlSecondsAfterFinished": 5})
    world.pass_time(6)
    assert world.job()["status"]["succeeded"] == 1
    world.pass_time(3)
    assert world.store.get(JOBS, "default/job") is None


def test_old_events_go(tmp_path: Path):
    world = World(tmp_path, event_ttl_seconds=20, sweep_seconds=5)
    assert world.store.count(EVENTS)
    world.pass_time(26)
    assert world.store.count(EVENTS) == 0


def test_there_are_never_many_more_events_than_the_cap(tmp_path: Path):
    world = World(tmp_path, max_events=3, sweep_seconds=1)
    world.run()
    world.pass_time(2)
    assert world.store.count(EVENTS) <= 4


def test_surplus_finished_pods_go_oldest_first(tmp_path: Path):
    world = World(tmp_path, max_terminated_pods=2, sweep_seconds=1, run_seconds=0)
    first, *others = [world.run(f"j{number}") for number in range(3)]
    world.pass_time(4)
    assert world.store.get(PODS, first) is None
    assert all(world.store.get(PODS, key) for key in others)


def test_a_namespace_goes_with_its_content(world: World):
    world.store.create(NAMESPACES, default_namespace({"metadata": {"name": "team"}}))
    world.store.create(EVENTS, {"metadata": {"name": "e", "namespace": "team"}, "involvedObject": {}})
    world.delete(NAMESPACES, "team")
    assert world.store.get(NAMESPACES, "team") is None
    assert world.store.get(EVENTS, "team/e") is None
