"""Scalars beyond GraphQL's own."""

from __future__ import annotations

from dataclasses import replace
from typing import NewType
from uuid import UUID

import strawberry
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.types.base_scalars import UUIDDefinition
from strawberry.types.scalar import ScalarDefinition

Long = NewType("Long", int)

_LONG: ScalarDefinition = strawberry.scalar(
    name="Long",
    description="A whole number of up to 64 bits: bytes, seconds of GPU time.",
    serialize=int,
    parse_value=int,
)
_UUID = replace(UUIDDefinition, description="A UUID, as 32 hexadecimal digits with or without dashes.")

CONFIG = StrawberryConfig(scalar_map={Long: _LONG, UUID: _UUID}, disable_field_suggestions=True)
