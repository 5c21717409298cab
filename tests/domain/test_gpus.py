"""What a resource name and a node's labels stand for, and which GPU a demand means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.gpus import (
    WHOLE,
    GpuLabels,
    GpuRequirements,
    Kind,
    base_product,
    device_of,
    is_named,
    parse_capability,
    parse_profile,
    satisfies,
)

A100 = "NVIDIA-A100-SXM4-40GB"
NAMES = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb.me", "amd.com/gpu")


@pytest.mark.parametrize(
    ("resource", "product", "kind"),
    [
        ("nvidia.com/gpu", A100, WHOLE),
        ("nvidia.com/gpu", "", WHOLE),
        ("amd.com/gpu", "", WHOLE),
        ("nvidia.com/gpu.shared", A100, Kind(is_shared=True)),
        ("nvidia.com/gpu", f"{A100}-SHARED", Kind(is_shared=True)),
        ("nvidia.com/mig-1g.5gb", A100, Kind("1g.5gb")),
        ("nvidia.com/mig-1g.5gb.me", A100, Kind("1g.5gb+me")),
        ("nvidia.com/mig-1g.5gb.shared", A100, Kind("1g.5gb", is_shared=True)),
        ("nvidia.com/gpu", f"{A100}-MIG-3g.20gb", Kind("3g.20gb")),
        ("nvidia.com/gpu", f"{A100}-MIG-1g.5gb.me", Kind("1g.5gb+me")),
        ("nvidia.com/gpu", f"{A100}-MIG-1g.5gb-SHARED", Kind("1g.5gb", is_shared=True)),
        ("nvidia.com/gpu.shared", f"{A100}-MIG-1g.5gb", Kind("1g.5gb", is_shared=True)),
        ("nvidia.com/gpu", f"{A100}-MIG-INVALID", Kind("INVALID")),
    ],
)
def test_what_a_name_stands_for(resource: str, product: str, kind: Kind):
    device = device_of(resource, GpuLabels(product))
    assert (device.kind, device.product) == (kind, A100 if product else "")


def test_a_label_may_say_that_a_plain_name_stands_for_shares():
    labels = GpuLabels(A100, shared=("nvidia.com/mig-1g.5gb",))
    assert device_of("nvidia.com/mig-1g.5gb", labels).kind == Kind("1g.5gb", is_shared=True)
    assert device_of("nvidia.com/gpu", labels).kind == WHOLE


def test_a_slice_has_the_memory_of_its_name_and_a_share_that_of_its_gpu():
    labels = GpuLabels(A100, 40_960, (8, 0))
    slice_, share = device_of("nvidia.com/mig-1g.5gb", labels), device_of("nvidia.com/gpu.shared", labels)
    assert (slice_.memory_bytes, share.memory_bytes) == (5 * 10**9, 40_960 * 2**20)


@pytest.mark.parametrize(
    ("wanted", "product"),
    [
        ("h100", "NVIDIA-H100-80GB-HBM3"),
        ("A100 80GB", "NVIDIA-A100-SXM4-80GB"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB"),
        ("RTX 4090", "NVIDIA-GeForce-RTX-4090"),
        ("rtx4090", "NVIDIA-GeForce-RTX-4090"),
        ("tesla_t4", "Tesla-T4"),
    ],
)
def test_a_product_by_its_words(wanted: str, product: str):
    assert is_named(product, wanted)


@pytest.mark.parametrize(
    ("wanted", "product"),
    [
        ("A10", "NVIDIA-A100-SXM4-80GB"),
        ("L40", "NVIDIA-L40S"),
        ("80GB A100", "NVIDIA-A100-SXM4-80GB"),
        ("H100 H100", "NVIDIA-H100-80GB-HBM3"),
        ("-", "Tesla-T4"),
        ("T4", ""),
    ],
)
def test_another_product(wanted: str, product: str):
    assert not is_named(product, wanted)


@given(st.lists(st.sampled_from(("NVIDIA", "A100", "80GB", "x")), min_size=1, max_size=5), st.data())
def test_any_words_in_their_order_name_it(words: list[str], data: st.DataObject):
    some = [word for word in words if data.draw(st.booleans())] or words[:1]
    assert is_named("-".join(words), data.draw(st.sampled_from((" ", "-", "_"))).join(some).lower())


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("1g.10gb", "1g.10gb"),
        (" MIG-3G.20GB ", "3g.20gb"),
        ("1g.5gb.me", "1g.5gb+me"),
        ("1g.5gb+me.all", "1g.5gb+me.all"),
    ],
)
def test_a_profile_as_nvidia_writes_it(text: str, profile: str):
    assert parse_profile(text) == profile


@pytest.mark.parametrize("text", ["", "1g", "10gb", "0g.5gb", "1g.5gbx", "INVALID", "1c.2g.10gb"])
def test_what_is_no_profile(text: str):
    with pytest.raises(ValueError, match="must be a MIG profile such as 1g"):
        parse_profile(text)


def test_a_compute_capability():
    assert parse_capability(" 8.0 ") == (8, 0)
    for text in ("8", "8.00", "0.5", "eight", "8.0.1"):
        with pytest.raises(ValueError, match="must be a compute capability such as 8"):
            parse_capability(text)


def test_capabilities_compare_as_numbers():
    device = device_of("nvidia.com/gpu", GpuLabels(A100, compute_capability=(10, 0)))
    assert satisfies(device, GpuRequirements(compute_capability=(9, 0)))


requirements = st.builds(
    GpuRequirements,
    st.lists(st.text(min_size=1), max_size=3).map(tuple),
    st.integers(0, 2**40),
    st.sampled_from(((), (8, 0))),
    st.sampled_from(("", "1g.5gb")),
    st.booleans(),
)


@given(requirements)
def test_what_is_given_is_read_again(wanted: GpuRequirements):
    assert GpuRequirements.read(wanted.given()) == wanted
    assert bool(wanted.given()) == (wanted != GpuRequirements())


@given(st.sampled_from(NAMES), st.sampled_from(("", A100, f"{A100}-SHARED", f"{A100}-MIG-1g.5gb")), requirements)
def test_nothing_of_another_kind_satisfies(resource: str, product: str, wanted: GpuRequirements):
    device = device_of(resource, GpuLabels(product, 81_920, (9, 0)))
    assert not satisfies(device, wanted) or device.kind == wanted.kind


def test_the_model_without_what_is_said_of_slices():
    assert [base_product(it) for it in (A100, f"{A100}-MIG-1g.5gb-SHARED")] == [A100, A100]
