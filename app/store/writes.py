"""Guarded writes of workloads, attempts and events.

Every write of one organization's facts is one transaction whose first statement takes numbers from the organization's
counter: that row's lock makes events commit in the order of their numbers. A workload is written only `WHERE id AND
version`; where that finds no row, someone was first, and nothing of the change is written. The same holds of the flags
of the server that a workload is placed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.exceptions import IntegrityError
from tortoise.expressions import F
from tortoise.models import Model

from app.domain.events import event_between, event_of
from app.domain.server import NO_FLAGS, ServerId
from app.domain.states import Reason
from app.domain.waits import Told, is_news
from app.domain.workload import Attempt, EventType, NewEvent, Workload
from app.store import mapping
from app.store.bulk import update_rows
from app.store.connection import transaction
from app.store.groupcommit import GroupCommit
from app.store.models import AttemptRow, ClusterServerRow, EventRow, OrganizationRow, WorkloadRow
from app.store.unfinished import to_its_end

_CHUNK = 500
_ATTEMPT_KEY = ("workload_id", "number")
_FLAG_VERSION = ("id", "cluster", "name", "version")


@dataclass(frozen=True)
class Change:
    """From what was loaded to what was decided. `attempt_before` None with an `attempt` is a new attempt.

    `server_version` is that of its server's flags when it was chosen: once they have changed, the choice is void.
    Changes of one write with the same `together` win or lose as one. `told` is the sentence of an event that changes no
    state.
    """

    before: Workload
    after: Workload
    attempt_before: Attempt | None = None
    attempt: Attempt | None = None
    server_version: int | None = None
    together: UUID | None = None
    told: str = ""

    @property
    def stored(self) -> Workload:
        """The workload as it is once this change has won."""
        return replace(self.after, version=self.before.version + 1)


class IdempotencyKeyTakenError(Exception):
    """The organization has a workload with this idempotency key already."""


@dataclass(frozen=True)
class _Write:
    """One caller's part of a transaction: a new workload, or changes."""

    at: datetime
    new: Workload | None = None
    changes: Sequence[Change] = ()


_group: ContextVar[GroupCommit[UUID, _Write, list[bool]]] = ContextVar("group_commit")


@contextmanager
def grouping() -> Iterator[None]:
    """Writes that come at the same time inside share transactions; `Database.active` is inside it."""
    token = _group.set(GroupCommit(_commit))
    try:
        yield
    finally:
        _group.reset(token)


async def insert_workload(workload: Workload) -> None:
    """Store an accepted workload with its first event. Raises IdempotencyKeyTakenError and stores nothing then."""
    try:
        await _group.get().write(workload.organization_id, _Write(workload.created_at, new=workload))
    except IntegrityError:
        if workload.spec.idempotency_key is not None:
            raise IdempotencyKeyTakenError from None
        raise


async def apply_changes(organization_id: UUID, changes: Sequence[Change], at: datetime) -> list[bool]:
    """Write all changes of one organization in one transaction; for each, whether it won."""
    return await _group.get().write(organization_id, _Write(at, changes=changes)) if changes else []


async def _commit(organization_id: UUID, writes: Sequence[_Write]) -> list[list[bool]]:
    async with transaction() as connection:
        count = sum((write.new is not None) + len(write.changes) for write in writes)
        first = await _take_numbers(connection, organization_id, count)
        new = [write.new for write in writes if write.new is not None]
        await _insert(connection, [WorkloadRow(**mapping.workload_values(workload)) for workload in new])
        events = [event_of(workload, EventType.SUBMITTED, workload.created_at) for workload in new]
        winners, won = await _judge(connection, writes)
        await _store_winners(connection, [change for change, _ in winners])
        between = (event_between(change.before, change.after, at, change.told) for change, at in winners)
        events += [event for event in between if event]
        await _append(connection, organization_id, first, events)
    return won


async def _judge(
    connection: BaseDBAsyncClient, writes: Sequence[_Write]
) -> tuple[list[tuple[Change, datetime]], list[list[bool]]]:
    """Which changes win: those that were made on the version that is stored, or that an earlier winner leaves.

    The organization's counter row is locked, and whoever changes a version holds it: what is read here stays true.
    """
    ids = {change.before.id for write in writes for change in write.changes}
    versions: dict[UUID, int] = {}
    if ids:
        rows = await WorkloadRow.filter(id__in=list(ids)).using_db(connection).values_list("id", "version")
        versions = dict(rows)
    current = await _flag_versions(connection, [change for write in writes for change in write.changes])
    winners: list[tuple[Change, datetime]] = []
    won: list[list[bool]] = []

    def may_win(change: Change) -> bool:
        return versions.get(change.before.id) == change.before.version and _holds(change, current)

    for write in writes:
        won.append([])
        void = {change.together for change in write.changes if not may_win(change)} - {None}
        for change in write.changes:
            did_win = may_win(change) and change.together not in void
            won[-1].append(did_win)
            if did_win:
                winners.append((change, write.at))
                versions[change.before.id] = change.stored.version
    return winners, won


