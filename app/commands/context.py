"""What every command needs, and the two things every command does first: permission, and noting a refusal."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.bus import Bus
from app.clock import Clock
from app.domain.dns_names import DNS_LABEL
from app.domain.errors import DomainError, InvalidInputError
from app.domain.people import (
    Organization,
    Permission,
    Principal,
    require,
    require_ready,
    unknown_organization,
)
from app.domain.submission import Defaults
from app.store import audit, people, servers

SLUG = re.compile(DNS_LABEL)
MAX_NAME = 200


def check_slug(field: str, slug: str) -> None:
    """Raises InvalidInputError, about `field`."""
    if not SLUG.fullmatch(slug):
        words = "1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
        raise InvalidInputError.of(field, f"{slug[:80]!r} is not a slug: {words}")


def check_name(field: str, name: str) -> str:
    """The name that people read, without white space around it. Raises InvalidInputError, about `field`."""
    text = name.strip()
    if not 1 <= len(text) <= MAX_NAME or not text.isprintable():
        raise InvalidInputError.of(field, f"must have 1 to {MAX_NAME} printable characters; it has {len(text)}")
    return text


@dataclass(frozen=True)
class CommandContext:
    clock: Clock
    bus: Bus
    defaults: Defaults


@dataclass(frozen=True)
class Access:
    """An organization that the caller may act in, and its largest server on record as (name, GPUs)."""

    organization: Organization
    largest_server: tuple[str, int]


async def open_organization(principal: Principal, slug: str, permission: Permission) -> Organization:
    """The organization, if the principal may. Raises NotFoundError or ForbiddenError."""
    organization = await people.find_organization(slug) if SLUG.fullmatch(slug) else None
    if organization is None:
        raise unknown_organization(slug)
    require(principal, organization, permission)
    return organization


async def open_gpu_workloads(principal: Principal, slug: str, permission: Permission) -> Access:
    """The organization, if the principal may and GPU workloads can be used there."""
    return await open_ready(principal, await open_organization(principal, slug, permission), permission)


async def open_ready(principal: Principal, organization: Organization, permission: Permission) -> Access:
    """The one place of the preconditions of GPU workloads, for API, panel and command alike."""
    require(principal, organization, permission)
    largest = await servers.largest_server(organization.slug)
    require_ready(organization, has_gpu_server=largest is not None)
    return Access(organization, largest or ("", 0))


async def note_done(
    context: CommandContext, principal: Principal, action: str, slug: str, target: str, detail: str = ""
) -> None:
    """A row in the audit trail."""
    await audit.record(
        at=context.clock.now(),
        actor=principal.name,
        action=action,
        organization=slug,
        outcome="done",
        target=target,
        detail=detail,
    )


@asynccontextmanager
async def noting_refusals(
    context: CommandContext, principal: Principal, action: str, slug: str, target: str = ""
) -> AsyncIterator[None]:
    """A refusal leaves one row in the audit trail and nothing else. What is no slug can't be anybody's."""
    try:
        yield
    except DomainError as error:
        await audit.record(
            at=context.clock.now(),
            actor=principal.name,
            action=action,
            organization=slug if SLUG.fullmatch(slug) else ascii(slug),
            outcome=error.code,
            target=target,
            detail=error.message,
        )
        raise
