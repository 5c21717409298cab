"""Quantities and sums of them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from app.simcluster.quantity import parse_quantity, pod_requests


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("500m", "0.5"),
        ("1.5", "1.5"),
        ("2Ki", 2048),
        ("1Gi", 2**30),
        ("3k", 3000),
        ("1e3", 1000),
        ("1E", 10**18),
    ],
)
def test_quantities(text: str, value: object):
    assert parse_quantity(text) == Decimal(str(value))


@pytest.mark.parametrize("text", ["", "x", "1Q", "1 Gi", "--1"])
def test_what_is_no_quantity(text: str):
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(text)


def test_a_pod_asks_for_the_sum_or_for_its_greatest_init_container():
    spec = {
        "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
        "containers": [
            {"resources": {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": 2}}},
            {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
            {},
        ],
    }
    assert pod_requests(spec) == {"cpu": 3000, "nvidia.com/gpu": 2, "memory": 2**30, "pods": 1}
