"""Namespaces of organizations: made at first use where that is allowed, else waited for.

Only a namespace that is marked as the organization's own is used: `gpuyard-system` may be the program's, and is not to
become the place of the Jobs of an organization called `system`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.cluster import labels
from app.cluster.permissions import is_allowed_to_create_namespaces
from app.cluster.port import ConflictError, NotSetUpError, RefusedError
from app.cluster.transport import Request, Transport

_NAMESPACES = "/api/v1/namespaces"
_POD_SECURITY = "pod-security.kubernetes.io"
_NOT_FOUND, _FORBIDDEN = 404, 403


@dataclass
class OwnNamespaces:
    """`pod_security` is the level that a namespace made here enforces."""

    transport: Transport
    pod_security: str
    _ready: set[str] = field(default_factory=set)

    async def ensure(self, name: str, slug: str) -> None:
        """It is there and is the organization's. NotSetUpError says what an operator has to do, with the command."""
        if name in self._ready:
            return
        if not await self._is_there(name, slug):
            await self._create(name, slug)
        self._ready.add(name)

    def forget(self, name: str) -> None:
        """It was not found: look again before the next use."""
        self._ready.discard(name)

    async def lacking(self, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """A sentence for each namespace, by the slug of its organization, that can't be used and won't be made."""
        problems = []
        may_create = await is_allowed_to_create_namespaces(self.transport)
        for name, slug in wanted.items():
            try:
                if not await self._is_there(name, slug) and not may_create:
                    problems.append(_to_be_created(name, slug))
            except NotSetUpError as error:
                problems.append(error.message)
        return tuple(problems)

    async def _is_there(self, name: str, slug: str) -> bool:
        try:
            found = await self.transport.call(Request("GET", f"{_NAMESPACES}/{name}"))
        except RefusedError as error:
            if error.status == _NOT_FOUND:
                return False
            if error.status == _FORBIDDEN:
                raise NotSetUpError(f"our account may not get namespaces, so {name} of {slug} can't be used") from error
            raise
        marks = (found.get("metadata") or {}).get("labels") or {}
        if marks.get(labels.ORGANIZATION) != slug:
            words = f"the namespace {name} exists and is not marked as that of {slug}; if it is meant for its Jobs"
            raise NotSetUpError(f"{words}: {_mark(name, slug)}")
        return True

    async def _create(self, name: str, slug: str) -> None:
        marks = {
            labels.ORGANIZATION: slug,
            **{f"{_POD_SECURITY}/{mode}": self.pod_security for mode in ("enforce", "warn")},
        }
        try:
            await create_namespace(self.transport, name, marks)
        except ConflictError:  # somebody was faster: whose it is by now, the next look says
            if not await self._is_there(name, slug):
                raise NotSetUpError(f"the namespace {name} of {slug} is there and is not") from None
        except RefusedError as error:
            if error.status == _FORBIDDEN:
                raise NotSetUpError(_to_be_created(name, slug)) from error
            raise NotSetUpError(f"the namespace {name} of {slug} could not be made: {error.message}") from error


async def create_namespace(transport: Transport, name: str, marks: Mapping[str, str]) -> None:
    """With these labels, and that it is ours. Raises ConflictError where it is there already."""
    metadata = {"name": name, "labels": {labels.MANAGED_BY: labels.MANAGER, **marks}}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    await transport.call(Request("POST", _NAMESPACES, body=body))


def _to_be_created(name: str, slug: str) -> str:
    words = f"the namespace {name} of {slug} doesn't exist and our account may not create namespaces"
    return f"{words}: kubectl create namespace {name} && {_mark(name, slug)}"


def _mark(name: str, slug: str) -> str:
    return f"kubectl label namespace {name} {labels.ORGANIZATION}={slug}"
