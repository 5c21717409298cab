"""Project as the API shows it."""

from __future__ import annotations

from typing import Self
from uuid import UUID

import strawberry

from app.domain import people


@strawberry.type(description="What workloads can be attributed to.")
class Project:
    id: UUID = strawberry.field(description="What `projectId` of a submission takes.")
    slug: str = strawberry.field(description="Its short name, unique within the organization.")
    name: str = strawberry.field(description="For people.")
    version: int = strawberry.field(description="Grows with every change; what `renameProject` wants to be told.")

    @classmethod
    def from_domain(cls, noun: people.Project) -> Self:
        return cls(id=noun.id, slug=noun.slug, name=noun.name, version=noun.version)
