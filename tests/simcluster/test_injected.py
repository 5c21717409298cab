"""Init containers and sidecars: in turn, beside, and what becomes of the pod when one fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.simcluster.meta import Json
from app.simcluster.quantity import pod_requests
from app.simcluster.resources import PODS
from tests.simcluster.world import World, conditions, container

REAL = Path(__file__).parents[1] / "cluster" / "samples" / "ends"


def inits(pod: Json) -> dict[str, Json]:
    return {item["name"]: item["state"] for item in pod["status"]["initContainerStatuses"]}


def test_an_init_container_comes_first_and_a_sidecar_stays_beside(world: World):
    key = world.run(seconds=4, pull_seconds=0, exit_code=5, inject="init,sidecar")
    assert world.state(key) == {"waiting": {"reason": "PodInitializing"}}
    assert conditions(world.pod(key)).keys() == {"PodScheduled", "PodReadyToStartContainers"}
    world.pass_time(1)
    assert list(world.state(key)) == ["running"]
    states = inits(world.pod(key))
    assert states["agent-init"]["terminated"]["exitCode"] == 0
    assert list(states["mesh"]) == ["running"]
    world.pass_time(5)
    pod = world.pod(key)
    assert (pod["status"]["phase"], world.state(key)["terminated"]["exitCode"]) == ("Failed", 5)
    assert inits(pod)["mesh"]["terminated"]["exitCode"] == 143


def test_a_failed_init_container_is_the_end_of_the_pod(world: World):
    key = world.run(inject="init-fails,sidecar")
    world.pass_time(2)
    pod = world.pod(key)
    assert pod["status"]["phase"] == "Failed"
    assert world.state(key) == {"waiting": {"reason": "PodInitializing"}}
    failed = inits(pod)["agent-init"]["terminated"]
    assert (failed["exitCode"], failed["message"]) == (7, "agent says no\n")
    assert inits(pod)["mesh"] == {"waiting": {"reason": "PodInitializing"}}
    assert conditions(world.job())["Failed"] == "BackoffLimitExceeded"


@pytest.mark.parametrize("name", ["initfails", "injected"])
def test_the_status_has_what_a_real_one_has(world: World, name: str):
    real = json.loads((REAL / f"{name}.json").read_text())["pod"]["status"]
    key = world.run(seconds=1, exit_code=5, inject="init-fails,sidecar" if name == "initfails" else "init,sidecar")
    world.pass_time(8)
    status = world.pod(key)["status"]
    assert {c["type"]: (c["status"], c.get("reason")) for c in status["conditions"]} == {
        c["type"]: (c["status"], c.get("reason")) for c in real["conditions"]
    }
    for kind in ("containerStatuses", "initContainerStatuses"):
        for ours, theirs in zip(status[kind], real[kind], strict=True):
            assert [*ours["state"]] == [*theirs["state"]]
            assert (ours["ready"], ours["started"]) == (theirs["ready"], theirs["started"])


def test_an_init_container_without_its_image_waits_for_ever(world: World):
    key = world.run(inject="init-missing")
    world.pass_time(10)
    assert world.state(key) == {"waiting": {"reason": "PodInitializing"}}
    assert inits(world.pod(key))["agent-init"]["waiting"]["reason"] in {"ErrImagePull", "ImagePullBackOff"}
    world.delete(PODS, key)
    world.pass_time(2)
    assert not world.pod_of("job")


def test_a_container_beside_it_keeps_the_pod_running(world: World):
    key = world.run(seconds=1, inject="container")
    world.pass_time(20)
    assert world.pod(key)["status"]["phase"] == "Running"
    assert world.state(key)["terminated"]["exitCode"] == 0


def test_a_pod_that_is_deleted_while_it_is_set_up_fails(world: World):
    pod = {"restartPolicy": "Never", "initContainers": [{**container(seconds=100), "name": "slow"}]}
    key = world.bare_pod("p", {**pod, "containers": [container()]})
    world.pass_time(3)
    assert list(inits(world.pod(key))["slow"]) == ["running"]
    world.delete(PODS, key)
    world.pass_time(1)
    assert key not in world.store.keys(PODS)


def test_what_it_asks_of_its_node_is_the_most_at_one_time():
    def asking(cpu: str, **more: str) -> Json:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [asking("4"), asking("1", restartPolicy="Always"), asking("4")],
        "containers": [asking("2")],
        "overhead": {"cpu": "250m"},
    }
    assert pod_requests(spec) == {"cpu": 5250, "pods": 1}
    assert pod_requests({**spec, "resources": {"requests": {"cpu": "9"}}}) == {"cpu": 9250, "pods": 1}
