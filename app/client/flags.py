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
    "mounts": "--mount",
    "labels": "--label",
    "envVars": "--env",
    "projectId": "--project",
    "command": "--command",
    "args": "ARGS",
    "idempotencyKey": "--idempotency-key",
}
LISTING = {"filterBy": "--filter", "search": "--search", "sortBy": "--sort", "status": "--status", "first": "--limit"}
LOG = {"attempt": "--attempt", "tailLines": "--tail"}
_FIELD = re.compile(r"(\w+)(\[\d+\]|\.\w+)*: ")


@contextmanager
def named_by(flags: Mapping[str, str]) -> Iterator[None]:
    """Raises RefusedError with flags where it had fields."""
    try:
        yield
    except RefusedError as refusal:
        raise RefusedError([in_flags(it, flags) for it in refusal.sentences], refusal.code) from None


def in_flags(sentence: str, flags: Mapping[str, str]) -> str:
    """`gpuCount: must be …` as `--gpus: must be …`."""
    found = _FIELD.match(sentence)
    if not found or found[1] not in flags:
        return sentence
    return f"{flags[found[1]]}: {sentence[found.end() :]}"
