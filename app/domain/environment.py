"""Environment variables of a workload: names, refusals, and the text box that people type them into.

Values reach the container byte for byte; escaping for Kubernetes is the manifest builder's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from app.domain.errors import InvalidInputError, Problem
from app.domain.shell_words import split_words

# Narrower than Kubernetes 1.34+ allows, and valid on every version and in every shell.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_VARIABLES = 500
MAX_VALUE_BYTES = 128 * 1024 - 1  # Linux: MAX_ARG_STRLEN, for NAME=value and its NUL
MAX_TOTAL_BYTES = (
    512 * 1024
)  # with the words well inside the 1.5 MiB that etcd takes, and 3 MiB that the API server does

# Set by the device plugin and the container toolkit for exactly the GPUs that were allocated.
RESERVED_NAMES = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DISABLE_REQUIRE",
        "NVIDIA_MIG_CONFIG_DEVICES",
        "NVIDIA_MIG_MONITOR_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "ZE_AFFINITY_MASK",
    }
)


def check_environment(pairs: Sequence[tuple[str, str]], field: str = "envVars") -> list[Problem]:
    """Every problem of the given variables; an empty list when they are fine."""
    if len(pairs) > MAX_VARIABLES:
        return [Problem(field, f"at most {MAX_VARIABLES} variables are taken; {len(pairs)} were given")]
    problems = [p for i, pair in enumerate(pairs) if (p := _check_pair(f"{field}[{i}]", *pair))]
    # A name counts twice: the API server writes it down once more, beside the object, as a field that is managed.
    total = sum(2 * sent_size(name) + sent_size(value) for name, value in pairs)
    if total > MAX_TOTAL_BYTES:
        words = f"names and values together may have {MAX_TOTAL_BYTES} bytes as they are sent; these have {total}"
        problems.append(Problem(field, words))
    return [*problems, *_repeated(pairs, field)]


def _repeated(pairs: Sequence[tuple[str, str]], field: str) -> list[Problem]:
    seen: set[str] = set()
    problems = []
    for i, (name, _) in enumerate(pairs):
        if name in seen:
            problems.append(Problem(f"{field}[{i}].name", f"{_shown(name)} is given twice"))
        seen.add(name)
    return problems


def sent_size(text: str) -> int:
    """Bytes of a text in a request to Kubernetes: every `$` is doubled there, and JSON spells out what isn't ASCII."""
    return len(json.dumps(text.replace("$", "$$")))


def _size(name: str, value: str) -> int:
    return len(f"{name}={value}".encode("utf-8", "surrogatepass"))


def _shown(name: str) -> str:
    """A name that may be anything, short and printable."""
    return repr(name[:80]) if has_surrogate(name) else name[:80]


def _check_pair(field: str, name: str, value: str) -> Problem | None:
    if not _NAME.fullmatch(name):
        words = "is not a variable name: letters, digits and '_', not starting with a digit"
        return Problem(f"{field}.name", f"{name[:80]!r} {words}")
    if name in RESERVED_NAMES:
        words = "is set by the GPU device plugin for the GPUs that the workload gets; leave it out"
        return Problem(f"{field}.name", f"{name} {words}")
    if "\0" in value:
        return Problem(
            f"{field}.value", f"the value of {_shown(name)} contains a NUL character, which nothing can carry"
        )
    if has_surrogate(value):
        return Problem(f"{field}.value", f"the value of {_shown(name)} is not valid Unicode text")
    if (size := _size(name, value)) > MAX_VALUE_BYTES:
        words = f"{_shown(name)} may have {MAX_VALUE_BYTES} bytes with its value; it has {size}"
        return Problem(f"{field}.value", words)
    return None


def has_surrogate(text: str) -> bool:
    """True for text that UTF-8 can't carry, as half of a pair does that JSON let through."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def parse_environment(text: str, field: str = "envVars") -> tuple[tuple[str, str], ...]:
    """`MODEL_PATH=/data/model BATCH_SIZE=32`, split as a shell would: white space and newlines part, quotes protect.

    Raises InvalidInputError for a word without `=` or an open quote.
    """
    words = split_words(field, text, subject="the variables")
    wrong = [w for w in words if "=" not in w]
    if wrong:
        raise InvalidInputError.of(
            field, f"{wrong[0][:80]!r} has no '='; write NAME=value, with quotes around a value with spaces"
        )
    return tuple((name, value) for name, _, value in (w.partition("=") for w in words))
