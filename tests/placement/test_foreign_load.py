"""What strangers take, from raw objects to the plan: observer → projection → snapshot → plan, against a naive count.

The count here walks through a pod's life container by container and adds up what is held at each moment; it shares
nothing with the product but the resource names. Left out: requests that are being resized in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster.observer import Observer
from app.cluster.port import Kind
from app.cluster.projection import Projection
from app.placement.plan import Place, Plan, plan
from app.placement.request import Request
from app.placement.snapshot import ServerCapacity, Snapshot, take_snapshot

Json = dict[str, Any]
GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"
OBSERVER = Observer()
NOW = datetime(2026, 11, 30, tzinfo=UTC)


# raw objects


def node(name: str = "a", gpus: int = 8, uid: str = "", *, healthy: int | None = None, **more: Any) -> Json:
    """`more`: other resources, and `ready`, `spec`."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus), **more.get("resources", {})}
    allocatable = {**amounts, GPU: str(gpus if healthy is None else healthy)}
    ready = {"type": "Ready", "status": "True" if more.get("ready", True) else "Unknown"}
    return {
        "metadata": {"name": name, "uid": uid or f"uid-{name}"},
        "spec": more.get("spec", {}),
        "status": {"capacity": amounts, "allocatable": allocatable, "conditions": [ready]},
    }


def container(name: str = "main", **asked: str) -> Json:
    return {"name": name, "resources": {"requests": asked, "limits": asked}}


def asking(gpus: int, name: str = "main") -> Json:
    return container(name, **{GPU: str(gpus)})


def sidecar(gpus: int, name: str = "mesh") -> Json:
    return {**asking(gpus, name), "restartPolicy": "Always"}


def pod(on: str = "a", *containers: Json, uid: str = "p", phase: str = "Running", **more: Any) -> Json:
    spec = {"containers": list(containers) or [asking(1)], **more.get("spec", {})}
    return {
        "metadata": {"name": f"pod-{uid}", "namespace": "team", "uid": uid, **more.get("metadata", {})},
        "spec": {**spec, "nodeName": on} if on else spec,
        "status": {"phase": phase, **more.get("status", {})},
    }


# the product


def projected(nodes: Iterable[Json], pods: Iterable[Json]) -> Projection:
    projection = Projection("gpuyard")
    for kind, raws in ((Kind.NODES, nodes), (Kind.PODS, pods)):
        items = [OBSERVER.observe(kind, raw) for raw in raws]
        assert None not in items
        projection.replace(kind, [item for item in items if item is not None])
    return projection


def servers(projection: Projection) -> dict[str, ServerCapacity]:
    return {server.name: server for server in counted(projection).servers}


def counted(projection: Projection) -> Snapshot:
    return take_snapshot(projection.nodes.values(), projection.bound_pods(), [], lambda _: "acme")


def free(*pods: Json, of: Json | None = None) -> int:
    """GPUs of the one node, as placement would count."""
    return servers(projected([of or node()], pods))["a"].gpus_free.get(GPU, 0)


def planned(projection: Projection, *gpu_counts: int) -> Plan:
    queue = [Request(UUID(int=i), "acme", count, 1000, 2**30, NOW) for i, count in enumerate(gpu_counts)]
    return plan(queue, counted(projection))


HELD = {"deletionTimestamp": "2026-11-30T12:00:00Z", "finalizers": ["example.com/x"]}
PODS: list[tuple[str, list[Json], int]] = [
    ("a main container", [pod("a", asking(3))], 5),
    ("two main containers", [pod("a", asking(3), asking(2, "other"))], 3),
    ("pending with a node", [pod(phase="Pending")], 7),
    ("without any status yet", [pod(phase="")], 7),
    ("nobody has heard of it", [pod(phase="Unknown")], 7),
    ("waiting for a node", [pod("", phase="Pending")], 8),
    ("on another node", [pod("b")], 8),
    ("ended", [pod(phase="Succeeded"), pod(phase="Failed", uid="q")], 8),
    ("refused by its kubelet", [pod(phase="Failed", status={"reason": "UnexpectedAdmissionError"})], 8),
    ("being deleted", [pod(metadata=HELD)], 7),
    ("ended and held while it is deleted", [pod(phase="Failed", metadata=HELD)], 8),
    ("of the node itself", [pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})], 7),
    ("an init container wants more", [pod("a", asking(1), spec={"initContainers": [asking(4, "init")]})], 4),
    ("an init container wants less", [pod("a", asking(4), spec={"initContainers": [asking(1, "init")]})], 4),
    ("init containers take turns", [pod("a", spec={"initContainers": [asking(2, "i"), asking(3, "j")]})], 5),
    ("a sidecar stays beside", [pod("a", asking(1), spec={"initContainers": [sidecar(1)]})], 6),
    ("after a sidecar an init", [pod("a", asking(1), spec={"initContainers": [sidecar(2), asking(4, "i")]})], 2),
    ("before a sidecar an init", [pod("a", asking(1), spec={"initContainers": [asking(4, "i"), sidecar(2)]})], 4),
    ("its main container has ended", [pod(status={"containerStatuses": [{"name": "main", "state": {}}]})], 7),
    ("its limit alone", [pod("a", {"name": "main", "resources": {"limits": {GPU: "2"}}})], 6),
    ("of others' slices", [pod("a", container(**{SHARED: "2", MIG: "1"}))], 8),
]


