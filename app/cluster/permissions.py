"""What our account may not do although GPUYard needs it, asked from the API server. Called by the adapter's check.

`NEEDED` is what deploy/ grants, `NEEDED_PER_ORGANIZATION` what its variant does where each organization has a namespace
of its own: the same in all namespaces, and to find those; creating them may be left to an operator. An API server
without access reviews (the simulated cluster) has nothing to tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace

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
    *(Permission(verb, "", "pods") for verb in ("patch", "delete")),
    Permission("get", "", "pods", "log"),
    Permission("list", "", "events"),
    *(Permission(verb, "batch", "jobs") for verb in ("create", "get", "list", "watch", "delete")),
)


_FIND_NAMESPACES = Permission("get", "", "namespaces", everywhere=True)
CREATE_NAMESPACES = Permission("create", "", "namespaces", everywhere=True)
NEEDED_PER_ORGANIZATION = (*(replace(needed, everywhere=True) for needed in NEEDED), _FIND_NAMESPACES)
# What will do in each namespace alone. Jobs are listed and watched in all at once.
_MAY_BE_IN_EACH = frozenset(
    replace(needed, everywhere=True)
    for needed in NEEDED
    if not needed.everywhere and (needed.resource, needed.verb) not in {("jobs", "list"), ("jobs", "watch")}
)


async def missing_permissions(transport: Transport, namespace: str) -> tuple[str, ...]:
    """A sentence for each thing that is missing, the namespace first."""
    absent, problems = await asyncio.gather(_is_absent(transport, namespace), _missing(transport, namespace, NEEDED))
    return (*([f"the namespace {namespace} doesn't exist"] if absent else []), *problems)


async def missing_everywhere(transport: Transport, namespaces: Collection[str]) -> tuple[str, ...]:
    """The same for organizations with namespaces of their own: what is not allowed in all may be in each of these."""
    answers = await asyncio.gather(*(_is_allowed(transport, "", it) for it in NEEDED_PER_ORGANIZATION))
    lacking = [it for it, allowed in zip(NEEDED_PER_ORGANIZATION, answers, strict=True) if not allowed]
    in_each = [replace(it, everywhere=False) for it in lacking if it in _MAY_BE_IN_EACH and namespaces]
    in_all = [it.missing("") for it in lacking if replace(it, everywhere=False) not in in_each]
    found = await asyncio.gather(*(_missing(transport, namespace, in_each) for namespace in namespaces))
    return (*in_all, *(sentence for sentences in found for sentence in sentences))


async def is_allowed_to_create_namespaces(transport: Transport) -> bool:
    return await _is_allowed(transport, "", CREATE_NAMESPACES)


async def _missing(transport: Transport, namespace: str, wanted: Collection[Permission]) -> tuple[str, ...]:
    answers = await asyncio.gather(*(_is_allowed(transport, namespace, it) for it in wanted))
    return tuple(it.missing(namespace) for it, allowed in zip(wanted, answers, strict=True) if not allowed)


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
