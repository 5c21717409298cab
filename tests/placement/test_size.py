"""The submit command's question: is any server on record large enough."""

from __future__ import annotations

from app.placement.size import fits_by_size, gpus_on_one_server, largest_server, too_many_gpus
from tests.placement.builders import GPU, capacity, server

FLEET = [server("b", 0, 8, unhealthy=8, unusable="cordoned"), server("c", 4, 4), server("a", 0, 8)]


def test_the_largest_server_is_the_first_by_name_among_equals():
    largest = largest_server(FLEET)
    assert largest
    assert largest.name == "a"


def test_a_pool_without_gpus_has_no_largest_server():
    assert largest_server([]) is None
    assert largest_server([capacity("cpu-1", {}, {})]) is None


def test_a_request_fits_by_size_whatever_is_free_or_usable():
    assert fits_by_size(8, FLEET[:1])
    assert not fits_by_size(9, FLEET)
    assert not fits_by_size(1, [])


def test_gpus_of_one_name_count_and_slices_do_not():
    assert gpus_on_one_server(capacity("a", {}, {GPU: 2, "amd.com/gpu": 3, "nvidia.com/mig-1g.5gb": 7})) == 3


def test_the_refusal_names_the_largest_server():
    assert too_many_gpus(9, largest_server(FLEET), str) == "needs 9 GPUs on one server; the largest server, a, has 8"
