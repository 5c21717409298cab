"""The three kinds of PATCH on whole documents."""

from __future__ import annotations

from typing import Any

import pytest

from app.simcluster.api.errors import ApiError
from app.simcluster.api.patch import apply_patch, json_patch, merge_patch, strategic_patch


@pytest.mark.parametrize(
    ("old", "patch", "new"),
    [
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_merge_patch(old: Any, patch: Any, new: Any):
    assert merge_patch(old, patch) == new


def test_strategic_removes_a_finalizer_from_the_list():
    old = {"metadata": {"finalizers": ["x", "y"]}}
    assert strategic_patch(old, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}) == {
        "metadata": {"finalizers": ["y"]}
    }
    assert strategic_patch(old, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x", "y"]}}) == {"metadata": {}}


def test_strategic_adds_a_finalizer_once():
    old = {"metadata": {"finalizers": ["x"]}}
    assert strategic_patch(old, {"metadata": {"finalizers": ["y", "x"]}}) == {"metadata": {"finalizers": ["x", "y"]}}


def test_strategic_joins_lists_by_key():
    old = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]}
    patch = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "New", "status": "True"}]}
    assert strategic_patch(old, patch)["conditions"] == [
        {"type": "Ready", "status": "False"},
        {"type": "Other", "status": "False"},
        {"type": "New", "status": "True"},
    ]


def test_strategic_deletes_and_orders_elements():
    old = {"taints": [{"key": "a"}, {"key": "b"}, {"key": "c"}]}
    patch = {
        "taints": [{"key": "b", "$patch": "delete"}],
        "$setElementOrder/taints": [{"key": "c"}, {"key": "a"}],
    }
    assert strategic_patch(old, patch) == {"taints": [{"key": "c"}, {"key": "a"}]}


def test_strategic_replaces_other_lists():
    assert strategic_patch({"command": ["a", "b"]}, {"command": ["c"]}) == {"command": ["c"]}


def test_the_old_object_is_left_alone():
    old = {"metadata": {"labels": {"a": "1"}}, "list": [{"x": 1}]}
    json_patch(old, [{"op": "add", "path": "/list/0/y", "value": 2}])
    strategic_patch(old, {"metadata": {"labels": {"a": None}}})
    assert old == {"metadata": {"labels": {"a": "1"}}, "list": [{"x": 1}]}


@pytest.mark.parametrize(
    ("operations", "new"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": [1, 2], "b": 2}),
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3]}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2]}),
        ([{"op": "remove", "path": "/a/1"}], {"a": [1]}),
        ([{"op": "replace", "path": "/a", "value": "x"}], {"a": "x"}),
        ([{"op": "move", "from": "/a/0", "path": "/b"}], {"a": [2], "b": 1}),
        ([{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1, 2], "b": [1, 2]}),
        ([{"op": "test", "path": "/a/0", "value": 1}, {"op": "remove", "path": "/a"}], {}),
        ([{"op": "add", "path": "/x~1y~0z", "value": 1}], {"a": [1, 2], "x/y~z": 1}),
    ],
)
def test_json_patch(operations: Any, new: Any):
    assert json_patch({"a": [1, 2]}, operations) == new


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/nope"},
        {"op": "replace", "path": "/nope", "value": 1},
        {"op": "add", "path": "/list/9", "value": 1},
        {"op": "fly", "path": "/a"},
        {"path": "/a"},
        "nonsense",
    ],
)
def test_a_json_patch_that_fails_is_422(operation: Any):
    with pytest.raises(ApiError) as caught:
        json_patch({"a": 1, "list": []}, [operation])
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")


@pytest.mark.parametrize("patch", [[], "x", 3, {"metadata": None}])
def test_a_patch_must_leave_an_object(patch: Any):
    with pytest.raises(ApiError) as caught:
        apply_patch("application/merge-patch+json", {"metadata": {"name": "a"}}, patch)
    assert caught.value.code == 400
