"""Volume as the API shows it. Where it lies is not shown: that is the operator's knowledge."""

from __future__ import annotations

from typing import Self

import strawberry

from app.domain import volumes as domain
from app.graphql.enums import VolumeKind


@strawberry.type(description="Storage that an operator has named for the organization.")
class Volume:
    name: str = strawberry.field(description="What a mount calls it.")
    kind: VolumeKind = strawberry.field(description="What it is.")
    read_only: bool = strawberry.field(description="Whether every mount of it is read-only.")

    @classmethod
    def from_domain(cls, noun: domain.Volume) -> Self:
        return cls(name=noun.name, kind=noun.kind, read_only=noun.read_only)
