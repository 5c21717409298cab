"""Volumes that an operator names: stored, listed, removed, and each act in the audit trail; on both databases."""

from __future__ import annotations

import pytest

from app.commands import administer
from app.domain.errors import ConflictError, InvalidInputError, NotFoundError
from app.domain.volumes import Volume, VolumeKind
from app.store import volumes
from app.store.database import Database
from app.store.models import AuditRow
from tests.clock import START
from tests.store.builders import an_organization


async def noted() -> list[tuple[str, str, str, str]]:
    rows = await AuditRow.all().order_by("id")
    return [(row.action, row.organization_slug, row.outcome, row.detail) for row in rows]


async def test_a_volume_is_there_for_its_organization_from_its_making_to_its_removal(database: Database):
    acme, other = await an_organization("acme"), await an_organization("other", is_default=False)
    await administer.create_volume("acme", "models", VolumeKind.NFS, "files:/models", START, read_only=True)
    await administer.create_volume("acme", "data", VolumeKind.PVC, "claim", START)
    await administer.create_volume("other", "data", VolumeKind.HOST_PATH, "/srv/data", START)
    assert await administer.list_volumes("acme") == [
        Volume(acme.id, "data", VolumeKind.PVC, "claim"),
        Volume(acme.id, "models", VolumeKind.NFS, "files:/models", read_only=True),
    ]
    await administer.remove_volume("acme", "data", START)
    assert [volume.name for volume in await volumes.volumes_of(acme.id)] == ["models"]
    assert [volume.name for volume in await volumes.volumes_of(other.id)] == ["data"]
    assert await noted() == [
        ("create_volume", "acme", "done", "models: nfs files:/models read-only"),
        ("create_volume", "acme", "done", "data: pvc claim"),
        ("create_volume", "other", "done", "data: host_path /srv/data"),
        ("remove_volume", "acme", "done", "data"),
    ]


async def test_what_cannot_be_is_refused_and_not_noted(database: Database):
    await an_organization("acme")
    await administer.create_volume("acme", "data", VolumeKind.PVC, "claim", START)
    before = await noted()
    with pytest.raises(ConflictError, match="volume 'data' already"):
        await administer.create_volume("acme", "data", VolumeKind.PVC, "other-claim", START)
    with pytest.raises(InvalidInputError, match="'Data' is not a slug"):
        await administer.create_volume("acme", "Data", VolumeKind.PVC, "claim", START)
    with pytest.raises(InvalidInputError, match="pvc: 'Claim' is not the name"):
        await administer.create_volume("acme", "more", VolumeKind.PVC, "Claim", START)
    with pytest.raises(NotFoundError, match="no organization 'nobody'"):
        await administer.create_volume("nobody", "data", VolumeKind.PVC, "claim", START)
    with pytest.raises(NotFoundError, match="acme has no volume 'gone'"):
        await administer.remove_volume("acme", "gone", START)
    assert await noted() == before


async def test_a_source_as_long_as_allowed_is_kept(database: Database):
    await an_organization("acme")
    source = f"{'s' * 253}:/{'p' * 1023}"
    await administer.create_volume("acme", "long", VolumeKind.NFS, source, START)
    assert (await administer.list_volumes("acme"))[0].source == source
