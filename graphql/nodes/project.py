"""Project as the API shows it."""

from __future__ import annotations

from typing import Self
from uuid import UUID

import strawberry

from app.domain import people


@strawberry.type(description="What workloads can be attributed to.")
class Project:
    id: UUID
    slug: str
    name: str

    @classmethod
    def from_domain(cls, noun: people.Project) -> Self:
        return cls(id=noun.id, slug=noun.slug, name=noun.name)
