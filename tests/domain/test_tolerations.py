"""Tolerations as an operator writes them, and which taints they cover."""

from __future__ import annotations

import pytest

from app.domain.observed import Taint
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration

WRITTEN = [
    ("nvidia.com/gpu:NoSchedule", Toleration("nvidia.com/gpu", "NoSchedule")),
    ("dedicated=gpu:NoExecute", Toleration("dedicated", "NoExecute", "gpu")),
    ("dedicated=", Toleration("dedicated", "", "")),
    ("dedicated", Toleration("dedicated")),
]


@pytest.mark.parametrize(("text", "meant"), WRITTEN)
def test_written_as_kubectl_taint_does(text: str, meant: Toleration) -> None:
    assert Toleration.parse(text) == meant
    assert str(meant) == text


@pytest.mark.parametrize(
    "text", ["", ":NoSchedule", "a:", "a:Never", "a b", "a=b c:NoSchedule", "a/b/c", "a..b/x", "é"]
)
def test_what_is_no_toleration_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not key\[=value\]"):
        Toleration.parse(text)


def test_a_cordon_is_never_tolerated() -> None:
    with pytest.raises(ValueError, match="a cordoned server takes no new work"):
        Toleration.parse("node.kubernetes.io/unschedulable:NoSchedule")


COVERED = [
    ("a:NoSchedule", Taint("a", "x", "NoSchedule"), True),
    ("a:NoSchedule", Taint("a", "x", "NoExecute"), False),
    ("a", Taint("a", "x", "NoExecute"), True),
    ("a=x", Taint("a", "x", "NoSchedule"), True),
    ("a=y", Taint("a", "x", "NoSchedule"), False),
    ("a=", Taint("a", "", "NoSchedule"), True),
    ("b", Taint("a", "x", "NoSchedule"), False),
]


@pytest.mark.parametrize(("text", "taint", "covers"), COVERED)
def test_which_taints_it_covers(text: str, taint: Taint, covers: bool) -> None:
    assert Toleration.parse(text).covers(taint) is covers


def test_the_usual_taint_of_gpu_servers_needs_no_setting() -> None:
    assert [it.covers(Taint("nvidia.com/gpu", "present", "NoSchedule")) for it in DEFAULT_TOLERATIONS] == [True]
