"""Which node a pod fits on, and in what words the scheduler says that it fits none. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.simcluster.fleet import GPU_RESOURCE
from app.simcluster.meta import Json, has_condition, name_of
from app.simcluster.quantity import Amounts, amounts

ENOUGH = 50  # nodes that fit, to choose the best of
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as the scheduler sees it; made once for each version of the Node."""

    name: str
    labels: dict[str, str]
    taints: tuple[Json, ...]
    unschedulable: bool
    allocatable: Amounts

    @classmethod
    def of(cls, node: Json) -> NodeView | None:
        """None for a node that has no kubelet's report yet."""
        if not has_condition(node, "Ready") and not node["spec"].get("taints"):
            return None
        spec, status = node.get("spec") or {}, node.get("status") or {}
        return cls(
            name_of(node),
            node["metadata"].get("labels") or {},
            tuple(spec.get("taints") or ()),
            bool(spec.get("unschedulable")),
            amounts(status.get("allocatable") or {}),
        )


@dataclass(frozen=True, slots=True)
class Request:
    """What a pod asks of a node. Pods of one shape fit the same nodes."""

    amounts: Amounts
    selector: dict[str, str]
    terms: tuple[Json, ...] | None
    tolerations: tuple[Json, ...]
    names: frozenset[str] | None  # the nodes that matchFields leaves
    shape: bytes

    @classmethod
    def of(cls, pod: Json, requests: Amounts) -> Request:
        spec = pod["spec"]
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        terms = tuple(required["nodeSelectorTerms"]) if required else None
        selector, tolerations = spec.get("nodeSelector") or {}, tuple(spec.get("tolerations") or ())
        shape = orjson.dumps([requests, selector, terms, tolerations], option=orjson.OPT_SORT_KEYS)
        return cls(requests, selector, terms, tolerations, _named(terms), shape)


@dataclass(frozen=True, slots=True)
class Reasons:
    words: tuple[str, ...]
    preemption_may_help: bool = False


def why_not(request: Request, node: NodeView, used: Amounts) -> Reasons | None:
    """What keeps the pod from this node; None: it fits. The order is that of the real filters."""
    if request.names is not None and node.name not in request.names:
        return Reasons((NOT_NAMED,))
    if node.unschedulable and not tolerates(
        request.tolerations, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ):
        return Reasons(("node(s) were unschedulable",))
    if any(item["effect"] != "PreferNoSchedule" and not tolerates(request.tolerations, item) for item in node.taints):
        return Reasons(("node(s) had untolerated taint(s)",))
    if not matches(request, node):
        return Reasons((NO_MATCH,))
    return _insufficient(request.amounts, node.allocatable, used)


def _insufficient(wanted: Amounts, allocatable: Amounts, used: Amounts) -> Reasons | None:
    short = [
        name for name, amount in wanted.items() if amount and used.get(name, 0) + amount > allocatable.get(name, 0)
    ]
    if not short:
        return None
    never = any(wanted[name] > allocatable.get(name, 0) for name in short)
    words = tuple("Too many pods" if name == "pods" else f"Insufficient {name}" for name in short)
    return Reasons(words, preemption_may_help=not never)


def choose(
    request: Request, nodes: Mapping[str, NodeView], used: Mapping[str, Amounts], start: int = 0
) -> str | list[Reasons]:
    """The best node's name, or for each node why not. In a big fleet the search begins at `start` and ends when
    enough nodes fit, as the real scheduler's does."""
    if request.names is not None:
        named = [nodes[name] for name in request.names if name in nodes]
        others = [Reasons((NOT_NAMED,))] * (len(nodes) - len(named))
    else:
        named, others = list(nodes.values()), []
    refusals: list[Reasons] = []
    fitting: list[tuple[float, str]] = []
    for node in (*named[start:], *named[:start]):
        taken = used.get(node.name, {})
        reasons = why_not(request, node, taken)
        if reasons is not None:
            refusals.append(reasons)
            continue
        fitting.append((_fullness(node, taken), node.name))
        if len(fitting) >= ENOUGH:
            break
    return min(fitting)[1] if fitting else [*refusals, *others]


def _fullness(node: NodeView, used: Amounts) -> float:
    """Spread, as the default scheduler does; nodes without GPUs first for pods that need none."""
    shares = [
        used.get(name, 0) / node.allocatable[name]
        for name in ("cpu", "memory", GPU_RESOURCE)
        if node.allocatable.get(name)
    ]
    return sum(shares) / len(shares) if shares else 1.0


def unschedulable_message(refusals: Iterable[Reasons]) -> str:
    every = list(refusals)
    total = len(every)
    if not total:
        return "no nodes available to schedule pods"
    counted = Counter(word for reasons in every for word in reasons.words)
    helped = Counter(
        "No preemption victims found for incoming pod"
        if reasons.preemption_may_help
        else "Preemption is not helpful for scheduling"
        for reasons in every
    )
    head = f"0/{total} nodes are available: {_histogram(counted)}."
    return f"{head} no new claims to deallocate, preemption: 0/{total} nodes are available: {_histogram(helped)}."


def _histogram(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {word}" for word, count in counts.items()))


def tolerates(tolerations: Iterable[Json], taint: Json) -> bool:
    return any(_tolerates(item, taint) for item in tolerations)


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def matches(request: Request, node: NodeView) -> bool:
    """nodeSelector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in request.selector.items()):
        return False
    return request.terms is None or any(_term(term, node) for term in request.terms)


def _term(term: Json, node: NodeView) -> bool:
    expressions, by_field = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not by_field:
        return False
    return all(_expression(item, node.labels) for item in expressions) and all(
        _expression(item, {"metadata.name": node.name}) for item in by_field
    )


def _expression(item: Json, values: Mapping[str, str]) -> bool:
    key, found, wanted = item["key"], values.get(item["key"]), item.get("values") or []
    match item["operator"]:
        case "In":
            return found in wanted
        case "NotIn":
            return found not in wanted
        case "Exists":
            return key in values
        case "DoesNotExist":
            return key not in values
        case "Gt" | "Lt":
            return _compare(item["operator"], found, wanted)
    return False


def _compare(operator: str, found: str | None, wanted: list[Any]) -> bool:
    try:
        left, right = int(found or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right


def _named(terms: tuple[Json, ...] | None) -> frozenset[str] | None:
    """The node names that are possible at all, where every term names one."""
    names: set[str] = set()
    for term in terms or ():
        here = [set(item["values"]) for item in term.get("matchFields") or [] if item["operator"] == "In"]
        if not here:
            return None
        names |= set.intersection(*here)
    return frozenset(names) if terms else None
