"""From the words of `gpuyard submit` to the API's input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.client.errors import ClientError


def submission(wanted: Mapping[str, Any], words: Sequence[str], *, are_command: bool) -> dict[str, Any]:
    """The input without what was not given, so that the service's own defaults hold."""
    given = {name: value for name, value in wanted.items() if value is not None}
    return given | ({"command" if are_command else "args": list(words)} if words else {})


def gpu_requirements(
    products: Sequence[str] | None,
    memory: str | None,
    compute_capability: str | None,
    mig_profile: str | None,
    *,
    is_shared: bool,
) -> dict[str, Any] | None:
    """None where nothing is asked of the GPUs."""
    values = {"memory": memory, "computeCapability": compute_capability, "migProfile": mig_profile}
    given = {name: value for name, value in values.items() if value is not None}
    lists = {"products": list(products)} if products else {}
    return {**lists, **given, **({"shared": True} if is_shared else {})} or None


def project_id(projects: Sequence[Mapping[str, Any]], slug: str) -> str:
    """Raises ClientError naming those there are."""
    for project in projects:
        if project["slug"] == slug:
            return str(project["id"])
    known = ", ".join(it["slug"] for it in projects) or "none"
    raise ClientError(f"--project: there is no project {slug!r}; there are: {known}")
