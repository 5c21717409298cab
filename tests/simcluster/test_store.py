"""Versions, history, journal: what is promised about change and about the disk."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from app.simcluster.history import Change, ExpiredError, Facts, History
from app.simcluster.journal import Journal
from app.simcluster.meta import with_meta
from app.simcluster.resources import EVENTS, JOBS, NODES, PODS
from app.simcluster.settings import Settings
from app.simcluster.store import AlreadyExistsError, Store
from tests.simcluster.world import World, conditions

FACTS = Facts("", {}, {})


def change(rv: int) -> Change:
    return Change(rv, b"{}", None, FACTS)


def test_history_is_bounded_and_says_when_it_has_forgotten():
    history = History(4)
    for rv in range(1, 12):
        history.append(change(rv))
    with pytest.raises(ExpiredError):
        history.start_after(2)
    index = history.start_after(9)
    assert [item.rv for item in history.read(index)] == [10, 11]


def test_who_waits_is_woken():
    history, event = History(4), asyncio.Event()
    history.wait_on(event)
    history.append(change(1))
    assert event.is_set()


def test_a_slow_reader_falls_out():
    history = History(4)
    index = history.end()
    for rv in range(1, 20):
        history.append(change(rv))
    with pytest.raises(ExpiredError):
        history.read(index)


def store_in(folder: Path, compact_bytes: int = 10**6) -> Store:
    store = Store(Settings(), lambda: 1_780_000_000.0, Journal(folder, compact_bytes))
    store.load()
    return store


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "d"}, "involvedObject": {}, **more}


def test_versions_grow_and_nothing_changes_without_a_difference(tmp_path: Path):
    store = store_in(tmp_path)
    first = store.create(EVENTS, event("a"))
    same = store.update(EVENTS, dict(first))
    other = store.update(EVENTS, {**first, "count": 2})
    assert same["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert int(other["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1


def test_a_name_is_taken_once(tmp_path: Path):
    store = store_in(tmp_path)
    store.create(EVENTS, event("a"))
    with pytest.raises(AlreadyExistsError):
        store.create(EVENTS, event("a"))


def test_the_last_finalizer_lets_it_go(tmp_path: Path):
    store = store_in(tmp_path)
    held = store.create(EVENTS, with_meta(event("a"), finalizers=["x/y"], deletionTimestamp="now"))
    store.update(EVENTS, with_meta(held, finalizers=[]))
    assert store.get(EVENTS, "d/a") is None


def test_a_new_store_finds_objects_notes_versions_and_history(tmp_path: Path):
    store = store_in(tmp_path)
    before = store.revision
    store.create(EVENTS, event("a"))
    store.create(EVENTS, event("b"))
    store.remove(EVENTS, "d/b")
    store.note("table", "key", {"x": 1})
    again = store_in(tmp_path)
    assert (again.keys(EVENTS), again.revision, again.noted("table", "key")) == (["d/a"], store.revision, {"x": 1})
    assert again.get(EVENTS, "d/a") == store.get(EVENTS, "d/a")
    history = again.history(EVENTS)
    assert len(history.read(history.start_after(before))) == 3


def test_a_record_cut_off_at_the_end_is_dropped(tmp_path: Path):
    store_in(tmp_path).create(EVENTS, event("a"))
    with (tmp_path / "journal-1.jsonl").open("ab") as file:
        file.write(b'{"op":"put","kind":"ev')
    store = store_in(tmp_path)
    store.create(EVENTS, event("b"))
    assert store_in(tmp_path).keys(EVENTS) == ["d/a", "d/b"]


def test_compaction_keeps_everything_and_shrinks(tmp_path: Path):
    store = store_in(tmp_path, compact_bytes=20_000)
    obj = store.create(EVENTS, event("a", message="x" * 1000))
    for number in range(60):
        obj = store.update(EVENTS, {**obj, "count": number})
    deadline = time.monotonic() + 5
    while not list(tmp_path.glob("snapshot-*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.01)
    again = store_in(tmp_path)
    assert (again.get(EVENTS, "d/a"), again.revision) == (obj, store.revision)
    with pytest.raises(ExpiredError):
        again.history(NODES).start_after(1)


def test_a_batch_is_one_write(tmp_path: Path):
    store = store_in(tmp_path)
    journal = tmp_path / "journal-1.jsonl"
    with store.batch():
        store.create(EVENTS, event("a"))
        with store.batch():
            store.create(EVENTS, event("b"))
        assert journal.stat().st_size == 0
    assert store_in(tmp_path).keys(EVENTS) == ["d/a", "d/b"]


def test_a_running_container_goes_on_over_a_restart(world: World):
    key = world.run(gpus=2, seconds=20)
    world.pass_time(5)
    before = world.pod(key)
    world.now += 3
    world.restart()
    assert world.pod(key)["status"] == before["status"]
    assert world.job()["status"]["active"] == 1
    world.pass_time(14)
    assert world.pod(key)["status"]["phase"] == "Succeeded"


def test_what_ended_meanwhile_has_its_own_stamps(world: World):
    key = world.run(seconds=20)
    world.pass_time(5)
    world.now += 1000
    world.restart()
    end = world.state(key)["terminated"]
    assert end["startedAt"] < end["finishedAt"] < "2026-05-28T20:27:05Z"
    assert conditions(world.job())["Complete"] == "CompletionsReached"


def test_devices_stay_held_over_a_restart(world: World):
    world.run("first", gpus=3, seconds=100)
    world.restart()
    second = world.run("second", gpus=1, seconds=100)
    held = [
        item["resourceID"]
        for pod in world.store.objects(PODS)
        for item in pod["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0]["resources"]
    ]
    assert len(set(held)) == 4
    assert second


def test_a_deleted_node_of_the_fleet_stays_deleted(world: World):
    world.delete(NODES, "cpu-1")
    world.restart()
    assert world.store.keys(NODES) == ["gpu-1"]
    assert world.store.keys(JOBS) == []
