"""What `kubectl get` shows: words and ages."""

from __future__ import annotations

from typing import Any

import pytest

from app.simcluster.api.cells import duration, pod_word
from app.simcluster.api.table import table
from app.simcluster.meta import Json, stamp
from app.simcluster.resources import EVENTS, JOBS, NODES, PODS
from tests.simcluster.world import World

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (10 * MINUTE + 1, "10m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY, "8d"),
        (400 * DAY, "400d"),
        (800 * DAY, "2y70d"),
        (10 * 365 * DAY, "10y"),
    ],
)
def test_ages_are_kubectls(seconds: int, text: str):
    assert duration(seconds) == text


def pod(state: Json, *, going: bool = False, **status: Any) -> Json:
    metadata = {"name": "p", **({"deletionTimestamp": stamp(0)} if going else {})}
    return {"metadata": metadata, "spec": {}, "status": {"containerStatuses": [{"state": state}], **status}}


@pytest.mark.parametrize(
    ("document", "word"),
    [
        (pod({"waiting": {"reason": "ImagePullBackOff"}}, phase="Pending"), "ImagePullBackOff"),
        (pod({"terminated": {"reason": "OOMKilled", "exitCode": 137}}, phase="Failed"), "OOMKilled"),
        (pod({"terminated": {"exitCode": 3}}, phase="Failed"), "ExitCode:3"),
        (pod({"running": {}}, phase="Running"), "Running"),
        (pod({"running": {}}, phase="Running", going=True), "Terminating"),
        (pod({}, phase="Failed", reason="Evicted"), "Evicted"),
    ],
)
def test_a_pods_word_is_the_most_telling_one(document: Json, word: str):
    assert pod_word(document) == word


def cells(world: World, resource: Any, name: str) -> dict[str, Any]:
    objects = [obj for obj in world.store.objects(resource) if obj["metadata"]["name"].startswith(name)]
    made = table(resource, objects[:1], world.now, {})
    return dict(zip((c["name"] for c in made["columnDefinitions"]), made["rows"][0]["cells"], strict=True))


def test_rows_of_every_kind(world: World):
    world.run("job", gpus=2)
    world.pass_time(6)
    assert cells(world, JOBS, "job") | {"Status": "Complete", "Completions": "1/1"} == cells(world, JOBS, "job")
    assert cells(world, PODS, "job")["Status"] == "Completed"
    assert cells(world, NODES, "gpu-1")["Kernel-Version"] == "6.1.0-simulated (amd64)"
    scheduled = next(event for event in world.store.objects(EVENTS) if event["reason"] == "Scheduled")
    row = cells(world, EVENTS, scheduled["metadata"]["name"])
    assert (row["Last Seen"], row["Source"], row["Count"]) == ("6s", "default-scheduler", "1")
