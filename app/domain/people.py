"""Who may do what: roles, token scopes, principals. A person's token can do what the present role allows, cut down to
the token's scopes; a service token has a role of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.domain.agents import AgentBinding
from app.domain.errors import ForbiddenError, NotFoundError, PreconditionFailedError
from app.domain.priority import DEFAULT_PRIORITY, Priority
from app.domain.quota import NO_QUOTA, Quota


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"

    @property
    def meaning(self) -> str:
        return _ROLE_MEANINGS[self]


_ROLE_MEANINGS = {
    Role.OWNER: "uses GPU workloads and manages the organization",
    Role.ADMIN: "uses GPU workloads and manages projects and servers",
    Role.MEMBER: "belongs to the organization; GPU workloads are not for members",
    Role.VIEWER: "sees the organization; GPU workloads are not for viewers",
}


class Scope(StrEnum):
    """What a token may be used for. `WORKLOADS_READ` is part of `WORKLOADS_WRITE`.

    `AGENT_REPORT` is of node agents alone: their tokens have nothing else, and nobody else's have it.
    """

    WORKLOADS_READ = "workloads:read"
    WORKLOADS_WRITE = "workloads:write"
    ORGANIZATION_ADMIN = "organization:admin"
    AGENT_REPORT = "agent:report"

    @property
    def meaning(self) -> str:
        return _SCOPE_MEANINGS[self]


_SCOPE_MEANINGS = {
    Scope.WORKLOADS_READ: "read workloads, servers and events",
    Scope.WORKLOADS_WRITE: "submit, cancel, suspend, retry and delete workloads, and read them",
    Scope.ORGANIZATION_ADMIN: "manage projects, servers, members and tokens, as far as the role may",
    Scope.AGENT_REPORT: "report for one node; of tokens that an operator makes for node agents, and of no others",
}
ALL_SCOPES = frozenset(Scope) - {Scope.AGENT_REPORT}  # of people and services


class Permission(StrEnum):
    VIEW_ORGANIZATION = "view_organization"
    READ_WORKLOADS = "read_workloads"
    WRITE_WORKLOADS = "write_workloads"
    RAISE_PRIORITY = "raise_priority"
    MANAGE_PROJECTS = "manage_projects"
    MANAGE_SERVERS = "manage_servers"
    MANAGE_ORGANIZATION = "manage_organization"


_MANAGERS = frozenset({Role.OWNER, Role.ADMIN})
_ROLES_OF: dict[Permission, frozenset[Role]] = {
    Permission.VIEW_ORGANIZATION: frozenset(Role),
    Permission.READ_WORKLOADS: _MANAGERS,
    Permission.WRITE_WORKLOADS: _MANAGERS,
    Permission.RAISE_PRIORITY: frozenset({Role.OWNER}),
    Permission.MANAGE_PROJECTS: _MANAGERS,
    Permission.MANAGE_SERVERS: _MANAGERS,
    Permission.MANAGE_ORGANIZATION: frozenset({Role.OWNER}),
}
_SCOPES_OF: dict[Permission, frozenset[Scope]] = {
    Permission.VIEW_ORGANIZATION: ALL_SCOPES,
    Permission.READ_WORKLOADS: frozenset({Scope.WORKLOADS_READ, Scope.WORKLOADS_WRITE}),
    Permission.WRITE_WORKLOADS: frozenset({Scope.WORKLOADS_WRITE}),
    Permission.RAISE_PRIORITY: frozenset({Scope.WORKLOADS_WRITE}),
    Permission.MANAGE_PROJECTS: frozenset({Scope.ORGANIZATION_ADMIN}),
    Permission.MANAGE_SERVERS: frozenset({Scope.ORGANIZATION_ADMIN}),
    Permission.MANAGE_ORGANIZATION: frozenset({Scope.ORGANIZATION_ADMIN}),
}
_WHOSE = {
    Permission.VIEW_ORGANIZATION: "this is for the people",
    Permission.READ_WORKLOADS: "GPU workloads are for owners and admins",
    Permission.WRITE_WORKLOADS: "GPU workloads are for owners and admins",
    Permission.RAISE_PRIORITY: f"priorities above {DEFAULT_PRIORITY.words} are given by owners",
    Permission.MANAGE_PROJECTS: "projects are managed by owners and admins",
    Permission.MANAGE_SERVERS: "servers are managed by owners and admins",
    Permission.MANAGE_ORGANIZATION: "members and service tokens are managed by owners",
}


@dataclass(frozen=True)
class Principal:
    """A caller that has proved who it is. `roles` maps organization ids to the present role there.

    `expires_at` is its token's; None: it does not expire. `agent` is what a node agent may report for, which
    is all that it may do; None for everybody else.
    """

    name: str
    roles: Mapping[UUID, Role] = field(default_factory=dict)
    scopes: frozenset[Scope] = ALL_SCOPES
    user_id: UUID | None = None
    token_id: UUID | None = None
    email: str = ""
    expires_at: datetime | None = None
    agent: AgentBinding | None = None


@dataclass(frozen=True)
class Organization:
    """A tenant. `is_default` owns the servers that carry no pool label."""

    id: UUID
    slug: str
    name: str
    gpu_workloads_enabled: bool
    is_default: bool = False


@dataclass(frozen=True)
class Project:
    id: UUID
    organization_id: UUID
    slug: str
    name: str
    version: int = 1
    quota: Quota = NO_QUOTA


@dataclass(frozen=True)
class Member:
    """A person of an organization, and what the person is there."""

    user_id: UUID
    email: str
    role: Role
    since: datetime


@dataclass(frozen=True)
class Token:
    """A credential, without its secret. `role` is a service token's own; a person's token has none."""

    id: UUID
    name: str
    role: Role | None
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


def require(principal: Principal, organization: Organization, permission: Permission) -> None:
    """Raise unless the principal may. An organization it does not belong to looks as if it did not exist."""
    role = principal.roles.get(organization.id)
    if role is None:
        raise unknown_organization(organization.slug)
    if role not in _ROLES_OF[permission]:
        msg = f"{_WHOSE[permission]} of {organization.slug}; your role is {role}"
        raise ForbiddenError(msg)
    if not principal.scopes & _SCOPES_OF[permission]:
        wanted = " or ".join(sorted(_SCOPES_OF[permission]))
        msg = f"this token lacks the scope {wanted}; it has {', '.join(sorted(principal.scopes)) or 'none'}"
        raise ForbiddenError(msg)


def allows(principal: Principal, organization_id: UUID, permission: Permission) -> bool:
    """The same as an answer."""
    return principal.roles.get(organization_id) in _ROLES_OF[permission] and bool(
        principal.scopes & _SCOPES_OF[permission]
    )


def may(principal: Principal, organization: Organization, permission: Permission) -> bool:
    """For showing what can be done; whether it may be is for `require` to say."""
    try:
        require(principal, organization, permission)
    except (ForbiddenError, NotFoundError):
        return False
    return True


def highest_priority(principal: Principal, organization: Organization) -> Priority:
    """That the principal may give: one above the usual takes its turn from everybody else's workloads."""
    return max(Priority) if may(principal, organization, Permission.RAISE_PRIORITY) else DEFAULT_PRIORITY


