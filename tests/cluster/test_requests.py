"""What a pod takes: the scheduler's rule, checked on the cases where its parts matter."""

from typing import Any

import pytest

from app.cluster.fields import MalformedError
from app.cluster.requests import pod_requests


def wants(cpu: str = "0", **more: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, **more}}}


def sidecar(cpu: str) -> dict[str, Any]:
    return {**wants(cpu), "restartPolicy": "Always"}


def test_main_containers_add_up():
    assert pod_requests({"containers": [wants("1"), wants("500m", memory="1Gi")]}) == {"cpu": 1500, "memory": 1024**3}


def test_the_largest_init_container_counts_when_it_wants_more():
    assert pod_requests({"initContainers": [wants("3"), wants("2")], "containers": [wants("1")]})["cpu"] == 3000


def test_sidecars_add_to_main_and_to_later_init_containers():
    spec = {"initContainers": [wants("4"), sidecar("1"), wants("4")], "containers": [wants("2")]}
    assert pod_requests(spec)["cpu"] == 5000
    assert pod_requests({"initContainers": [sidecar("1")], "containers": [wants("2")]})["cpu"] == 3000


def test_each_resource_is_weighed_alone():
    spec = {"initContainers": [wants("9")], "containers": [wants("1", **{"nvidia.com/gpu": "2"})]}
    assert pod_requests(spec) == {"cpu": 9000, "nvidia.com/gpu": 2}


def test_overhead_comes_on_top():
    spec = {"initContainers": [wants("3")], "containers": [wants("1")], "overhead": {"cpu": "250m"}}
    assert pod_requests(spec)["cpu"] == 3250


def test_a_request_of_the_pod_stands_for_its_containers():
    spec = {"containers": [wants("1", **{"nvidia.com/gpu": "1"})], "resources": {"requests": {"cpu": "6"}}}
    assert pod_requests({**spec, "overhead": {"cpu": "1"}}) == {"cpu": 7000, "nvidia.com/gpu": 1}


def test_a_limit_alone_is_a_request():
    limits = {"resources": {"limits": {"nvidia.com/gpu": 2, "cpu": "4"}, "requests": {"cpu": "1"}}}
    assert pod_requests({"containers": [limits]}) == {"nvidia.com/gpu": 2, "cpu": 1000}


@pytest.mark.parametrize("amount", ["many", "", None, True, {}, "1e999x"])
def test_what_is_no_amount_is_malformed(amount: object):
    with pytest.raises(MalformedError):
        pod_requests({"containers": [{"resources": {"requests": {"cpu": amount}}}]})
