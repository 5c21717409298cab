"""Whose pods are on which servers, for what node agents tell of them. What a report says proves nothing: the attempt
must be placed on the very server that the report is of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from tortoise.backends.base.client import BaseDBAsyncClient

from app.store.models import AttemptRow
from app.store.samples import Run


class Place(NamedTuple):
    cluster: str
    server: str


Pods = dict[str, Run]  # by uid


async def pods_on(connection: BaseDBAsyncClient, places: Collection[Place]) -> dict[Place, Pods]:
    """Of attempts that aren't over, as far as the cluster has told their pods."""
    rows = AttemptRow.filter(cleaned_at=None, server__in={it.server for it in places}, ended_at=None)
    found: dict[Place, Pods] = {}
    for place, uid, run in await _read(connection, rows.exclude(pod_uid="")):
        found.setdefault(place, {})[uid] = run
    return found


async def pods_of(connection: BaseDBAsyncClient, place: Place, uids: Collection[str]) -> Pods:
    """Those of the pods that are or were there."""
    rows = AttemptRow.filter(pod_uid__in=list(uids), cluster=place.cluster, server=place.server)
    return {uid: run for _, uid, run in await _read(connection, rows)}


async def _read(connection: BaseDBAsyncClient, rows: Any) -> list[tuple[Place, str, Run]]:
    columns = ("cluster", "server", "pod_uid", "workload_id", "number")
    found = await rows.using_db(connection).values_list(*columns)
    return [(Place(it[0], it[1]), it[2], Run(it[3], it[4])) for it in found]