@pytest.mark.parametrize(("pods", "expected"), [row[1:] for row in PODS], ids=[row[0] for row in PODS])
def test_what_a_strangers_pod_leaves_free(pods: list[Json], expected: int):
    assert free(*pods) == expected


def test_cpu_and_memory_of_a_whole_pod_stand_for_its_containers_and_overhead_comes_on_top():
    spec = {"resources": {"requests": {"cpu": "10", "memory": "1Gi"}}, "overhead": {"cpu": "500m", "memory": "64Mi"}}
    stranger = pod("a", container(cpu="1", memory="4Gi", **{GPU: "2"}), spec=spec)
    found = servers(projected([node()], [stranger]))["a"]
    assert (found.cpu_free, found.gpus_free[GPU]) == (53_500, 6)
    assert found.memory_free == (512 - 1) * 2**30 - 64 * 2**20


def test_every_way_to_write_an_amount_is_understood():
    ways = ("1", "1000m", "0.001k", "1e0", "1E0", "1000000000n", "+1")
    assert free(*(pod("a", container(**{GPU: way, "memory": "1e3"}), uid=way) for way in ways)) == 8 - len(ways)


def test_resource_names_of_one_node_are_counted_apart():
    mixed = node(resources={SHARED: "4", MIG: "7"})
    taken = [pod("a", container(**{SHARED: "3"}), uid="s"), pod("a", container(**{MIG: "7"}), uid="m"), pod()]
    assert dict(servers(projected([mixed], taken))["a"].gpus_free) == {GPU: 7, SHARED: 1, MIG: 0}


# nodes in trouble


def placed_on(found: Plan) -> list[str | None]:
    return [answer.server if isinstance(answer, Place) else None for answer in found.answers.values()]


def test_an_over_committed_node_takes_nothing_new_and_the_others_do():
    """Five of its GPUs went bad under the pods that use them."""
    sick, well = node("a", 8, healthy=3), node("b", 2)
    projection = projected([sick, well], [pod("a", asking(7))])
    assert servers(projection)["a"].gpus_free[GPU] == -4
    assert placed_on(planned(projection, 1, 1, 1)) == ["b", "b", None]
    told = planned(projection, 1, 1, 1).answers[UUID(int=2)]
    assert not isinstance(told, Place)
    assert "-" not in told.message.replace("nvidia-", "")


def test_a_resource_that_vanishes_from_allocatable_is_nothing_to_place_on():
    gone = node("a", 8)
    del gone["status"]["allocatable"][GPU]
    projection = projected([gone], [pod("a", asking(2))])
    assert placed_on(planned(projection, 1)) == [None]


def test_a_node_that_comes_again_with_fewer_gpus_is_the_new_one():
    """Under the same name: what the old one's pods hold counts until they are gone, as it does for the scheduler."""
    projection = projected([node("a", 8, "old")], [pod("a", asking(3))])
    old = OBSERVER.node(node("a", 8, "old"))
    new = OBSERVER.node(node("a", 2, "new"))
    assert old is not None
    assert new is not None
    projection.drop(old)
    assert placed_on(planned(projection, 1)) == [None]
    projection.put(new)
    assert servers(projection)["a"].gpus_free[GPU] == -1
    projection.drop(old)  # told late, by a list that was longer under way
    assert projection.nodes["a"].uid == "new"
    leftover = OBSERVER.pod(pod("a", asking(3), phase="Failed"))
    assert leftover is not None
    projection.put(leftover)
    assert placed_on(planned(projection, 2, 1)) == ["a", None]


