"""Who may do what: role, permission and token scope crossed; foreign organizations; preconditions."""

from __future__ import annotations

from itertools import product
from uuid import UUID

import pytest

from app.domain.errors import ForbiddenError, NotFoundError, PreconditionFailedError
from app.domain.people import (
    ALL_SCOPES,
    Organization,
    Permission,
    Principal,
    Role,
    Scope,
    require,
    require_ready,
    unknown_organization,
)
from tests.domain.builders import ORGANIZATION_ID

OURS = Organization(ORGANIZATION_ID, "acme", "Acme", gpu_workloads_enabled=True)
THEIRS = Organization(UUID("00000000-0000-4000-8000-00000000000b"), "globex", "Globex", gpu_workloads_enabled=True)

VIEW, READ, WRITE = Permission.VIEW_ORGANIZATION, Permission.READ_WORKLOADS, Permission.WRITE_WORKLOADS
RAISE = Permission.RAISE_PRIORITY
PROJECTS, PEOPLE = Permission.MANAGE_PROJECTS, Permission.MANAGE_ORGANIZATION
SERVERS = Permission.MANAGE_SERVERS
JOBS = {VIEW, READ, WRITE}
OF_ROLE = {
    Role.OWNER: {*JOBS, RAISE, PROJECTS, SERVERS, PEOPLE},
    Role.ADMIN: {*JOBS, PROJECTS, SERVERS},
    Role.MEMBER: {VIEW},
    Role.VIEWER: {VIEW},
}
OF_SCOPE = {
    Scope.WORKLOADS_READ: {VIEW, READ},
    Scope.WORKLOADS_WRITE: {*JOBS, RAISE},
    Scope.ORGANIZATION_ADMIN: {VIEW, PROJECTS, SERVERS, PEOPLE},
    Scope.AGENT_REPORT: set(),
}
SCOPES = [frozenset[Scope](), *(frozenset({scope}) for scope in Scope), ALL_SCOPES]


def caller(role: Role, scopes: frozenset[Scope] = ALL_SCOPES) -> Principal:
    return Principal("ada", {OURS.id: role}, scopes)


def may(principal: Principal, permission: Permission) -> bool:
    try:
        require(principal, OURS, permission)
    except ForbiddenError:
        return False
    return True


@pytest.mark.parametrize(("role", "permission", "scopes"), list(product(Role, Permission, SCOPES)))
def test_a_token_does_what_the_role_allows_cut_down_to_its_scopes(
    role: Role, permission: Permission, scopes: frozenset[Scope]
) -> None:
    by_scope = any(permission in OF_SCOPE[scope] for scope in scopes)
    assert may(caller(role, scopes), permission) is (permission in OF_ROLE[role] and by_scope)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_there_is_no_read_only_view_for_lower_roles_and_the_refusal_says_why(role: Role) -> None:
    with pytest.raises(ForbiddenError, match=f"owners and admins of acme; your role is {role}"):
        require(caller(role), OURS, Permission.READ_WORKLOADS)


@pytest.mark.parametrize(
    ("scopes", "has"),
    [
        pytest.param(frozenset({Scope.WORKLOADS_READ}), "workloads:read", id="one scope"),
        pytest.param(frozenset[Scope](), "none", id="no scope"),
    ],
)
def test_a_missing_scope_is_named_beside_what_the_token_has(scopes: frozenset[Scope], has: str) -> None:
    with pytest.raises(ForbiddenError, match=f"lacks the scope workloads:write; it has {has}"):
        require(caller(Role.OWNER, scopes), OURS, Permission.WRITE_WORKLOADS)


@pytest.mark.parametrize("permission", list(Permission))
def test_a_foreign_organization_looks_as_if_it_did_not_exist(permission: Permission) -> None:
    with pytest.raises(NotFoundError) as foreign:
        require(caller(Role.OWNER), THEIRS, permission)
    assert str(foreign.value) == str(unknown_organization("globex"))


def test_a_role_elsewhere_counts_for_nothing_here() -> None:
    with pytest.raises(NotFoundError):
        require(Principal("ada", {THEIRS.id: Role.OWNER}), OURS, Permission.VIEW_ORGANIZATION)


def test_a_long_slug_is_cut_in_the_message() -> None:
    assert len(unknown_organization("x" * 10_000).message) < 200


def test_everything_in_place_is_ready() -> None:
    require_ready(OURS, has_gpu_server=True)


@pytest.mark.parametrize(
    ("enabled", "has_gpu_server", "precondition"),
    [
        pytest.param(False, True, "feature_disabled", id="the feature is off"),
        pytest.param(True, False, "no_gpu_server", id="no server with a GPU on record"),
        pytest.param(False, False, "feature_disabled", id="both: the feature comes first"),
    ],
)
def test_a_missing_precondition_is_a_code_and_a_sentence(
    enabled: bool, has_gpu_server: bool, precondition: str
) -> None:
    organization = Organization(ORGANIZATION_ID, "acme", "Acme", gpu_workloads_enabled=enabled)
    with pytest.raises(PreconditionFailedError, match="acme") as caught:
        require_ready(organization, has_gpu_server=has_gpu_server)
    assert (caught.value.precondition, caught.value.code) == (precondition, "PRECONDITION_FAILED")