def permission_to_give(priority: Priority) -> Permission:
    """What it takes beside what submitting takes."""
    return Permission.RAISE_PRIORITY if priority > DEFAULT_PRIORITY else Permission.WRITE_WORKLOADS


def unknown_organization(slug: str) -> NotFoundError:
    return NotFoundError(f"there is no organization {slug[:80]!r} that you belong to")


def unknown_workload(workload_id: UUID | str) -> NotFoundError:
    return NotFoundError(f"there is no workload {workload_id} that you may see")


def unknown_server(server_id: UUID) -> NotFoundError:
    return NotFoundError(f"there is no server {server_id} that you may see")


def unknown_gpu(gpu_id: UUID) -> NotFoundError:
    return NotFoundError(f"there is no GPU {gpu_id} that you may see")


def require_ready(organization: Organization, *, has_gpu_server: bool) -> None:
    """Raise unless GPU workloads can be used here at all. A server on record is enough: an outage hides nothing."""
    if not organization.gpu_workloads_enabled:
        raise PreconditionFailedError(
            "feature_disabled", f"GPU workloads are not enabled for {organization.slug}; an operator can enable them"
        )
    if not has_gpu_server:
        raise PreconditionFailedError(
            "no_gpu_server", f"the pool of {organization.slug} has no server with a GPU on record; add one first"
        )


def grantable(principal: Principal, scopes: Iterable[Scope]) -> frozenset[Scope]:
    """The scopes of a token that the principal makes: those named, else all of its own. Raises ForbiddenError."""
    wanted = frozenset(scopes) or principal.scopes
    if beyond := wanted - principal.scopes:
        raise ForbiddenError(f"this token lacks the scope {', '.join(sorted(beyond))} and can't give it to another one")
    return wanted


def grantable_expiry(principal: Principal, wanted: datetime | None) -> datetime | None:
    """When a token that the principal makes expires: None is when its own does. Raises ForbiddenError for later."""
    if wanted is None or principal.expires_at is None or wanted <= principal.expires_at:
        return wanted or principal.expires_at
    last = principal.expires_at.isoformat(timespec="seconds")
    raise ForbiddenError(f"this token expires at {last} and can't make one that lives longer")
