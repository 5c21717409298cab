"""The API speaks of fields, people typed flags: refusals are told in their words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from app.client.errors import RefusedError

SUBMISSION = {
    "image": "IMAGE",
    "tag": "--tag",
    "name": "--name",
    "gpuCount": "--gpus",
    "timeoutSeconds": "--timeout",
    "startTimeoutSeconds": "--start-timeout",
    "queueTimeoutSeconds": "--queue-timeout",
    "maxRetries": "--max-retries",
    "cpu": "--cpu",
    "memory": "--memory",
    "sharedMemory": "--shared-memory",
    "cuda": "--cuda",
    "gpuRequirements.products": "--gpu-product",
    "gpuRequirements.memory": "--gpu-memory",
    "gpuRequirements.computeCapability": "--compute-capability",
    "gpuRequirements.migProfile": "--mig-profile",
    "gpuRequirements.shared": "--shared",
    "priority": "--priority",
    "preemptible": "--preemptible",
    "mounts": "--mount",
    "labels": "--label",
    "envVars": "--env",
    "projectId": "--project",
    "command": "--command",
    "args": "ARGS",
    "idempotencyKey": "--idempotency-key",
}
LISTING = {"filterBy": "--filter", "search": "--search", "sortBy": "--sort", "status": "--status", "first": "--limit"}
CORDON = {"reason": "--reason"}
LOG = {"attempt": "--attempt", "tailLines": "--tail"}
_FIELD = re.compile(r"(\w+)((?:\[\d+\]|\.\w+)*): ")
_INDEX = re.compile(r"\[\d+\]")
# What the service says of a value that is none of its type at all.
_VARIABLE = re.compile(r"Variable '\$(\w+)' has invalid value(?: at \.(\w+)[\w.\[\]]*)?: ")


@contextmanager
def named_by(flags: Mapping[str, str]) -> Iterator[None]:
    """Raises RefusedError with flags where it had fields."""
    try:
        yield
    except RefusedError as refusal:
        raise RefusedError([in_flags(it, flags) for it in refusal.sentences], refusal.code) from None


def in_flags(sentence: str, flags: Mapping[str, str]) -> str:
    """`gpuCount: must be …` as `--gpus: must be …`."""
    if variable := _VARIABLE.match(sentence):
        field, rest = variable[2] or variable[1], sentence[variable.end() :]
    elif found := _FIELD.match(sentence):
        inner = found[1] + _INDEX.sub("", found[2])
        field, rest = inner if inner in flags else found[1], sentence[found.end() :]
    else:
        return sentence
    return f"{flags[field]}: {rest}" if field in flags else sentence
