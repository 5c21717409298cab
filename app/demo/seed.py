"""The demo's people: made once per data folder, their secrets kept in a file beside the database."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from app.auth.secrets import hash_password, hash_token, new_token
from app.commands import administer
from app.demo.folder import read_json, write_private, write_private_text
from app.domain.people import Project, Role
from app.store import people

ORGANIZATION = "demo"
FEATURE_OFF = "paused"
NO_SERVERS = "empty"
TOKEN_FILE = "token"  # noqa: S105 — a file's name
_DOMAIN = "example.org"
_PROJECTS = (("vision", "Computer vision"), ("speech", "Speech"))

Credentials = dict[str, Any]


async def ensure_people(folder: Path, now: datetime) -> Credentials:
    """`{"organization", "token", "viewer_token", "users": [{"email", "password", "role"}]}`, the same at every start.

    The file is written first: a crash in between leaves rows missing, never secrets that nobody knows.
    """
    path = folder / "credentials.json"
    credentials: Credentials | None = read_json(path)
    if credentials is None:
        credentials = _invent()
        write_private(path, credentials)
    write_private_text(folder / TOKEN_FILE, credentials["token"])
    if await people.find_organization(NO_SERVERS) is None:
        await _create(credentials, now)
    return credentials


def _invent() -> Credentials:
    users = [{"email": f"{r}@{_DOMAIN}", "password": secrets.token_urlsafe(12), "role": r.value} for r in Role]
    return {"organization": ORGANIZATION, "token": new_token(), "viewer_token": new_token(), "users": users}


async def _create(credentials: Credentials, now: datetime) -> None:
    """Everything that is missing; the organization that is looked for comes last."""
    await _organization(ORGANIZATION, "Demo", now)
    for slug, name in _PROJECTS:
        if slug not in {p.slug for p in await _projects()}:
            await administer.create_project(ORGANIZATION, slug, name, now)
    for user in credentials["users"]:
        password_hash = await hash_password(user["password"])
        await administer.create_user(user["email"], password_hash, ORGANIZATION, Role(user["role"]), now)
    for role, key in ((Role.OWNER, "token"), (Role.VIEWER, "viewer_token")):
        secret_hash = hash_token(credentials[key])
        if await people.principal_of_token(secret_hash, now) is None:
            await administer.create_person_token(f"{role}@{_DOMAIN}", secret_hash, f"demo {role}", (), now)
    await _organization(FEATURE_OFF, "GPU workloads switched off", now, enabled=False)
    await _organization(NO_SERVERS, "Without servers", now)


async def _organization(slug: str, name: str, now: datetime, *, enabled: bool = True) -> None:
    """The demo's owner is an owner everywhere, so that each refusal can be seen."""
    if await people.find_organization(slug) is None:
        await administer.create_organization(slug, name, now, enabled=enabled)
    if slug != ORGANIZATION:
        await administer.create_user(f"{Role.OWNER}@{_DOMAIN}", "", slug, Role.OWNER, now)


async def _projects() -> list[Project]:
    organization = await people.find_organization(ORGANIZATION)
    return await people.projects_of(organization.id) if organization else []
