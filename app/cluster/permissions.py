"""What our account may not do although GPUYard needs it, asked from the API server. Called by the adapter's check.

`NEEDED` is what deploy/ grants. An API server without access reviews (the simulated cluster) has nothing to tell.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from app.cluster.port import RefusedError, UnavailableError
from app.cluster.transport import Request, Transport

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_NOT_SERVED = frozenset({404, 405})
_FORBIDDEN, _NOT_FOUND = 403, 404


@dataclass(frozen=True)
class Permission:
    verb: str
    group: str
    resource: str
    subresource: str = ""
    everywhere: bool = False  # in every namespace, or of something that has none

    def missing(self, namespace: str) -> str:
        what = "/".join(part for part in (self.resource, self.subresource) if part)
        where = "in the whole cluster" if self.everywhere else f"in namespace {namespace}"
        return f"our account may not {self.verb} {what} {where}"


NEEDED = (
    *(Permission(verb, "", "nodes", everywhere=True) for verb in ("list", "watch")),
    *(Permission(verb, "", "pods", everywhere=True) for verb in ("list", "watch")),
    *(Permission(verb, "", "pods") for verb in ("get", "patch", "delete")),
    Permission("get", "", "pods", "log"),
    Permission("list", "", "events"),
    *(Permission(verb, "batch", "jobs") for verb in ("create", "get", "list", "watch", "delete")),
)


async def missing_permissions(transport: Transport, namespace: str) -> tuple[str, ...]:
    """A sentence for each thing that is missing, the namespace first."""
    absent, *answers = await asyncio.gather(
        _is_absent(transport, namespace), *(_is_allowed(transport, namespace, needed) for needed in NEEDED)
    )
    problems = [needed.missing(namespace) for needed, allowed in zip(NEEDED, answers, strict=True) if not allowed]
    return (*([f"the namespace {namespace} doesn't exist"] if absent else []), *problems)


async def _is_absent(transport: Transport, namespace: str) -> bool:
    try:
        await transport.call(Request("GET", f"/api/v1/namespaces/{namespace}"))
    except RefusedError as error:
        return error.status == _NOT_FOUND
    except UnavailableError as error:
        if error.status != _FORBIDDEN:
            raise  # else we may not look, which nothing depends on
    return False


async def _is_allowed(transport: Transport, namespace: str, needed: Permission) -> bool:
    attributes = {
        "verb": needed.verb,
        "group": needed.group,
        "resource": needed.resource,
        "subresource": needed.subresource,
        "namespace": "" if needed.everywhere else namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    try:
        answer = await transport.call(Request("POST", _REVIEWS, body=review))
    except (RefusedError, UnavailableError) as error:
        if error.status in _NOT_SERVED:
            return True
        raise
    return (answer.get("status") or {}).get("allowed") is True