CLOSED: list[tuple[str, Json]] = [
    ("cordoned", node(spec={"unschedulable": True})),
    ("silent", node(ready=False)),
    ("tainted", node(spec={"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]})),
    ("without a GPU", node(gpus=0)),
    ("without a healthy GPU", node(healthy=0)),
]


@pytest.mark.parametrize("closed", [row[1] for row in CLOSED], ids=[row[0] for row in CLOSED])
def test_a_node_that_is_closed_takes_nothing(closed: Json):
    assert placed_on(planned(projected([closed, node("b")], []), 8, 1)) == ["b", None]


# against the naive count


def held_at_most(spec: Json) -> Counter[str]:
    """The most of each resource at any moment of the pod's life."""
    beside: list[Json] = []
    moments: list[list[Json]] = []
    for item in spec.get("initContainers", []):
        moments.append([*beside, item])
        if item.get("restartPolicy") == "Always":
            beside.append(item)
    moments.append([*beside, *spec["containers"]])
    most: Counter[str] = Counter()
    for moment in moments:
        at_once: Counter[str] = Counter()
        for item in moment:
            at_once.update({name: int(value) for name, value in item["resources"]["requests"].items()})
        most |= at_once
    return most


def counts(nodes: list[Json], pods: list[Json]) -> dict[str, Counter[str]]:
    """What each node has left, by plain subtraction; it may be less than nothing."""
    left = {raw["metadata"]["name"]: Counter[str]() for raw in nodes}
    for raw in nodes:
        left[raw["metadata"]["name"]].update({n: int(raw["status"]["allocatable"][n]) for n in (GPU, SHARED)})
    for raw in pods:
        on, ended = raw["spec"].get("nodeName"), raw["status"]["phase"] in ("Succeeded", "Failed")
        if on in left and not ended:
            left[on].subtract(held_at_most(raw["spec"]))
    return left


few = st.integers(0, 4)
amounts = st.fixed_dictionaries({}, optional={GPU: few.map(str), SHARED: few.map(str)})
containers = amounts.map(lambda asked: container(**asked))
inits = st.one_of(containers, containers.map(lambda item: {**item, "restartPolicy": "Always"}))
specs = st.fixed_dictionaries(
    {"containers": st.lists(containers, min_size=1, max_size=3)},
    optional={"initContainers": st.lists(inits, max_size=4)},
)
phases = st.sampled_from(["Pending", "Running", "Unknown", "Succeeded", "Failed", ""])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Json], list[Json]]:
    sizes = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), min_size=1, max_size=4))
    nodes = [
        node(f"n{i}", max(size, well), healthy=well, resources={SHARED: "4"}, spec={"unschedulable": closed})
        for i, (size, well, closed) in enumerate(sizes)
    ]
    places = st.sampled_from([*(raw["metadata"]["name"] for raw in nodes), "", "elsewhere"])
    drawn = draw(st.lists(st.tuples(places, specs, phases, st.booleans()), max_size=8))
    pods = [
        pod(on, uid=f"p{i}", phase=phase, spec=spec, metadata=HELD if deleted else {})
        for i, (on, spec, phase, deleted) in enumerate(drawn)
    ]
    return nodes, pods


@given(clusters())
def test_what_is_free_is_what_the_naive_count_says(cluster: tuple[list[Json], list[Json]]):
    nodes, pods = cluster
    found = servers(projected(nodes, pods))
    for name, left in counts(nodes, pods).items():
        assert {r: found[name].gpus_free[r] for r in (GPU, SHARED)} == {r: left[r] for r in (GPU, SHARED)}


@given(clusters(), st.lists(st.integers(1, 8), min_size=1, max_size=8))
def test_a_plan_never_takes_what_is_not_there_nor_leaves_what_would_do(
    cluster: tuple[list[Json], list[Json]], wanted: list[int]
):
    nodes, pods = cluster
    left = counts(nodes, pods)
    closed = {raw["metadata"]["name"] for raw in nodes if raw["spec"]["unschedulable"]}
    answers = planned(projected(nodes, pods), *wanted).answers
    for number, gpus in enumerate(wanted):
        answer = answers[UUID(int=number)]
        if isinstance(answer, Place):
            assert answer.server not in closed
            assert answer.gpu_resource == GPU
            left[answer.server][GPU] -= gpus
            assert left[answer.server][GPU] >= 0
    for number, gpus in enumerate(wanted):
        if not isinstance(answers[UUID(int=number)], Place):
            assert all(left[name][GPU] < gpus for name in left.keys() - closed)


@given(clusters(), st.randoms(use_true_random=False))
def test_news_in_any_order_come_to_the_same_count(cluster: tuple[list[Json], list[Json]], chance: Any):
    """Pods come, change and go one by one; what is left is what a list would have told."""
    nodes, pods = cluster
    listed, told = projected(nodes, pods), projected(nodes, [])
    history = [(raw, phase) for raw in pods for phase in ("Pending", "Running")]
    chance.shuffle(history)
    for raw, phase in history:
        item = OBSERVER.pod({**raw, "status": {"phase": phase}})
        assert item is not None
        told.put(item)
        if chance.random() < 0.3:
            told.drop(item)
    for raw in pods:
        item = OBSERVER.pod(raw)
        assert item is not None
        told.put(item)
    assert servers(told) == servers(listed)
