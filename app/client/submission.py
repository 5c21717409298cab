"""From the words of `gpuyard submit` to the API's input, and from its complaints back to those words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.client.errors import ClientError

# The flag behind each input field, for refusals.
FLAGS = {
    "image": "IMAGE",
    "tag": "--tag",
    "name": "--name",
    "gpuCount": "--gpus",
    "timeoutSeconds": "--timeout",
    "startTimeoutSeconds": "--start-timeout",
    "queueTimeoutSeconds": "--queue-timeout",
    "cpu": "--cpu",
    "memory": "--memory",
    "envVars": "--env",
    "projectId": "--project",
    "command": "--command",
    "args": "ARGS",
    "idempotencyKey": "--idempotency-key",
}
_FIELD = re.compile(r"(\w+)(\[\d+\]|\.\w+)*: ")


def submission(wanted: Mapping[str, Any], words: Sequence[str], *, are_command: bool) -> dict[str, Any]:
    """The input without what was not given, so that the service's own defaults hold."""
    given = {name: value for name, value in wanted.items() if value is not None}
    return given | ({"command" if are_command else "args": list(words)} if words else {})


def in_flags(sentence: str) -> str:
    """`gpuCount: must be …` as `--gpus: must be …`."""
    found = _FIELD.match(sentence)
    if not found or found[1] not in FLAGS:
        return sentence
    return f"{FLAGS[found[1]]}: {sentence[found.end() :]}"


def project_id(projects: Sequence[Mapping[str, Any]], slug: str) -> str:
    """Raises ClientError naming those there are."""
    for project in projects:
        if project["slug"] == slug:
            return str(project["id"])
    known = ", ".join(it["slug"] for it in projects) or "none"
    raise ClientError(f"--project: there is no project {slug!r}; there are: {known}")
