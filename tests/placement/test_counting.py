"""Which GPUs count where the cluster and a node agent both count them: never more than either knows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.placement.counting import AgentCount, Reports
from app.placement.snapshot import ServerCapacity, take_snapshot
from tests.placement.builders import GPU, node, pod

SLICE = "nvidia.com/mig-1g.10gb"
FRESH, SILENT = AgentCount(7), AgentCount(7, is_fresh=False)
BROKEN = AgentCount(0, why_none="without usable GPUs: the kernel module is not loaded")


def counted(reports: Reports, *pods: int, **changes: object) -> ServerCapacity:
    it = node("gpu-1", 8, **changes)
    [server] = take_snapshot([it], [pod(gpus=n) for n in pods], [], lambda _: "acme", reports=reports).servers
    return server


@pytest.mark.parametrize(
    ("agent", "required", "healthy", "unusable", "note"),
    [
        (None, False, 8, "", ""),
        (None, True, 0, "without a report of a node agent", ""),
        (
            FRESH,
            False,
            7,
            "",
            "the cluster offers 8 GPUs, the node agent knows 7 whole GPUs in order; the smaller number counts",
        ),
        (
            AgentCount(9),
            True,
            8,
            "",
            "the cluster offers 8 GPUs, the node agent knows 9 whole GPUs in order; the smaller number counts",
        ),
        (AgentCount(8), True, 8, "", ""),
        (SILENT, False, 8, "", ""),
        (SILENT, True, 0, "without a fresh report of its node agent", ""),
    ],
)
def test_one_server(agent: AgentCount | None, required: bool, healthy: int, unusable: str, note: str):
    server = counted(Reports({"gpu-1": agent} if agent else {}, required))
    assert (server.gpus_healthy, server.unusable, server.gpu_note) == (healthy, unusable, note)
    assert server.gpus_total == {GPU: 8}, "a server stays as large as it is"


def test_shares_are_not_compared_with_gpus():
    shares = (("nvidia.com/gpu.shared", 16),)
    server = counted(Reports({"gpu-1": AgentCount(4)}), capacity_gpus=shares, allocatable_gpus=shares)
    assert server.gpu_note == ""


def test_a_broken_driver_is_named():
    server = counted(Reports({"gpu-1": BROKEN}))
    assert (server.gpus_healthy, server.unusable) == (0, BROKEN.why_none)


def test_a_failed_gpu_is_not_offered_but_what_runs_keeps_its_own():
    assert counted(Reports({"gpu-1": FRESH}), 4).gpus_free == {GPU: 3}
    assert counted(Reports({"gpu-1": FRESH}), 8).gpus_free == {GPU: -1}


def test_a_cordon_is_named_before_a_silent_agent():
    assert counted(Reports(required=True), is_cordoned=True).unusable == "cordoned"


def test_a_node_without_gpus_needs_no_agent():
    server = counted(Reports(required=True), capacity_gpus=(), allocatable_gpus=())
    assert server.unusable == ""


@given(
    st.dictionaries(st.sampled_from([GPU, "nvidia.com/h100", SLICE]), st.integers(0, 8)),
    st.integers(0, 16),
    st.booleans(),
)
def test_never_more_than_either_knows_and_slices_as_the_cluster_has_them(
    offered: dict[str, int], whole: int, required: bool
):
    resources = tuple(offered.items())
    it = node("gpu-1", capacity_gpus=resources, allocatable_gpus=resources)
    found = dict(Reports({"gpu-1": AgentCount(whole)}, required).counted(it).allocatable_gpus)
    assert all(found[resource] <= offered[resource] for resource in offered)
    there = sum(count for resource, count in offered.items() if it.is_whole(resource))
    assert sum(count for resource, count in found.items() if it.is_whole(resource)) == min(there, whole)
    assert found.get(SLICE) == offered.get(SLICE)
