"""Where a pod fits, and in what words it doesn't. The words are those of a real 1.36 scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from app.simcluster.inside.scheduling import NodeView, Request, choose, tolerates, unschedulable_message
from app.simcluster.meta import Json
from app.simcluster.quantity import Amounts

GPU = "nvidia.com/gpu"
TAIL = "no new claims to deallocate, preemption:"


def node(name: str, gpus: int = 4, **changes: Any) -> NodeView:
    facts: dict[str, Any] = {"labels": {"kubernetes.io/hostname": name}, "taints": (), "unschedulable": False}
    allocatable = {"cpu": 8000, "pods": 110, **({GPU: gpus} if gpus else {})}
    return NodeView(name, **{**facts, "allocatable": allocatable, **changes})


def request(gpus: int = 1, cpu: int = 0, **spec: Any) -> Request:
    amounts = {GPU: gpus, "pods": 1} | ({"cpu": cpu} if cpu else {})
    return Request.of({"spec": spec}, amounts)


def answer(wanted: Request, *nodes: NodeView, used: dict[str, Amounts] | None = None) -> str:
    found = choose(wanted, {item.name: item for item in nodes}, used or {})
    return found if isinstance(found, str) else unschedulable_message(found)


def named(name: str) -> Json:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": required}


def expressions(*items: Json) -> Json:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(items)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_the_emptiest_node_is_taken():
    assert answer(request(), node("a"), node("b"), used={"a": {GPU: 2}}) == "b"


def test_equal_nodes_are_taken_by_name():
    assert answer(request(), node("b"), node("a")) == "a"


def test_a_named_node_is_the_only_candidate():
    assert answer(request(affinity=named("b")), node("a"), node("b"), used={"b": {GPU: 3}}) == "b"


def test_full():
    message = answer(request(2), node("a"), used={"a": {GPU: 3}})
    reason = "1 No preemption victims found for incoming pod."
    assert message == f"0/1 nodes are available: 1 Insufficient {GPU}. {TAIL} 0/1 nodes are available: {reason}"


def test_more_than_there_is():
    message = answer(request(9, affinity=named("a")), node("a"), node("b"), node("c"))
    assert message == (
        f"0/3 nodes are available: 1 Insufficient {GPU}, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. {TAIL}"
        " 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_a_name_that_nobody_has():
    message = answer(request(affinity=named("nope")), node("a"))
    assert message.startswith("0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. ")


def test_every_node_has_its_own_reason():
    taint = {"key": GPU, "value": "present", "effect": "NoSchedule"}
    nodes = (node("a", taints=(taint,)), node("b", unschedulable=True), node("c"))
    message = answer(request(9, cpu=100_000), *nodes)
    assert message.startswith(
        f"0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient {GPU}, 1 node(s) had untolerated taint(s),"
        " 1 node(s) were unschedulable. "
    )


def test_no_nodes_at_all():
    assert answer(request()) == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("item", "fits"),
    [
        ({"operator": "In", "values": ["a", "z"]}, True),
        ({"operator": "NotIn", "values": ["a"]}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "DoesNotExist"}, False),
        ({"operator": "Gt", "values": ["1"]}, False),
    ],
)
def test_expressions(item: Json, fits: bool):
    affinity = expressions({"key": "kubernetes.io/hostname", **item})
    assert (answer(request(affinity=affinity), node("a")) == "a") is fits


def test_numbers_are_compared():
    affinity = expressions({"key": "memory", "operator": "Gt", "values": ["40000"]})
    assert answer(request(affinity=affinity), node("a", labels={"memory": "46068"})) == "a"


def test_a_node_selector():
    assert "didn't match Pod's node affinity/selector" in answer(request(nodeSelector={"x": "y"}), node("a"))


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: Json, expected: bool):
    assert tolerates([toleration], {"key": "k", "value": "v", "effect": "NoSchedule"}) is expected


def test_a_big_fleet_is_not_searched_to_its_end():
    nodes = {f"n{number:03}": node(f"n{number:03}") for number in range(200)}
    assert choose(request(), nodes, {}, start=120) == "n120"
