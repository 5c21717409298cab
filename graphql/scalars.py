"""Scalars beyond GraphQL's own."""

from __future__ import annotations

from typing import NewType

import strawberry
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

Long = NewType("Long", int)

_LONG: ScalarDefinition = strawberry.scalar(
    name="Long",
    description="A whole number of up to 64 bits: bytes, seconds of GPU time.",
    serialize=int,
    parse_value=int,
)

CONFIG = StrawberryConfig(scalar_map={Long: _LONG}, disable_field_suggestions=True)