async def _flag_versions(connection: BaseDBAsyncClient, changes: Sequence[Change]) -> dict[ServerId, int]:
    """Those of the servers that the changes chose. Their rows are locked, by id: what is read stays true."""
    names = {c.attempt.server for c in changes if c.attempt is not None and c.server_version is not None}
    if not names:
        return {}
    rows = ClusterServerRow.filter(name__in=sorted(names)).using_db(connection).order_by("id").only(*_FLAG_VERSION)
    return {ServerId(row.name, row.cluster): row.version for row in await rows.select_for_update(no_key=True)}


def _holds(change: Change, current: Mapping[ServerId, int]) -> bool:
    """Whether the server may still be chosen. One that is not on record yet has no flags."""
    if change.attempt is None or change.server_version is None:
        return True
    return current.get(change.attempt.server_id, NO_FLAGS.version) == change.server_version


async def _store_winners(connection: BaseDBAsyncClient, changes: Sequence[Change]) -> None:
    states = [{"id": c.before.id, **mapping.workload_state(c.stored)} for c in changes]
    await update_rows(connection, WorkloadRow, ("id",), states)
    fresh = [c.attempt for c in changes if c.attempt and c.attempt_before is None]
    await _insert(connection, [AttemptRow(**mapping.attempt_values(attempt)) for attempt in fresh])
    changed = [c.attempt for c in changes if c.attempt and c.attempt_before and c.attempt != c.attempt_before]
    await update_rows(connection, AttemptRow, _ATTEMPT_KEY, [mapping.attempt_values(a) for a in changed])


async def _insert(connection: BaseDBAsyncClient, rows: Sequence[Model]) -> None:
    if len(rows) == 1:
        await rows[0].save(using_db=connection, force_create=True)
    elif rows:
        await type(rows[0]).bulk_create(rows, batch_size=_CHUNK, using_db=connection)


async def _take_numbers(connection: BaseDBAsyncClient, organization_id: UUID, count: int) -> int:
    """The first of `count` event numbers of the organization; unused ones are simply skipped."""
    row = OrganizationRow.filter(id=organization_id).using_db(connection)
    await row.update(event_sequence=F("event_sequence") + count)
    last = await row.values_list("event_sequence", flat=True)
    return int(str(last[0])) - count + 1


async def _append(connection: BaseDBAsyncClient, organization_id: UUID, first: int, events: Sequence[NewEvent]) -> None:
    rows = [
        EventRow(organization_id=organization_id, sequence=first + i, **mapping.event_values(event))
        for i, event in enumerate(events)
    ]
    await _insert(connection, rows)


async def tell(organization_id: UUID, events: Sequence[NewEvent]) -> None:
    """Store events that change no workload."""
    await to_its_end(_tell(organization_id, events))


async def _tell(organization_id: UUID, events: Sequence[NewEvent]) -> None:
    async with transaction() as connection:
        first = await _take_numbers(connection, organization_id, len(events))
        await _append(connection, organization_id, first, events)


async def save_cleanup(before: Attempt, after: Attempt) -> None:
    """Store that nothing of an ended attempt is left; nothing else of it is touched, nor is the workload."""
    if before != after:
        await to_its_end(_save_cleanup(after))


async def _save_cleanup(attempt: Attempt) -> None:
    async with transaction() as connection:
        key = {"workload_id": attempt.workload_id, "number": attempt.number}
        await update_rows(connection, AttemptRow, _ATTEMPT_KEY, [{**key, "cleaned_at": attempt.cleaned_at}])


async def explain_waiting(
    organization_id: UUID, workload_ids: Sequence[UUID], reason: Reason, message: str, at: datetime
) -> None:
    """Store why a group of workloads waits. An event is written only where the reason is news (`app.domain.waits`).

    Who was placed or cancelled meanwhile is left alone: an ended workload gets no further event.
    """
    await to_its_end(_explain_waiting(organization_id, workload_ids, reason, message, at))


async def _explain_waiting(
    organization_id: UUID, workload_ids: Sequence[UUID], reason: Reason, message: str, at: datetime
) -> None:
    async with transaction() as connection:
        first = await _take_numbers(connection, organization_id, len(workload_ids))
        told: list[Workload] = []
        for start in range(0, len(workload_ids), _CHUNK):
            waiting = WorkloadRow.filter(phase__in=mapping.WAITING).using_db(connection)
            chunk = waiting.filter(id__in=workload_ids[start : start + _CHUNK])
            rows = [row for row in await chunk.exclude(told_reason=reason.value) if _is_news(row, reason, at)]
            told += [replace(mapping.workload(row), reason=reason, message=message) for row in rows]
            await chunk.update(reason=reason.value, message=message)
            if rows:
                await waiting.filter(id__in=[row.id for row in rows]).update(told_reason=reason.value, told_at=at)
        await _append(connection, organization_id, first, [event_of(w, EventType.WAITING, at) for w in told])


def _is_news(row: WorkloadRow, reason: Reason, at: datetime) -> bool:
    return is_news(reason, row.reason, Told(row.told_reason, row.told_at), row.queued_at, at)
