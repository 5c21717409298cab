"""What counts as large enough for a demand."""

from __future__ import annotations

import pytest

from app.domain.gpus import ANY_GPU, GpuRequirements
from app.placement.size import has_several_names, most_on_one_server
from tests.placement.builders import GPU, capacity

MIG, SHARED = "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"
MIXED = capacity("a", {}, {GPU: 2, "amd.com/gpu": 3, MIG: 7, SHARED: 40}, product="NVIDIA-A100-SXM4-40GB")


@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        (ANY_GPU, 3),
        (GpuRequirements(mig_profile="1g.5gb"), 7),
        (GpuRequirements(mig_profile="2g.10gb"), 0),
        (GpuRequirements(is_shared=True), 40),
        (GpuRequirements(mig_profile="1g.5gb", is_shared=True), 0),
    ],
)
def test_only_what_is_asked_for_counts(wanted: GpuRequirements, most: int):
    assert most_on_one_server(MIXED, wanted) == most


def test_a_pod_has_gpus_of_one_name_only():
    assert has_several_names(MIXED, ANY_GPU)
    assert not has_several_names(MIXED, GpuRequirements(is_shared=True))
