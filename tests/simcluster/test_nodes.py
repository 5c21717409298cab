"""Nodes over time: lost and back, bad devices, taints, fleets that a client makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.simcluster.fleet import DEFAULT_FLEET, gpu_uuids, node_object
from app.simcluster.meta import Json, has_condition
from app.simcluster.resources import LEASES, NODES, PODS
from tests.simcluster.world import World, conditions, container


def taints(node: Json) -> set[tuple[str, str]]:
    return {(item["key"], item["effect"]) for item in node["spec"].get("taints", ())}


UNREACHABLE = {("node.kubernetes.io/unreachable", effect) for effect in ("NoSchedule", "NoExecute")}


def test_the_default_fleet_reports_its_gpus(tmp_path: Path):
    world = World(tmp_path, DEFAULT_FLEET)
    numbers = {
        name: (
            world.node(name)["status"]["capacity"].get("nvidia.com/gpu"),
            world.node(name)["status"]["allocatable"].get("nvidia.com/gpu"),
        )
        for name in world.store.keys(NODES)
    }
    assert numbers == {
        "gpu-1": ("8", "8"),
        "gpu-2": ("8", "7"),
        "gpu-3": ("4", "4"),
        "gpu-4": ("2", "2"),
        "gpu-5": ("8", "8"),
        "cpu-1": (None, None),
    }
    assert taints(world.node("gpu-5")) == {("node.kubernetes.io/unschedulable", "NoSchedule")}
    labels = world.node("gpu-1")["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/cuda.driver-version.full"] == "580.95.05"


def test_a_heartbeat_moves_and_the_lease_with_it(world: World):
    before, lease = world.node(), world.get(LEASES, "kube-node-lease/gpu-1")
    world.pass_time(11)
    after = world.node()
    beats = [node["status"]["conditions"][-1]["lastHeartbeatTime"] for node in (before, after)]
    assert beats[0] < beats[1]
    assert after["status"]["conditions"][-1]["lastTransitionTime"] == beats[0]
    assert world.get(LEASES, "kube-node-lease/gpu-1")["spec"]["renewTime"] > lease["spec"]["renewTime"]


def test_a_lost_node_is_noticed_after_a_while(world: World):
    world.cluster.nodes.lose("gpu-1")
    world.pass_time(2)
    assert has_condition(world.node(), "Ready")
    world.pass_time(1.5)
    ready = world.node()["status"]["conditions"][-1]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "Unknown", "NodeStatusUnknown")
    assert taints(world.node()) == UNREACHABLE


def test_its_pods_go_when_their_toleration_ends_and_stay_terminating(world: World):
    key = world.run(outcome="node-lost", seconds=1)
    world.pass_time(6)
    assert "deletionTimestamp" not in world.pod(key)["metadata"]
    assert not has_condition(world.pod(key), "Ready")
    world.pass_time(4)
    assert conditions(world.pod(key))["DisruptionTarget"] == "DeletionByTaintManager"
    world.pass_time(60)
    assert "running" in world.state(key)


def test_a_node_that_comes_back_ends_them(world: World):
    key = world.run(outcome="node-lost", seconds=3, node_back_seconds=8)
    world.pass_time(11)
    assert "deletionTimestamp" in world.pod(key)["metadata"]
    world.pass_time(2)
    assert world.store.get(PODS, key) is None
    assert has_condition(world.node(), "Ready")
    assert taints(world.node()) == set()


def test_a_short_absence_leaves_them_alone(world: World):
    key = world.run(outcome="node-lost", seconds=3, node_back_seconds=2)
    world.pass_time(20)
    assert (world.pod(key)["status"]["phase"], world.state(key)["terminated"]["exitCode"]) == ("Succeeded", 0)


def test_the_pods_of_a_deleted_node_are_removed(world: World):
    key = world.run(seconds=100)
    last: list[Json] = []
    world.store.subscribe(PODS, lambda old, new: last.append(new or old or {}))
    world.delete(NODES, "gpu-1")
    world.pass_time(4)
    assert world.store.get(PODS, key) is None
    assert conditions(last[-1])["DisruptionTarget"] == "DeletionByPodGC"
    assert last[-1]["status"]["phase"] == "Failed"


def test_a_bad_device_is_not_given_away(world: World):
    devices = gpu_uuids("gpu-1", 4)
    running = world.run("running", gpus=1, seconds=100)
    world.cluster.nodes.set_device("gpu-1", devices[0], healthy=False)
    world.pass_time(1)
    assert world.node()["status"]["allocatable"]["nvidia.com/gpu"] == "3"
    shown = world.pod(running)["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0]["resources"]
    assert shown == [{"resourceID": devices[0], "health": "Unhealthy"}]
    world.cluster.nodes.set_device("gpu-1", devices[0], healthy=True)
    world.pass_time(1)
    assert world.node()["status"]["allocatable"]["nvidia.com/gpu"] == "4"


def test_a_cordoned_node_gets_nothing_and_keeps_what_runs(world: World):
    kept = world.run("kept", seconds=100)
    world.store.update(NODES, {**world.node(), "spec": {"unschedulable": True}})
    late = world.run("late")
    world.pass_time(1)
    assert "node(s) were unschedulable" in world.pod(late)["status"]["conditions"][0]["message"]
    assert "running" in world.state(kept)
    world.store.update(NODES, {**world.node(), "spec": {}})
    world.pass_time(1)
    assert world.pod(late)["spec"]["nodeName"] == "gpu-1"


def test_a_taint_keeps_pods_out_that_do_not_tolerate_it(world: World):
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    world.store.update(NODES, {**world.node(), "spec": {"taints": [taint]}})
    world.settle()
    assert "nodeName" not in world.pod(world.run("bare"))["spec"]
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    spec = {"restartPolicy": "Never", "tolerations": [toleration], "containers": [container(1)]}
    assert world.pod(world.bare_pod("tolerant", spec))["spec"]["nodeName"] == "gpu-1"


def test_a_no_execute_taint_drives_out_what_runs(world: World):
    key = world.run(seconds=100)
    world.pass_time(2)
    taint = {"key": "maintenance", "effect": "NoExecute"}
    world.store.update(NODES, {**world.node(), "spec": {"taints": [taint]}})
    world.pass_time(1)
    assert world.store.get(PODS, key) is None


def test_a_node_that_a_client_makes_gets_a_kubelet(world: World):
    capacity = {"cpu": "4", "nvidia.com/gpu": "9"}
    node = {"metadata": {"name": "made"}, "spec": {}, "status": {"capacity": capacity}}
    key = world.run(gpus=9)
    world.store.create(NODES, node)
    world.pass_time(3)
    assert world.pod(key)["spec"]["nodeName"] == "made"
    assert world.node("made")["metadata"]["labels"]["kubernetes.io/hostname"] == "made"
    assert "running" in world.state(key)


def test_configured_labels_and_taints_are_on_the_node():
    spec = replace(DEFAULT_FLEET[0], labels={"pool": "a"}, taints=({"key": "k", "effect": "NoSchedule"},))
    node = node_object(spec)
    assert node["metadata"]["labels"]["pool"] == "a"
    assert node["spec"]["taints"] == [{"key": "k", "effect": "NoSchedule"}]
