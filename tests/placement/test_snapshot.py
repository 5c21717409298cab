"""What counts as free, and what makes a server unusable."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.observed import ObservedNode, ObservedPod, Taint, Terminated
from app.domain.tolerations import Toleration
from app.placement.snapshot import Claim, ServerCapacity, take_snapshot
from tests.placement.builders import GI, GPU, node, pod

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def taken(*pods: ObservedPod, claims: tuple[Claim, ...] = (), of: ObservedNode | None = None) -> ServerCapacity:
    (found,) = take_snapshot([of or node()], pods, claims, lambda _: "acme").servers
    return found


def test_an_idle_server_has_everything_free():
    found = taken()
    assert (found.cpu_free, found.memory_free, found.gpus_free) == (64_000, 512 * GI, {GPU: 8})
    assert (found.cpu_total, found.memory_total, found.gpus_total) == (64_000, 512 * GI, {GPU: 8})


@pytest.mark.parametrize(
    ("pods", "gpus_free"),
    [
        pytest.param([pod(gpus=3)], 5, id="a running pod counts, whoever made it"),
        pytest.param([pod(phase="Pending", gpus=2)], 6, id="a bound pod counts before it runs"),
        pytest.param([pod(phase="Unknown", gpus=2)], 6, id="a pod of which nothing is heard keeps its GPUs"),
        pytest.param([pod(phase="Succeeded"), pod(phase="Failed")], 8, id="a terminal pod has given its GPUs back"),
        pytest.param([pod(deletion_requested_at=NOON)], 7, id="a pod being deleted counts until it is terminal"),
        pytest.param(
            [pod(terminated=Terminated(0, "Completed", "", None, NOON))],
            7,
            id="a pod counts while its phase is not terminal, though its main container has ended",
        ),
        pytest.param([pod(on=""), pod(on="gpu-9")], 8, id="pods that are bound elsewhere or nowhere do not count"),
    ],
)
def test_pods_take_gpus(pods: list[ObservedPod], gpus_free: int):
    assert taken(*pods).gpus_free == {GPU: gpus_free}


def test_pods_take_cpu_and_memory_with_or_without_gpus():
    found = taken(pod(), pod(gpu_requests=(), cpu_millis=500, memory_bytes=GI))
    assert (found.cpu_free, found.memory_free) == (59_500, 495 * GI)


def test_a_claim_counts_until_its_pod_is_seen():
    claim = Claim("gpu-1", GPU, 4, 16_000, 64 * GI)
    found = taken(pod(gpus=1), claims=(claim, Claim("gpu-9", GPU, 1, 1, 1)))
    assert (found.gpus_free, found.cpu_free, found.memory_free) == ({GPU: 3}, 44_000, 432 * GI)


def test_unhealthy_gpus_are_counted_in_the_total_only():
    found = taken(pod(gpus=2), of=node(capacity_gpus=((GPU, 8),), allocatable_gpus=((GPU, 7),)))
    assert (found.gpus_free, found.gpus_allocatable, found.gpus_total) == ({GPU: 5}, {GPU: 7}, {GPU: 8})


def test_an_over_committed_server_has_less_than_nothing():
    found = taken(pod(gpus=9, cpu_millis=99_000))
    assert (found.gpus_free, found.cpu_free) == ({GPU: -1}, -35_000)


def test_resource_names_are_counted_apart():
    offered = ((GPU, 4), ("nvidia.com/mig-1g.5gb", 7))
    found = taken(pod(gpu_requests=((GPU, 1),)), of=node(capacity_gpus=offered, allocatable_gpus=offered))
    assert found.gpus_free == {GPU: 3, "nvidia.com/mig-1g.5gb": 7}


UNUSABLE: list[tuple[str, dict[str, Any], str]] = [
    ("nothing is wrong", {}, ""),
    ("cordoned", {"is_cordoned": True}, "cordoned"),
    ("lost", {"is_ready": False}, "not ready"),
    ("cordoned for a repair and off", {"is_cordoned": True, "is_ready": False}, "cordoned"),
    ("its disk is full", {"pressure": ("DiskPressure", "PIDPressure")}, "DiskPressure"),
    ("tainted", {"taints": (Taint("team", "a", "NoSchedule"),)}, "taint team=a:NoSchedule"),
    ("tainted without a value", {"taints": (Taint("drain", "", "NoExecute"),)}, "taint drain:NoExecute"),
    ("the taint of GPU servers is tolerated", {"taints": (Taint("nvidia.com/gpu", "present", "NoSchedule"),)}, ""),
    ("its NoExecute is not", {"taints": (Taint("nvidia.com/gpu", "", "NoExecute"),)}, "taint nvidia.com/gpu:NoExecute"),
    ("a preference rules nothing out", {"taints": (Taint("spot", "", "PreferNoSchedule"),)}, ""),
    (
        "the second taint is seen",
        {"taints": (Taint("nvidia.com/gpu", "", "NoSchedule"), Taint("b", "1", "NoSchedule"))},
        "taint b=1:NoSchedule",
    ),
    (
        "a cordon comes before the taint that it brings",
        {"is_cordoned": True, "taints": (Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)},
        "cordoned",
    ),
]


@pytest.mark.parametrize(("fields", "words"), [case[1:] for case in UNUSABLE], ids=[case[0] for case in UNUSABLE])
def test_why_a_server_is_unusable(fields: dict[str, Any], words: str):
    assert taken(of=node(**fields)).unusable == words


def test_our_own_cordon_is_told_in_its_own_words():
    snapshot = take_snapshot(
        [node("a", is_ready=False), node("b")], [], [], lambda _: "acme", closed={"a": "cordoned by an admin"}
    )
    assert [found.unusable for found in snapshot.servers] == ["cordoned by an admin", ""]


def test_more_can_be_tolerated_by_the_caller():
    tainted = node(taints=(Taint("team", "a", "NoSchedule"),))
    tolerated = {Toleration("team", "NoSchedule")}
    assert take_snapshot([tainted], [], [], lambda _: "acme", tolerated=tolerated).servers[0].unusable == ""


def test_servers_come_by_name_and_by_pool():
    nodes = [node("b", pool="x"), node("c", pool=""), node("a", pool="x", driver="535.104.05")]
    snapshot = take_snapshot(nodes, [], [], lambda found: found.pool or "default")
    pools = {slug: [found.name for found in servers] for slug, servers in snapshot.pools().items()}
    assert pools == {"x": ["a", "b"], "default": ["c"]}
    assert [found.driver for found in snapshot.servers] == [(535, 104, 5), None, None]
