"""Who has which GPU, and who had it: one row from the report that first told of it to the first that no longer did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from tortoise.backends.base.client import BaseDBAsyncClient

from agent.report import Holder
from app.domain.workload import read_job_name
from app.store import devices
from app.store.bulk import remove_some
from app.store.gpu_models import GpuHolderRow, GpuRow
from app.store.mapping import storable
from app.store.models import AttemptRow, ClusterServerRow
from app.store.samples import Device


class _Key(NamedTuple):
    """What makes two reports speak of the same holding."""

    gpu_id: UUID
    instance: str
    namespace: str
    pod: str
    pod_uid: str
    container: str


class _Owner(NamedTuple):
    workload_id: UUID
    attempt: int


async def keep(connection: BaseDBAsyncClient, server_id: UUID, holders: Sequence[Holder], at: datetime) -> None:
    """From now on these have the server's devices, and nobody else."""
    uuids = {holder.device for holder in holders}
    known = await devices.locate(connection, server_id, uuids) if uuids else {}
    told = {_key(known[it.device], it): it for it in holders if it.device in known}
    gpus = await GpuRow.filter(server_id=server_id).using_db(connection).values_list("id", flat=True)
    rows = await GpuHolderRow.filter(gpu_id__in=list(gpus), until=None).using_db(connection)
    present = {_key_of(row): row for row in rows}
    over = [row.id for key, row in present.items() if key not in told]
    if over:
        await GpuHolderRow.filter(id__in=over).using_db(connection).update(until=at)
    fresh = {key: holder for key, holder in told.items() if key not in present}
    if fresh:
        owners = await _owners(connection, server_id, fresh.values())
        for key, holder in fresh.items():
            row = _row(key, holder, owners.get((holder.namespace, holder.pod, holder.pod_uid)), at)
            await row.save(using_db=connection, force_create=True)


def _key(device: Device, holder: Holder) -> _Key:
    texts = (holder.namespace[:253], holder.pod[:253], holder.pod_uid[:64], holder.container[:253])
    return _Key(*device, *map(storable, texts))


def _key_of(row: GpuHolderRow) -> _Key:
    gpu_id: UUID = row.gpu_id  # type: ignore[attr-defined]
    return _Key(gpu_id, row.instance, row.namespace, row.pod, row.pod_uid, row.container)


def _row(key: _Key, holder: Holder, owner: _Owner | None, at: datetime) -> GpuHolderRow:
    return GpuHolderRow(
        **key._asdict(),
        workload_id=owner.workload_id if owner else None,
        attempt=owner.attempt if owner else None,
        is_shared=holder.is_shared,
        since=at,
    )


async def _owners(
    connection: BaseDBAsyncClient, server_id: UUID, holders: Iterable[Holder]
) -> dict[tuple[str, str, str], _Owner]:
    """Whose the pods are. What a report says proves nothing: the attempt must be placed on this very server.

    A pod is known by its name, which is its Job's with more behind it; where the agent knows only its uid, by that.
    """
    pods = {(it.namespace, it.pod, it.pod_uid) for it in holders}
    named = {pod: owner for pod in pods if (owner := read_job_name(pod[1].rpartition("-")[0]))}
    uids = {pod[2] for pod in pods if not pod[1] and pod[2]}
    if not named and not uids:
        return {}
    server = ClusterServerRow.filter(id=server_id).using_db(connection)
    [(cluster, name)] = await server.values_list("cluster", "name")
    placed = AttemptRow.filter(cluster=cluster, server=name).using_db(connection)
    there = await _attempts(placed.filter(workload_id__in={it[0] for it in named.values()}))
    found = {pod: _Owner(*it) for pod, it in named.items() if _is_of(pod, there.get(_Owner(*it)))}
    live = await _attempts(placed.filter(cleaned_at=None, pod_uid__in=uids)) if uids else {}
    by_uid = {uid: owner for owner, (_, uid) in live.items()}
    return found | {pod: by_uid[pod[2]] for pod in pods if not pod[1] and pod[2] in by_uid}


async def _attempts(rows: Any) -> dict[_Owner, tuple[str, str]]:
    """Namespace and pod's uid of each."""
    columns = ("workload_id", "number", "namespace", "pod_uid")
    return {_Owner(it[0], it[1]): (it[2], it[3]) for it in await rows.values_list(*columns)}


def _is_of(pod: tuple[str, str, str], attempt: tuple[str, str] | None) -> bool:
    """Whether a pod (namespace, name, uid) is that of the attempt (namespace, pod's uid); empty is unknown."""
    if attempt is None:
        return False
    return (attempt[0] in ("", pod[0])) and (not pod[2] or attempt[1] in ("", pod[2]))


async def workloads_on(gpu_ids: Sequence[UUID]) -> dict[UUID, set[UUID]]:
    """The workloads that have each of the devices, or a part of it, now; a device that none has is missing."""
    rows = GpuHolderRow.filter(gpu_id__in=list(gpu_ids), until=None).exclude(workload_id=None)
    found: dict[UUID, set[UUID]] = {}
    for gpu_id, workload_id in await rows.values_list("gpu_id", "workload_id"):
        found.setdefault(gpu_id, set()).add(workload_id)
    return found


async def purge(before: datetime, most: int) -> int:
    """Forget up to `most` holdings that ended before then; how many there were."""
    return await remove_some(GpuHolderRow.filter(until__lt=before), most)
