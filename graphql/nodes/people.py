"""Members and tokens of an organization as its owners see them."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

import strawberry

from app.domain import people as domain
from app.graphql.enums import Role, Scope


@strawberry.type(description="A person of an organization.")
class Member:
    id: UUID = strawberry.field(description="The person's id.")
    email: str = strawberry.field(description="The person's address.")
    role: Role = strawberry.field(description="What the person is here.")
    since: datetime = strawberry.field(description="Since when the person belongs here.")

    @classmethod
    def from_domain(cls, noun: domain.Member) -> Self:
        return cls(id=noun.user_id, email=noun.email, role=noun.role, since=noun.since)


@strawberry.type(description="A credential for programs. Its secret is told once, when it is made.")
class Token:
    id: UUID = strawberry.field(description="Never changes.")
    name: str = strawberry.field(description="What it is for.")
    role: Role | None = strawberry.field(description="A service token's own; null for a person's, who has a role.")
    scopes: list[Scope] = strawberry.field(description="What it may be used for.")
    created_at: datetime = strawberry.field(description="When it was made.")
    expires_at: datetime | None = strawberry.field(description="When it ends by itself; null: never.")
    revoked_at: datetime | None = strawberry.field(description="When it was revoked; null: it was not.")

    @classmethod
    def from_domain(cls, noun: domain.Token) -> Self:
        return cls(
            id=noun.id,
            name=noun.name,
            role=noun.role,
            scopes=sorted(noun.scopes),
            created_at=noun.created_at,
            expires_at=noun.expires_at,
            revoked_at=noun.revoked_at,
        )
