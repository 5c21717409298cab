"""A submitter's labels: what Kubernetes would refuse is refused here, by field, and so is what programs act on."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInputError
from app.domain.labels import check_labels, parse_labels

FINE = [
    ("team", "vision"),
    ("a", ""),
    ("k" * 63, "v" * 63),
    ("example.org/run", "7"),
    ("a-b.c_d", "A-b.C_d"),
    (f"{'d' * 63}.{'d' * 63}.{'d' * 63}.{'d' * 61}/x", "longest prefix"[:7]),
    ("mykubernetes.io/x", "1"),
]
WRONG = [
    ("", "x", "key", "is not a label's key"),
    ("/x", "x", "key", "is not a label's key"),
    ("a/", "x", "key", "is not a label's key"),
    ("a/b/c", "x", "key", "is not a label's key"),
    ("-a", "x", "key", "is not a label's key"),
    ("a b", "x", "key", "is not a label's key"),
    ("é", "x", "key", "is not a label's key"),
    ("Example.org/x", "x", "key", "is not a label's key"),
    ("k" * 64, "x", "key", "is not a label's key"),
    (f"{'d' * 254}/x", "x", "key", "is not a label's key"),
    ("app.kubernetes.io/name", "x", "key", "'app.kubernetes.io/name' is not free"),
    ("kubernetes.io/x", "x", "key", "is not free"),
    ("batch.kubernetes.io/job-name", "x", "key", "is not free"),
    ("node.k8s.io/x", "x", "key", "is not free"),
    ("kueue.x-k8s.io/queue-name", "x", "key", "is not free"),
    ("gpuyard.dev/organization", "x", "key", "is not free"),
    ("job-name", "x", "key", "is not free"),
    ("controller-uid", "x", "key", "is not free"),
    ("a", "v" * 64, "value", "may have 63 characters; it has 64"),
    ("a", "x y", "value", "'x y', the value of 'a'"),
    ("a", "é", "value", "is not a label's value"),
    ("a", "-x", "value", "is not a label's value"),
    ("a", "x\n", "value", "is not a label's value"),
]


@pytest.mark.parametrize(("key", "value"), FINE, ids=[key[:20] for key, _ in FINE])
def test_what_kubernetes_takes_is_taken(key: str, value: str) -> None:
    assert check_labels([(key, value.strip())]) == []


@pytest.mark.parametrize(("key", "value", "part", "words"), WRONG, ids=[f"{w[0][:20]!r}={w[1][:5]!r}" for w in WRONG])
def test_what_is_wrong_is_named(key: str, value: str, part: str, words: str) -> None:
    [problem] = check_labels([("ok", "1"), (key, value)])
    assert problem.field == f"labels[1].{part}"
    assert words in problem.message
    assert len(problem.message) < 400


def test_a_key_counts_once() -> None:
    assert [p.field for p in check_labels([("a", "1"), ("b", "1"), ("a", "1")])] == ["labels[2].key"]


def test_there_is_a_limit() -> None:
    assert check_labels([(f"k{i}", "") for i in range(32)]) == []
    [problem] = check_labels([(f"k{i}", "") for i in range(33)])
    assert (problem.field, "at most 32" in problem.message, "33" in problem.message) == ("labels", True, True)


def test_the_text_box() -> None:
    assert parse_labels("team=vision\nrun=7  empty=") == (("team", "vision"), ("run", "7"), ("empty", ""))
    assert parse_labels(" \n") == ()
    with pytest.raises(InvalidInputError, match="'team' has no '='"):
        parse_labels("team vision")
