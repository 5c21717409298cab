"""Nodes with MIG slices and shares: what they offer under which name, and which devices pods get."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.simcluster.fleet import NodeSpec, gpu_uuids, node_object
from app.simcluster.meta import Json
from app.simcluster.resources import NODES
from tests.simcluster.world import World

A100 = "NVIDIA-A100-SXM4-80GB"
GPU, MIG, SHARED = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"
NODES_MADE = [
    (NodeSpec("a", 2, A100, mig={"1g.10gb": 3}), {GPU: "2", MIG: "3"}, A100, "mixed"),
    (NodeSpec("a", 0, A100, mig={"1g.10gb": 3}, mig_single=True), {GPU: "3"}, f"{A100}-MIG-1g.10gb", "single"),
    (NodeSpec("a", 2, A100, replicas=3), {SHARED: "6"}, A100, None),
    (NodeSpec("a", 2, A100, replicas=3, rename_shared=False), {GPU: "6"}, f"{A100}-SHARED", None),
]


@pytest.mark.parametrize(("spec", "offered", "product", "strategy"), NODES_MADE)
def test_what_a_node_offers(
    tmp_path: Path, spec: NodeSpec, offered: dict[str, str], product: str, strategy: str | None
):
    node = World(tmp_path, [spec]).get(NODES, "a")
    for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
        assert {name: count for name, count in amounts.items() if name.startswith("nvidia.com/")} == offered
    labels = node["metadata"]["labels"]
    assert (labels["nvidia.com/gpu.product"], labels.get("nvidia.com/mig.strategy")) == (product, strategy)


def given(pod: Json) -> dict[str, list[str]]:
    [status] = pod["status"]["containerStatuses"]
    return {it["name"]: [each["resourceID"] for each in it["resources"]] for it in status["allocatedResourcesStatus"]}


def asking(**amounts: str) -> Json:
    return {"containers": [{"name": "main", "image": "i", "resources": {"limits": amounts}}]}


def test_a_pod_gets_slices_by_their_own_ids(tmp_path: Path):
    world = World(tmp_path, [NodeSpec("a", 1, A100, mig={"1g.10gb": 2})])
    pods = [world.pod(world.bare_pod(name, asking(**{MIG: "1"}))) for name in ("one", "two", "three")]
    found = [given(pod)[MIG][0] for pod in pods[:2]]
    assert len(set(found)) == 2
    assert all(it.startswith("MIG-") for it in found)
    assert "Insufficient nvidia.com/mig-1g.10gb" in pods[2]["status"]["conditions"][0]["message"]
    assert given(world.pod(world.bare_pod("whole", asking(**{GPU: "1"})))) == {GPU: list(gpu_uuids("a", 1))}


def test_shares_go_round_the_gpus(tmp_path: Path):
    world = World(tmp_path, [NodeSpec("a", 2, A100, replicas=2)])
    found = [given(world.pod(world.bare_pod(f"p{at}", asking(**{SHARED: "1"}))))[SHARED] for at in range(4)]
    first, second = gpu_uuids("a", 2)
    assert found == [[f"{first}::0"], [f"{second}::0"], [f"{first}::1"], [f"{second}::1"]]


def test_a_bad_slice_is_not_given_away_also_after_a_restart(tmp_path: Path):
    world = World(tmp_path, [NodeSpec("a", 1, A100, mig={"1g.10gb": 2}, unhealthy=(1,))])
    for _ in range(2):
        assert world.get(NODES, "a")["status"]["allocatable"][MIG] == "1"
        world.restart()


def test_a_node_without_slices_is_written_as_ever():
    assert node_object(NodeSpec("a", 2, A100))["metadata"]["annotations"] == {"simcluster/gpus": "2"}
