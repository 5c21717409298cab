"""What an operator does at the machine: organizations, people, projects, tokens, whose a server is. For `gpuyard admin`
and the demo.

Secrets come in hashed: making and hashing them is `app.auth`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app.commands.context import check_name, check_slug
from app.commands.manage import quota_warning
from app.domain.errors import ConflictError, InvalidInputError, NotFoundError
from app.domain.people import ALL_SCOPES, Organization, Project, Role, Scope
from app.domain.quota import check_quota
from app.domain.volumes import Volume, VolumeKind, check_source
from app.store import audit, managing, people, servers, volumes
from app.store.servers import ServerRecord

_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,189}")
OPERATOR = "operator"


async def create_organization(slug: str, name: str, at: datetime, *, enabled: bool = True) -> Organization:
    """The first organization of an installation owns the servers that carry no pool label."""
    check_slug("slug", slug)
    is_first = not await people.has_default_organization()
    shown = check_name("name", name or slug)
    organization = await people.add_organization(slug, shown, enabled=enabled, is_default=is_first, at=at)
    await note(at, "create_organization", slug)
    return organization


async def set_gpu_workloads_enabled(slug: str, at: datetime, *, enabled: bool) -> None:
    if not await people.set_gpu_workloads_enabled(slug, enabled=enabled):
        raise NotFoundError(f"there is no organization {slug!r}")
    await note(at, "enable_gpu_workloads" if enabled else "disable_gpu_workloads", slug)


async def create_user(email: str, password_hash: str, slug: str, role: Role, at: datetime) -> UUID:
    """A person with a role in one organization. A person that exists keeps the password and gets the role as well."""
    address = email.strip().lower()
    if not _EMAIL.fullmatch(address):
        raise InvalidInputError.of("email", f"{email[:80]!r} is not an address such as ada@example.org")
    organization = await _organization(slug)
    user = await people.find_user(address) or await people.add_user(address, password_hash, at)
    await people.set_membership(organization.id, user.id, role, at)
    await note(at, "create_user", slug, f"{address} as {role}")
    return user.id


async def create_project(slug: str, project: str, name: str, at: datetime) -> Project:
    check_slug("project", project)
    organization = await _organization(slug)
    made = await people.add_project(organization.id, project, check_name("name", name or project), at)
    await note(at, "create_project", slug, project)
    return made


async def set_quota(
    slug: str, project: str, wanted: tuple[int | None, int | None], at: datetime
) -> tuple[Project, str]:
    """`wanted`: the GPUs that are guaranteed, and the most. Returns a warning where not all guarantees can be kept."""
    organization, quota = await _organization(slug), check_quota(*wanted)
    found = next((it for it in await people.projects_of(organization.id) if it.slug == project), None)
    if found is None:
        raise NotFoundError(f"{slug} has no project {project!r}")
    changed = await managing.set_quota(found.id, quota, found.version)
    if changed is None:
        raise ConflictError(f"somebody changed project {project} at the same moment; try again")
    await note(at, "set_project_quota", slug, f"{project}: {quota.words}")
    return changed, await quota_warning(organization.id)


async def create_volume(
    slug: str, name: str, kind: VolumeKind, source: str, at: datetime, *, read_only: bool = False
) -> None:
    """Storage that the organization's workloads may mount by name. Whether it is there, the cluster finds out."""
    check_slug("name", name)
    check_source(kind, source)
    organization = await _organization(slug)
    await volumes.add_volume(Volume(organization.id, name, kind, source, read_only), at)
    await note(at, "create_volume", slug, f"{name}: {kind} {source}{' read-only' if read_only else ''}")


async def list_volumes(slug: str) -> list[Volume]:
    return await volumes.volumes_of((await _organization(slug)).id)


async def remove_volume(slug: str, name: str, at: datetime) -> None:
    """What waits for a server with it will fail; what runs keeps it."""
    organization = await _organization(slug)
    if not await volumes.remove_volume(organization.id, name):
        raise NotFoundError(f"{slug} has no volume {name!r}")
    await note(at, "remove_volume", slug, name)


async def create_person_token(
    email: str, secret_hash: str, name: str, scopes: Iterable[Scope], at: datetime, expires_at: datetime | None = None
) -> UUID:
    """A token that can do what the person may, cut down to `scopes` (all of them when none are named)."""
    user = await people.find_user(email.strip().lower())
    if user is None:
        raise NotFoundError(f"there is no user {email!r}")
    token = await people.add_token(
        secret_hash,
        check_name("name", name),
        frozenset(scopes) or ALL_SCOPES,
        at,
        user_id=user.id,
        expires_at=expires_at,
    )
    await note(at, "create_token", "", f"{name} of {user.email}")
    return token


async def create_service_token(
    slug: str,
    role: Role,
    secret_hash: str,
    name: str,
    scopes: Iterable[Scope],
    at: datetime,
    expires_at: datetime | None = None,
) -> UUID:
    """A token with a role of its own, for a program that is nobody's."""
    organization = await _organization(slug)
    token = await people.add_token(
        secret_hash,
        check_name("name", name),
        frozenset(scopes) or ALL_SCOPES,
        at,
        organization_id=organization.id,
        role=role,
        expires_at=expires_at,
    )
    await note(at, "create_token", slug, f"{name} as {role}")
    return token


async def list_servers() -> list[ServerRecord]:
    return await servers.all_servers()


async def assign_server(name: str, slug: str, at: datetime) -> ServerRecord:
    """Give a server, `name` or `cluster/name`, to an organization, whatever its node's label says.

    An empty slug lets the label decide again. The former organization loses sight of it; what that runs there goes on.

    Raises NotFoundError, InvalidInputError for a name that several clusters have, ConflictError.
    """
    if slug:
        await _organization(slug)
    record = _named(await servers.all_servers(), name)
    after = replace(record.flags, assigned_to=slug)
    if after != record.flags and not await servers.write_flags(record.id, record.flags, after):
        raise ConflictError(f"somebody changed server {name} at the same moment; try again")
    reread = await servers.find_server(record.id) or record
    detail = f"{record.server_id} from {record.organization_slug or 'nobody'}"
    await note(at, "assign_server" if slug else "clear_assignment", reread.organization_slug, detail)
    return reread


def _named(records: Iterable[ServerRecord], name: str) -> ServerRecord:
    found = [it for it in records if name in (it.name, str(it.server_id))]
    if not found:
        raise NotFoundError(f"there is no server {name!r} on record; 'gpuyard admin list-servers' lists them")
    if len(found) > 1:
        names = " or ".join(str(it.server_id) for it in found)
        raise InvalidInputError.of("server", f"{name!r} is the name of several; say {names}")
    return found[0]


async def _organization(slug: str) -> Organization:
    organization = await people.find_organization(slug)
    if organization is None:
        raise NotFoundError(f"there is no organization {slug!r}")
    return organization


async def note(at: datetime, action: str, slug: str = "", detail: str = "", *, target: str = "") -> None:
    """Into the audit: what the operator did."""
    await audit.record(
        at=at, actor=OPERATOR, action=action, organization=slug, outcome="done", target=target, detail=detail
    )
