"""Which installation this database is: the mark on everything that it makes in a cluster."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from tortoise.exceptions import IntegrityError

from app.store.models import InstallationRow

_ONLY = 1


async def installation_id(now: datetime) -> str:
    """Made at the first call; the same ever after, also in a restored database."""
    row = await InstallationRow.get_or_none(number=_ONLY)
    if row is None:
        try:
            row = await InstallationRow.create(number=_ONLY, uuid=uuid4(), created_at=now)
        except IntegrityError:  # another process was first
            row = await InstallationRow.get(number=_ONLY)
    return str(row.uuid)
