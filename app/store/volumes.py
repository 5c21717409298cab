"""Volumes that an operator has named for an organization."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tortoise.exceptions import IntegrityError

from app.domain.errors import ConflictError
from app.domain.volumes import Volume
from app.store import mapping
from app.store.models import VolumeRow


async def add_volume(volume: Volume, at: datetime) -> None:
    """Raises ConflictError when the organization has one of that name."""
    try:
        await VolumeRow.create(
            organization_id=volume.organization_id,
            name=volume.name,
            kind=volume.kind.value,
            source=volume.source,
            read_only=volume.read_only,
            created_at=at,
        )
    except IntegrityError:
        raise ConflictError(f"there is a volume {volume.name!r} already") from None


async def volumes_of(organization_id: UUID) -> list[Volume]:
    """By name."""
    return await volumes_in([organization_id])


async def volumes_in(organization_ids: Sequence[UUID]) -> list[Volume]:
    """Of several organizations, by name."""
    rows = VolumeRow.filter(organization_id__in=list(organization_ids)).order_by("name")
    return [mapping.volume(row) for row in await rows]


async def remove_volume(organization_id: UUID, name: str) -> bool:
    """Whether there was one."""
    return await VolumeRow.filter(organization_id=organization_id, name=name).delete() == 1
