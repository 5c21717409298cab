"""Labels that a submitter puts on a workload: they reach its Job and pod, so Kubernetes' syntax is checked here.

Sources: k8s.io/apimachinery, label keys and values. Refused beyond the syntax: keys that belong to Kubernetes or to
GPUYard, because controllers act on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.domain.dns_names import DNS_NAME, LONGEST_DNS_NAME
from app.domain.errors import InvalidInputError, Problem
from app.domain.shell_words import split_words

Labels = tuple[tuple[str, str], ...]

MAX_LABELS = 32
MAX_PART = 63  # of a value, and of a key without its prefix
_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX = re.compile(DNS_NAME)
_TAKEN_DOMAINS = ("gpuyard.dev", "kubernetes.io", "k8s.io", "x-k8s.io")
_TAKEN_KEYS = frozenset({"job-name", "controller-uid"})  # the Job controller's own, from before it used a prefix
_KEY_RULE = (
    f"is not a label's key: up to {MAX_PART} letters, digits, '-', '_' and '.', beginning and ending with a letter or "
    "digit, with or without a DNS name and '/' before it"
)


def check_labels(pairs: Sequence[tuple[str, str]], field: str = "labels") -> list[Problem]:
    """Every problem of the given labels; an empty list when they are fine."""
    if len(pairs) > MAX_LABELS:
        return [Problem(field, f"at most {MAX_LABELS} labels are taken; {len(pairs)} were given")]
    problems = [p for i, (key, value) in enumerate(pairs) if (p := _check_pair(f"{field}[{i}]", key, value))]
    keys = [key for key, _ in pairs]
    repeated = [i for i, key in enumerate(keys) if key in keys[:i]]
    return [*problems, *(Problem(f"{field}[{i}].key", f"{keys[i][:80]!r} is given twice") for i in repeated)]


def _check_pair(field: str, key: str, value: str) -> Problem | None:
    if not is_key(key):
        return Problem(f"{field}.key", f"{key[:80]!r} {_KEY_RULE}")
    if _is_taken(key):
        words = f"{key[:80]!r} is not free to use: keys of Kubernetes and of GPUYard mean something to programs"
        return Problem(f"{field}.key", words)
    if len(value) > MAX_PART:
        words = f"the value of {key[:80]!r} may have {MAX_PART} characters; it has {len(value)}"
        return Problem(f"{field}.value", words)
    if value and not _PART.fullmatch(value):
        rule = "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
        return Problem(f"{field}.value", f"{value!r}, the value of {key[:80]!r}, is not a label's value: {rule}")
    return None


def is_key(key: str) -> bool:
    """Kubernetes' rule for the keys of labels and taints."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (_PREFIX.fullmatch(prefix) and len(prefix) <= LONGEST_DNS_NAME):
        return False
    return len(name) <= MAX_PART and _PART.fullmatch(name) is not None


def _is_taken(key: str) -> bool:
    prefix, _, _ = key.rpartition("/")
    return key in _TAKEN_KEYS or any(prefix == taken or prefix.endswith(f".{taken}") for taken in _TAKEN_DOMAINS)


def parse_labels(text: str, field: str = "labels") -> Labels:
    """`team=vision run=7`, split as the environment's box is. Raises InvalidInputError for a word without `=`."""
    words = split_words(field, text, subject="the labels")
    wrong = [word for word in words if "=" not in word]
    if wrong:
        raise InvalidInputError.of(field, f"{wrong[0][:80]!r} has no '='; write key=value")
    return tuple((key, value) for key, _, value in (word.partition("=") for word in words))
