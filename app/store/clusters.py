"""What is remembered of whole clusters: when each last answered, and which rows belong to which."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from app.store.connection import transaction
from app.store.models import AttemptRow, ClusterRow, ClusterServerRow, WorkloadRow


async def last_contacts() -> dict[str, datetime]:
    """By the cluster's name; one that never answered is missing."""
    return {row.name: row.last_contact_at for row in await ClusterRow.all()}


async def record_contact(name: str, at: datetime) -> None:
    await ClusterRow.update_or_create(defaults={"last_contact_at": at}, name=name)


async def name_rows(cluster: str) -> None:
    """Give what was written before clusters had names to `cluster`. Once that is done, this does nothing."""
    if not await ClusterServerRow.exists(cluster=""):
        return
    async with transaction() as connection:
        # The servers last: while one of them has no name, this was not done to its end.
        for rows in (AttemptRow.filter(cluster=""), WorkloadRow.filter(cluster="").exclude(server="")):
            await rows.using_db(connection).update(cluster=cluster)
        await ClusterServerRow.filter(cluster="").using_db(connection).update(cluster=cluster)


async def retire_servers(clusters: Collection[str], now: datetime) -> None:
    """Mark servers of clusters other than these as gone: the settings no longer name theirs."""
    await ClusterServerRow.filter(gone_at=None).exclude(cluster__in=list(clusters)).update(gone_at=now)
